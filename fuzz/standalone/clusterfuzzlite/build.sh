#!/bin/bash -eu
# TARGET: the folder that `acl-cts fuzz target` made, LIBRARY: the folder with the library's C sources.
TARGET=${TARGET:-$SRC/project/acl-cts-target}
LIBRARY=${LIBRARY:-$SRC/project/src}
mapfile -t sources < <(find "$LIBRARY" -name '*.c')
mapfile -t folders < <(find "$LIBRARY" -type d -printf '-I%p\n')
# shellcheck disable=SC2086 # CFLAGS and the engine are words of the command
$CC $CFLAGS -std=gnu11 -pthread -DACL_CTS_TOUCH -I"$TARGET" "${folders[@]}" -c "$TARGET/target.c" -o "$WORK/target.o"
objects=("$WORK/target.o")
for source in "${sources[@]}"; do
    object=$WORK/$(basename "$source" .c).o
    $CC $CFLAGS -std=gnu11 -pthread "${folders[@]}" -c "$source" -o "$object"
    objects+=("$object")
done
$CXX $CXXFLAGS -pthread "${objects[@]}" $LIB_FUZZING_ENGINE -o "$OUT/acl_cts_target"
cp "$TARGET/acl-cts.dict" "$OUT/acl_cts_target.dict"
(cd "$TARGET/corpus" && zip -qr "$OUT/acl_cts_target_seed_corpus.zip" .)
