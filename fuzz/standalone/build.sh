#!/usr/bin/env bash
# Builds the target against a library:   ./build.sh libfuzzer|afl|replay LIBRARY [OUTPUT]
#
# LIBRARY is a shared library, or a folder of C sources, which then are instrumented too: only so an engine is guided.
# FAULTS= leaves the sanitizers out, for libraries that do not bear them, or where the compiler's runtime is absent.
# TOUCH=0 leaves data areas alone, for libraries whose areas the host cannot reach.
# CC is the compiler, CFLAGS are added to what it is given.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if (($# < 2)); then
    echo "usage: build.sh libfuzzer|afl|replay LIBRARY [OUTPUT]; LIBRARY: a shared library, or a folder of C sources" >&2
    exit 2
fi
mode=$1 library=$2 output=${3:-acl-cts-target}
read -ra faults <<<"${FAULTS--fsanitize=address,undefined -fno-sanitize-recover=all}"
read -ra flags <<<"-std=gnu11 -g -pthread ${CFLAGS:-}"
seen=() link=(-fsanitize=fuzzer)
case $mode in
libfuzzer) cc=${CC:-clang} package=clang seen=(-fsanitize=fuzzer-no-link) ;;
afl) cc=${CC:-afl-clang-fast} package=afl++ ;;
replay) cc=${CC:-cc} package=gcc link=("$here/replay.c") ;;
*) echo "build.sh: no mode $mode; there are libfuzzer, afl and replay" >&2; exit 2 ;;
esac
read -ra cc <<<"$cc"

refuse() {
    echo "build.sh: $1" >&2
    exit 2
}

if [ -d "$library" ]; then
    mapfile -t sources < <(find -H "$library" -name '*.c' | sort)
    mapfile -t folders < <(find -H "$library" -type d -printf '-I%p\n')
    ((${#sources[@]})) || refuse "$library: holds no C file"
elif [ -f "$library" ]; then
    sources=("$library") folders=("-Wl,-rpath,$(cd "$(dirname "$library")" && pwd)")
else
    refuse "$library: is not there; give a shared library, or a folder of sources"
fi
command -v "${cc[0]}" >/dev/null ||
    refuse "no ${cc[0]} here; name a compiler by CC, or install one, as with: apt-get install $package"
trap 'rm -f "$output.o"' EXIT
if ((${#faults[@]})) && ! "${cc[@]}" "${faults[@]}" -o "$output.o" -x c - <<<'int main(void) { return 0; }' 2>/dev/null; then
    version=$("${cc[@]}" -dumpversion 2>/dev/null | tail -n 1) || version=
    refuse "${cc[*]} has no runtime for ${faults[0]}; install libclang-rt-${version%%.*}-dev (clang) or libasan (gcc), \
or leave it out: FAULTS= ./build.sh ..."
fi

touch_areas=(-DACL_CTS_TOUCH)
[ "${TOUCH:-1}" = 0 ] && touch_areas=()
# The checker itself is no place to look for memory faults, and is faster without.
"${cc[@]}" -O2 "${flags[@]}" "${seen[@]}" "${touch_areas[@]}" -I"$here" -c -o "$output.o" "$here/target.c"
"${cc[@]}" -O1 "${faults[@]}" "${seen[@]}" "${flags[@]}" "${folders[@]}" -o "$output" "$output.o" \
    "${link[@]}" "${sources[@]}"
