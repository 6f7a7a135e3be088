"""How a standalone C form is built, so that it can load the library that a program failed on, and what it brings for
that."""

from __future__ import annotations

import re
from dataclasses import dataclass

SANITIZERS = {"plain": "", "asan": "address,undefined", "cover": "address,undefined", "tsan": "thread"}
"""What the compiler is asked for, by flavour of the library."""

_COMPILER = re.compile(r"(cc|gcc|clang)(-\d{1,3})?")


@dataclass(frozen=True, slots=True)
class Build:
    """What a standalone form is built with. `compiler`: a command, without its folder. `flavour`: what the library has
    in it, as for backends. Raises ValueError for others."""

    compiler: str = "cc"
    flavour: str = "plain"

    def __post_init__(self) -> None:
        if self.flavour not in SANITIZERS or not _COMPILER.fullmatch(self.compiler):
            raise ValueError(f"no build of flavour {self.flavour!r} with {self.compiler!r}")

    def told(self, threaded: bool) -> list[str]:
        """How to build and run it."""
        plain, run = _command("cc", (), threaded), "    ./repro ./libascendcl.so [device]"
        if self.flavour == "plain":
            return ["To be built and run:", f"    {plain}", run]
        # A call through a pointer is checked by what not every runtime brings.
        functions = ("-fno-sanitize=function",) if self.compiler.startswith("clang") else ()
        flags = ("-g", "-rdynamic", f"-fsanitize={SANITIZERS[self.flavour]}", *functions)
        lines = [
            f"To be built and run, for a library with {_WITHIN[self.flavour]}:",
            f"    {_command(self.compiler, flags, threaded)}",
            run,
        ]
        if self.flavour == "tsan":
            lines.append('Where that ends with "unexpected memory mapping": setarch -R ./repro ./libascendcl.so')
        return [*lines, "For one without, in which some faults do no harm that shows:", f"    {plain}"]

    @property
    def parts(self) -> str:
        """What the file brings for the library and its sanitizers."""
        return _PARTS[self.flavour]


PLAIN = Build()
"""For libraries as vendors give them away."""


def _command(compiler: str, flags: tuple[str, ...], threaded: bool) -> str:
    return " ".join(
        [compiler, "-std=c11", *flags, "repro.c", "-o", "repro", "-ldl", *(["-pthread"] if threaded else [])]
    )


_WITHIN = {
    "asan": "the address sanitizer",
    "cover": "the address sanitizer and hooks for coverage",
    "tsan": "the thread sanitizer",
}

_ADDRESS = """\
/* The first fault that the sanitizers see ends the process, with 1. Memory that is lost is looked for where a program
 * asks for it, not at the end. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:leak_check_at_exit=0";
}

const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
    return "halt_on_error=1:print_stacktrace=1";
}"""

_COVERAGE = """\
/* The library calls this at every block that it enters. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
}"""

_THREAD = """\
/* The first race ends the process, with 1. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "halt_on_error=1:exitcode=1:report_signal_unsafe=0";
}"""

_PARTS = {"plain": "", "asan": _ADDRESS, "cover": f"{_ADDRESS}\n\n{_COVERAGE}", "tsan": _THREAD}
