#!/bin/bash -eu
# TARGET: the folder that `acl-cts fuzz target` made, LIBRARY: the folder with the library's C sources.
TARGET=${TARGET:-$SRC/project/acl-cts-target}
LIBRARY=${LIBRARY:-$SRC/project/src}
mapfile -t sources < <(find -H "$LIBRARY" -name '*.c' | sort)
mapfile -t folders < <(find -H "$LIBRARY" -type d -printf '-I%p\n')
if [ ! -f "$TARGET/target.c" ] || ((${#sources[@]} == 0)); then
    echo "build.sh: no target.c in $TARGET, or no C file in $LIBRARY; say in this file where they are" >&2
    exit 2
fi
# shellcheck disable=SC2086 # CFLAGS and the engine are words of the command
$CC $CFLAGS -std=gnu11 -pthread -DACL_CTS_TOUCH -I"$TARGET" -c "$TARGET/target.c" -o "$WORK/acl_cts_target.o"
objects=("$WORK/acl_cts_target.o")
for source in "${sources[@]}"; do
    object=$WORK/acl_cts_library_${#objects[@]}.o # names of sources may come twice
    # shellcheck disable=SC2086
    $CC $CFLAGS -std=gnu11 -pthread "${folders[@]}" -c "$source" -o "$object"
    objects+=("$object")
done
# shellcheck disable=SC2086
$CXX $CXXFLAGS -pthread "${objects[@]}" $LIB_FUZZING_ENGINE -o "$OUT/acl_cts_target"
cp "$TARGET/acl-cts.dict" "$OUT/acl_cts_target.dict"
# What the documents leave open may be left behind, and areas of 4 GiB are asked for: neither is a fault.
printf '[libfuzzer]\nmax_len = 768\nmalloc_limit_mb = 16384\ndetect_leaks = 0\n' >"$OUT/acl_cts_target.options"
(cd "$TARGET/corpus" && zip -qr "$OUT/acl_cts_target_seed_corpus.zip" .)
