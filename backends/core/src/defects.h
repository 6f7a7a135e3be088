/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults that can be built in on purpose, to measure the suite; defects.yaml tells what each one breaks. A build names
 * one with -DCORE_DEFECT=CORE_DEFECT_name. Without it every DEFECT() is the constant 0, and what stands behind it is
 * gone from the library: no fault may need a field in a structure, or anything that is not static.
 */
#ifndef CORE_DEFECTS_H
#define CORE_DEFECTS_H

enum core_defect {
    CORE_DEFECT_NONE = 0,
    CORE_DEFECT_user_data_size_alone,
    CORE_DEFECT_set_user_sum_wraps,
    CORE_DEFECT_references_8_bit,
};

#ifndef CORE_DEFECT
#define CORE_DEFECT CORE_DEFECT_NONE
#endif

#ifdef CORE_WITHOUT_DEFECTS
#define DEFECT(id) 0
#else
#define DEFECT(id) (CORE_DEFECT == CORE_DEFECT_##id)
#endif

#endif
