#!/bin/sh
# Builds the target against a library:   ./build.sh libfuzzer|afl|replay LIBRARY [OUTPUT]
#
# LIBRARY is a shared library, or a folder of C sources, which then are instrumented too: only so an engine is guided.
# FAULTS= leaves the sanitizers out, for libraries that do not bear them. Programs of more than some 30 calls gain little:
# -max_len=768.
# TOUCH=0 leaves data areas alone, for libraries whose areas the host cannot reach.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mode=${1:?libfuzzer, afl or replay} library=${2:?a shared library, or a folder of sources} output=${3:-acl-cts-target}
faults=${FAULTS--fsanitize=address,undefined -fno-sanitize-recover=all}
case $mode in
libfuzzer) cc=${CC:-clang} seen=-fsanitize=fuzzer-no-link link=-fsanitize=fuzzer main= ;;
afl) cc=${CC:-afl-clang-fast} seen= link=-fsanitize=fuzzer main= ;;
replay) cc=${CC:-cc} seen= link= main=$here/replay.c ;;
*) echo "build.sh: no mode $mode; there are libfuzzer, afl and replay" >&2; exit 2 ;;
esac
touch_areas=-DACL_CTS_TOUCH
[ "${TOUCH:-1}" = 0 ] && touch_areas=
if [ -d "$library" ]; then
    sources=$(find "$library" -name '*.c')
    folders=$(find "$library" -type d -exec printf -- '-I%s ' {} +)
else
    sources=$library
    folders="-Wl,-rpath,$(cd "$(dirname "$library")" && pwd)"
fi
# The checker itself is no place to look for memory faults, and is faster without.
# shellcheck disable=SC2086 # the words of these are words of the command
$cc -std=gnu11 -O2 -g -pthread $seen ${CFLAGS:-} $touch_areas -I"$here" -c -o "$output.o" "$here/target.c"
# shellcheck disable=SC2086
$cc -std=gnu11 -O1 -g -pthread $faults $seen $link ${CFLAGS:-} $folders -o "$output" "$output.o" $main $sources
rm -f "$output.o"
