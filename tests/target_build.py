"""Target libraries of the tests: broken, hostile or merely awkward libraries, and the right judgement of each."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "targets"
CORE = HERE.parent / "backends" / "core"
CORE_LIBRARY = "libaclcts_core.so"
COMPILE = ("gcc", "-std=c11", "-O1", "-fPIC", "-shared", "-pthread", "-Wall", "-Wextra", "-Werror")

FAIL = frozenset({"fail"})
CRASH = frozenset({"crash"})
TIMEOUT = frozenset({"timeout"})
NONE: frozenset[str] = frozenset()
HANG = "common.no-hang"


@dataclass(frozen=True, slots=True)
class Target:
    """One library and the right judgement of it.

    `source`: a file of `targets/`, '' for the C core itself. `defines`: macros, `NAME` or `NAME=value`. `thin`: takes
    what it lacks from the core, which shows what the version script `exports` lets through. `exit`: exit code of a run.
    `verdicts`: the accusing verdicts that may occur, one of them must. `functions`: each is named by some headline.
    `clause`: some headline's clause starts so. `untouched`: families of which nothing may be accused.
    """

    name: str
    meaning: str
    exit: int
    source: str = ""
    defines: tuple[str, ...] = ()
    thin: bool = True
    exports: str = "core.map"
    verdicts: frozenset[str] = NONE
    functions: frozenset[str] = NONE
    clause: str = ""
    untouched: frozenset[str] = NONE


def _every(name: str, meaning: str, exit_code: int, *defines: str, verdicts: frozenset[str] = FAIL) -> Target:
    """A library that does one and the same thing at every call of both families."""
    thin = not {"SCOPE_TABLES", "SCOPE_MBUF", "SCOPE_STREAMS"}.isdisjoint(defines)
    return Target(name, meaning, exit_code, "constant.c", defines, thin=thin, verdicts=verdicts)


def _in_one(name: str, meaning: str, function: str, action: str, clause: str) -> Target:
    """A library that leaves the path of virtue in every call of one function."""
    return Target(
        name,
        meaning,
        1,
        "one_call.c",
        (f"FUNCTION={function}", f"ACTION={action}"),
        verdicts=TIMEOUT if clause == HANG else CRASH,
        functions=frozenset({function}),
        clause=clause,
    )


def _thin(
    name: str,
    meaning: str,
    source: str,
    define: str,
    functions: str,
    clause: str = "",
    verdicts: frozenset[str] = FAIL,
    untouched: str = "allocator",
) -> Target:
    """A library with one fault, in or seen at one of `functions`; the family `untouched` has no part in it."""
    return Target(
        name,
        meaning,
        1,
        source,
        (define,) if define else (),
        verdicts=verdicts,
        functions=frozenset(functions.split()),
        clause=clause,
        untouched=frozenset({untouched}),
    )


CONSTANT = (
    _every("always-success", "0 to everything, nothing written", 1, "ANSWER=0", "DESC=(void*)4096", "SCOPE_ALL"),
    Target(
        "always-plausible",
        "0 to everything, the same believable outputs every time",
        1,
        "plausible.c",
        thin=False,
        verdicts=FAIL,
    ),
    _every("does-nothing", "0 to everything, nothing written, streams work", 1, "ANSWER=0", "SCOPE_TABLES"),
    _every("always-failure", "500001 to everything, no lifecycle", 1, "ANSWER=500001", "SCOPE_NO_INIT"),
    _every("refuses-all", "500001 to everything, the lifecycle too", 1, "ANSWER=500001", "SCOPE_ALL"),
    _every("always-failure-streams", "500001 to both families, streams work", 1, "ANSWER=500001", "SCOPE_TABLES"),
    _every("always-no-memory", "200000 to everything, no lifecycle", 1, "ANSWER=200000", "SCOPE_NO_INIT"),
    _every("always-no-memory-streams", "200000 to both families, streams work", 1, "ANSWER=200000", "SCOPE_TABLES"),
    _every("never-supported", "207000 to everything", 4, "ANSWER=207000", "SCOPE_NO_INIT", verdicts=NONE),
    _every("never-starts", "207000 to everything, the lifecycle too", 4, "ANSWER=207000", "SCOPE_ALL", verdicts=NONE),
    _every("tables-not-supported", "207000 to both families", 4, "ANSWER=207000", "SCOPE_TABLES", verdicts=NONE),
    _every("mbuf-not-supported", "207000 to the Mbuf family", 0, "ANSWER=207000", "SCOPE_MBUF", verdicts=NONE),
    _every("no-streams", "500001 to streams, all else works", 4, "ANSWER=500001", "SCOPE_STREAMS", verdicts=NONE),
    _every("crash-in-all", "a crash at every call", 1, "ACTION=crash()", "SCOPE_TABLES", verdicts=CRASH),
)
"""Libraries that treat every call alike."""

VIOLENT = (
    _in_one("crash-in-one", "a crash in one function", "aclrtGetBufDataLen", "crash()", "common.no-crash"),
    _in_one("hang-in-one", "one function never returns, deaf to signals", "aclrtGetBufFromChain", "hang()", HANG),
    _in_one("spin-in-one", "one function never returns, busy", "aclrtAllocatorSetObjToDesc", "spin()", HANG),
    _in_one("exit-in-call", "exit(0) in mid-call", "aclrtSetBufDataLen", "exit(0)", "common.no-exit"),
    _in_one("quick-exit-in-call", "_exit(0) in mid-call", "aclrtCopyBufRef", "_exit(0)", "common.no-exit"),
    _in_one("exit-in-register", "exit(0) in mid-call", "aclrtAllocatorRegister", "exit(0)", "common.no-exit"),
    _in_one("abort-in-call", "abort() in mid-call", "aclrtAppendBufChain", "abort()", "common.no-crash"),
    Target(
        "crash-hidden",
        "a crash that the library's own handler turns into _exit(0), amid noise",
        1,
        "noisy.c",
        ("HIDES_CRASH", "SECONDS=0"),
        verdicts=CRASH,
        functions=frozenset({"aclrtGetBufDataLen"}),
        clause="common.no-exit",
        untouched=frozenset({"allocator"}),
    ),
)
"""Libraries that take their process with them."""

STRAY = (
    _thin(
        "writes-past",
        "a byte behind the caller's buffer",
        "stray_write.c",
        "PAST",
        "aclrtGetBufUserData",
        verdicts=FAIL | CRASH,
    ),
    _thin("writes-before", "a byte in front of the buffer", "stray_write.c", "BEFORE", "aclrtGetBufUserData"),
    _thin(
        "writes-wide",
        "8 bytes into a uint32_t",
        "stray_write.c",
        "WIDE",
        "aclrtGetBufChainNum",
        verdicts=FAIL | CRASH,
    ),
)
"""Libraries that write outside the caller's memory: a stray write into an inaccessible page shows as a crash."""

