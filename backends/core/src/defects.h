/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults that can be built in on purpose, to measure the suite; defects.yaml tells what each one breaks. A build names
 * one with -DCORE_DEFECT=CORE_DEFECT_name. Without it every DEFECT() is the constant 0, and what stands behind it is
 * gone from the library: no fault may need a field in a structure, and all that only faults need is static and called
 * defect_something.
 */
#ifndef CORE_DEFECTS_H
#define CORE_DEFECTS_H

enum core_defect {
    CORE_DEFECT_NONE = 0,
    /* aclrtAllocBuf */
    CORE_DEFECT_alloc_rounding_wraps,
    CORE_DEFECT_alloc_without_limit,
    CORE_DEFECT_alloc_limit_one_more,
    CORE_DEFECT_alloc_size_32_bit,
    CORE_DEFECT_alloc_size_16_bit,
    CORE_DEFECT_alloc_size_signed_16_bit,
    CORE_DEFECT_alloc_of_64_kib_refused,
    CORE_DEFECT_alloc_of_one_byte_refused,
    CORE_DEFECT_area_one_byte_short,
    CORE_DEFECT_large_area_without_its_last_page,
    CORE_DEFECT_areas_of_a_size_overlap,
    CORE_DEFECT_fresh_length_uninitialised,
    CORE_DEFECT_fresh_length_is_the_size,
    CORE_DEFECT_recycled_buffer_keeps_its_length,
    CORE_DEFECT_recycled_private_area_shows,
    CORE_DEFECT_recycled_head_keeps_its_count,
    CORE_DEFECT_failed_alloc_loses_the_buffer,
    CORE_DEFECT_failed_alloc_loses_memory,
    CORE_DEFECT_failed_alloc_keeps_memory,
    CORE_DEFECT_failed_alloc_crashes,
    CORE_DEFECT_alloc_worn_out,
    /* aclrtFreeBuf */
    CORE_DEFECT_free_keeps_the_area,
    CORE_DEFECT_free_loses_memory,
    CORE_DEFECT_freed_areas_are_kept,
    CORE_DEFECT_uncounted_areas_stay,
    CORE_DEFECT_freed_slots_are_never_used_again,
    CORE_DEFECT_every_free_drops_the_area,
    CORE_DEFECT_free_of_original_drops_the_area,
    CORE_DEFECT_free_of_copy_refused,
    CORE_DEFECT_free_head_frees_shared_areas,
    CORE_DEFECT_refused_free_takes_the_member_out,
    CORE_DEFECT_free_of_full_chain_crashes,
    CORE_DEFECT_freed_handles_live_on,
    /* aclrtGetBufData */
    CORE_DEFECT_data_size_rounded_up,
    CORE_DEFECT_data_size_of_the_head,
    CORE_DEFECT_data_behind_the_length,
    CORE_DEFECT_get_data_clears_the_length,
    /* aclrtSetBufUserData */
    CORE_DEFECT_user_data_size_alone,
    CORE_DEFECT_set_user_sum_wraps,
    CORE_DEFECT_set_user_sum_wraps_32_bit,
    CORE_DEFECT_set_user_offset_signed,
    CORE_DEFECT_set_user_offset_16_bit,
    CORE_DEFECT_set_user_size_32_bit,
    CORE_DEFECT_set_user_one_byte_more,
    CORE_DEFECT_set_user_last_byte_refused,
    CORE_DEFECT_set_user_whole_refused,
    CORE_DEFECT_set_user_writes_what_fits,
    CORE_DEFECT_set_user_drops_odd_tail,
    CORE_DEFECT_set_user_clears_the_rest,
    CORE_DEFECT_empty_set_user_now_and_then,
    CORE_DEFECT_null_set_user_ignored,
    CORE_DEFECT_null_user_data_crashes,
    /* aclrtGetBufUserData */
    CORE_DEFECT_get_user_sum_wraps,
    CORE_DEFECT_get_user_size_alone,
    CORE_DEFECT_get_user_size_8_bit,
    CORE_DEFECT_get_user_one_byte_more,
    CORE_DEFECT_get_user_exact_end_refused,
    CORE_DEFECT_get_user_ignores_offset,
    CORE_DEFECT_get_user_of_head,
    CORE_DEFECT_get_user_writes_a_word_more,
    /* aclrtGetBufDataLen */
    CORE_DEFECT_get_length_signed,
    CORE_DEFECT_get_length_of_the_tail,
    CORE_DEFECT_null_length_crashes,
    /* aclrtSetBufDataLen */
    CORE_DEFECT_set_length_without_limit,
    CORE_DEFECT_set_length_up_to_the_size,
    CORE_DEFECT_set_length_last_byte_refused,
    CORE_DEFECT_set_length_compared_in_32_bit,
    CORE_DEFECT_set_length_compared_signed,
    CORE_DEFECT_set_length_sum_wraps,
    CORE_DEFECT_set_length_of_65535_refused,
    CORE_DEFECT_set_length_lower_refused,
    CORE_DEFECT_refused_length_is_kept,
    CORE_DEFECT_length_8_bit,
    CORE_DEFECT_length_16_bit,
    CORE_DEFECT_length_of_member_to_head,
    CORE_DEFECT_set_length_clears_the_rest,
    /* aclrtCopyBufRef */
    CORE_DEFECT_references_8_bit,
    CORE_DEFECT_references_16_bit,
    CORE_DEFECT_references_stop_at_255,
    CORE_DEFECT_copy_256_refused,
    CORE_DEFECT_copy_takes_no_reference,
    CORE_DEFECT_copy_takes_two_references,
    CORE_DEFECT_copy_of_chained_takes_two_references,
    CORE_DEFECT_failed_copy_keeps_a_reference,
    CORE_DEFECT_copy_of_copy_refused,
    CORE_DEFECT_copy_refused_after_a_free,
    CORE_DEFECT_copy_is_the_original,
    CORE_DEFECT_copy_has_its_own_area,
    CORE_DEFECT_copy_clears_the_length,
    CORE_DEFECT_copy_drops_private_tail,
    CORE_DEFECT_private_area_shared_by_copies,
    /* aclrtAppendBufChain */
    CORE_DEFECT_append_one_too_many,
    CORE_DEFECT_append_one_too_few,
    CORE_DEFECT_append_to_full_chain_crashes,
    CORE_DEFECT_chains_join_without_limit,
    CORE_DEFECT_append_behind_the_head,
    CORE_DEFECT_append_keeps_the_tail,
    CORE_DEFECT_append_clears_the_length,
    CORE_DEFECT_append_adds_up_lengths,
    CORE_DEFECT_append_moves_the_area,
    CORE_DEFECT_append_of_shared_area_refused,
    CORE_DEFECT_refused_append_counts,
    CORE_DEFECT_refused_append_keeps_the_head,
    CORE_DEFECT_failed_append_links,
    CORE_DEFECT_refused_append_is_noted,
    CORE_DEFECT_append_to_itself_makes_a_ring,
    CORE_DEFECT_append_of_own_member_makes_a_ring,
    /* aclrtGetBufFromChain */
    CORE_DEFECT_index_8_bit,
    CORE_DEFECT_index_16_bit,
    CORE_DEFECT_index_signed,
    CORE_DEFECT_index_one_too_many,
    CORE_DEFECT_last_index_refused,
    CORE_DEFECT_index_counts_from_one,
    CORE_DEFECT_index_stops_at_64,
    CORE_DEFECT_refused_index_keeps_the_lock,
    /* aclrtGetBufChainNum */
    CORE_DEFECT_chain_num_signed_8_bit,
    CORE_DEFECT_chain_num_without_the_head,
    CORE_DEFECT_chain_num_writes_eight_bytes,
    /* aclrtAllocatorCreateDesc */
    CORE_DEFECT_recycled_descriptor_keeps_its_slots,
    CORE_DEFECT_fresh_slots_uninitialised,
    CORE_DEFECT_fresh_advise_uninitialised,
    CORE_DEFECT_create_gives_the_last_again,
    CORE_DEFECT_create_wears_out,
    /* aclrtAllocatorDestroyDesc */
    CORE_DEFECT_destroy_keeps_the_descriptor,
    CORE_DEFECT_destroy_calls_the_free_function,
    CORE_DEFECT_destroy_cleans_up_by_stream,
    CORE_DEFECT_destroyed_descriptor_is_still_read,
    CORE_DEFECT_destroy_clears_what_is_registered,
    CORE_DEFECT_destroy_clears_one_registered_slot,
    /* the setters */
    CORE_DEFECT_object_32_bit,
    CORE_DEFECT_null_descriptor_crashes,
    CORE_DEFECT_second_alloc_is_ignored,
    CORE_DEFECT_set_advise_clears_get_addr,
    CORE_DEFECT_free_counts_as_get_addr,
    /* aclrtAllocatorRegister */
    CORE_DEFECT_register_without_object,
    CORE_DEFECT_register_without_free,
    CORE_DEFECT_register_needs_advise,
    CORE_DEFECT_null_stream_is_registered,
    CORE_DEFECT_null_descriptor_is_registered,
    CORE_DEFECT_register_again_refused,
    CORE_DEFECT_register_after_unregister_refused,
    CORE_DEFECT_refused_register_removes,
    CORE_DEFECT_refused_register_loses_memory,
    CORE_DEFECT_replaced_registration_keeps_its_free,
    CORE_DEFECT_first_registration_wins,
    CORE_DEFECT_register_on_one_removes_all,
    CORE_DEFECT_register_256_refused,
    CORE_DEFECT_register_256_forgets,
    CORE_DEFECT_stream_key_8_bit,
    CORE_DEFECT_register_again_makes_a_ring,
    CORE_DEFECT_exit_calls_the_free_function,
    CORE_DEFECT_returned_alloc_narrows_its_size,
    CORE_DEFECT_returned_alloc_keeps_the_lock,
    /* aclrtAllocatorGetByStream */
    CORE_DEFECT_get_finds_the_latest,
    CORE_DEFECT_get_tells_the_first_descriptor,
    CORE_DEFECT_get_swaps_alloc_and_get_addr,
    CORE_DEFECT_get_swaps_free_and_advise,
    CORE_DEFECT_get_of_unknown_writes_nothing,
    CORE_DEFECT_get_of_unknown_tells_the_last,
    CORE_DEFECT_null_output_of_get_crashes,
    /* aclrtAllocatorUnregister */
    CORE_DEFECT_unregister_of_unknown_refused,
    CORE_DEFECT_unregister_removes_nothing,
    CORE_DEFECT_unregister_removes_the_latest,
    CORE_DEFECT_unregister_removes_the_earlier_too,
    CORE_DEFECT_removed_registration_keeps_its_count,
    CORE_DEFECT_removed_registration_loses_memory,
    /* calls made at the same time */
    CORE_DEFECT_reference_taken_outside_the_lock,
    CORE_DEFECT_alloc_without_the_lock,
    CORE_DEFECT_free_without_the_lock,
    CORE_DEFECT_length_set_outside_the_lock,
    CORE_DEFECT_private_area_written_outside_the_lock,
    CORE_DEFECT_private_area_copied_in_two_steps,
    CORE_DEFECT_chain_limit_checked_in_two_steps,
    CORE_DEFECT_create_without_the_lock,
    CORE_DEFECT_set_object_without_the_lock,
    CORE_DEFECT_register_without_the_lock,
    CORE_DEFECT_replaced_in_two_steps,
    CORE_DEFECT_get_without_the_lock,
    CORE_DEFECT_unregister_in_two_steps,
};

#ifndef CORE_DEFECT
#define CORE_DEFECT CORE_DEFECT_NONE
#endif

#ifdef CORE_WITHOUT_DEFECTS
#define DEFECT(id) 0
#define DEFECTIVE 0
#else
#define DEFECT(id) (CORE_DEFECT == CORE_DEFECT_##id)
#define DEFECTIVE (CORE_DEFECT != CORE_DEFECT_NONE) /* for what several of them keep account of */
#endif

#endif