WRONG = (
    _thin(
        "size-not-supported",
        "207000 for one size only",
        "size_refused.c",
        "SIZE=64",
        "aclrtAllocBuf",
        "mbuf.alloc.succeeds",
    ),
    _thin(
        "usual-not-supported",
        "207000 for a usual size",
        "size_refused.c",
        "SIZE=4096",
        "aclrtAllocBuf",
        "mbuf.alloc.succeeds",
    ),
    _thin(
        "sum-wraps",
        "size + offset compared after it wrapped",
        "wrong_limits.c",
        "SUM_WRAPS",
        "aclrtSetBufUserData aclrtGetBufUserData",
        "mbuf.set-user.",
    ),
    _thin(
        "length-is-size",
        "length == size accepted",
        "wrong_limits.c",
        "LENGTH_IS_SIZE",
        "aclrtSetBufDataLen",
        "mbuf.set-len.limit",
    ),
    _thin("no-area-limit", "areas above 4 GiB", "wrong_limits.c", "NO_AREA_LIMIT", "aclrtAllocBuf", "mbuf.alloc.limit"),
    _thin(
        "callbacks-swapped",
        "free and advise in each other's place",
        "swapped_callbacks.c",
        "",
        "aclrtAllocatorGetByStream",
        "allocator.get.",
        untouched="mbuf",
    ),
    _thin(
        "slots-dirty",
        "descriptor slots never initialised",
        "dirty_descriptor.c",
        "",
        "aclrtAllocatorRegister",
        "allocator.register.",
        untouched="mbuf",
    ),
    _thin(
        "null-handle",
        "success, and NULL as the handle",
        "twin_buffers.c",
        "NULL_HANDLE",
        "aclrtAllocBuf",
        "mbuf.alloc.handle",
    ),
    _thin(
        "one-handle",
        "two live buffers with one handle",
        "twin_buffers.c",
        "ONE_HANDLE",
        "aclrtAllocBuf",
        "mbuf.alloc.handle",
    ),
    _thin(
        "hoards-all",
        "a block of memory is kept for every buffer that was freed",
        "hoarder.c",
        "FOREVER",
        "aclrtFreeBuf",
        "mbuf.free.gives-back",
        verdicts=frozenset({"leak"}),
    ),
    _thin("one-area", "two live buffers over one area", "twin_buffers.c", "ONE_AREA", "", "mbuf.data.apart"),
)
"""Libraries that break one documented sentence."""

AWKWARD = (
    Target("plain", "the core behind a vendor's exports", 0),
    Target("mbuf-only", "no allocator family", 4, exports="mbuf_only.map"),
    Target("allocator-only", "no Mbuf family, no lifecycle", 0, exports="allocator_only.map"),
    Target("device-memory", "data areas only in reach of aclrtMemcpy", 0, "device_memory.c"),
    Target("hoards-64-mib", "64 MiB of freed memory are kept for later", 0, "hoarder.c", ("QUARANTINE",)),
    Target("table-doubles", "a table that grows up to a limit", 0, "hoarder.c", ("DOUBLING",)),
    Target("slow-noisy", "two seconds to start, threads, a SIGSEGV handler, chatter", 0, "noisy.c"),
)
"""Libraries that break nothing."""

TARGETS = CONSTANT + VIOLENT + STRAY + WRONG + AWKWARD
"""All of them, names unique."""


def build_core(folder: Path, exports: str) -> Path:
    """The C core in a folder of its own, showing what the version script `exports` lets through: its instrumentation
    stays hidden, as a vendor has none. Built once per folder."""
    library = folder / exports.removesuffix(".map") / CORE_LIBRARY
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        sources = sorted(str(path) for path in (CORE / "src").glob("*.c"))
        script = SOURCES / exports
        _compile(
            *sources,
            f"-I{CORE / 'include'}",
            f"-Wl,--version-script={script},-Bsymbolic-functions,-soname,{CORE_LIBRARY}",
            "-o",
            str(library),
        )
    return library


def build(target: Target, folder: Path) -> Path:
    """The library of `target`, built below `folder` where it is not there yet. Raises RuntimeError with the
    compiler's words when it does not compile cleanly."""
    if not target.source:
        return build_core(folder, target.exports)
    home = build_core(folder, target.exports).parent if target.thin else folder
    library = home / f"lib{target.name}.so"
    if library.exists():
        return library
    home.mkdir(parents=True, exist_ok=True)
    options = [f"-D{define}" for define in target.defines] + [f"-I{CORE / 'include'}"]
    if target.thin:
        options += [f"-L{home}", "-Wl,--no-as-needed", f"-l:{CORE_LIBRARY}", "-Wl,-rpath,$ORIGIN"]
    _compile(str(SOURCES / target.source), *options, "-o", str(library))
    return library


def _compile(*arguments: str) -> None:
    done = subprocess.run([*COMPILE, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"a target library does not compile: {' '.join(arguments)}\n{done.stderr}")
