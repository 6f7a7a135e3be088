"""The standalone forms: both compile clean, run against a real library, and say the same, the right thing."""

from __future__ import annotations

import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interfaces import INTERFACE, LIBRARY
from programs import LOOP_NAMES, NAMES, data, refs

from acl_cts.specs.interface import Kind, Param, Signature
from acl_cts.specs.program import (
    Call,
    Callback,
    Index,
    Int,
    Literal,
    Null,
    Object,
    Program,
    Read,
    Ref,
    Repeat,
    Room,
    Statement,
    Target,
    UntilSame,
    Value,
    When,
    Write,
)
from acl_cts.specs.program_source import to_c, to_python
from acl_cts.specs.program_text import ProgramError, format_program, parse_program
from acl_cts.specs.trace import callback_result

FLAGS = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror"]


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    (folder / "small.c").write_text(LIBRARY)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / "libsmall.so", folder / "small.c"], check=True)
    return folder / "libsmall.so"


def run(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def built(source: str, folder: Path) -> Path:
    (folder / "repro.c").write_text(source)
    result = run(["gcc", *FLAGS, folder / "repro.c", "-o", folder / "repro", "-ldl"])
    assert result.returncode == 0, result.stderr
    return folder / "repro"


def answers(text: str, library: Path, folder: Path, form: str) -> subprocess.CompletedProcess[str]:
    program = parse_program(text)
    if form == "c":
        return run([built(to_c(program, INTERFACE), folder), library])
    (folder / "repro.py").write_text(to_python(program, INTERFACE))
    return run([sys.executable, folder / "repro.py", library])


def lines(result: subprocess.CompletedProcess[str]) -> list[str]:
    assert result.returncode == 0, result.stderr
    return re.sub(r"0x(?!50|0\b)[0-9a-f]+", "PTR", result.stdout).splitlines()


FORMS = pytest.mark.parametrize("form", ["c", "python"])

WHOLE = """\
a = aclrtAllocBuf(size=4096)
aclrtSetBufUserData(buf=a, dataPtr=ramp(1, 4), size=4, offset=92)
aclrtSetBufUserData(buf=a, dataPtr=bytes("0aFF"), size=2, offset=0)
aclrtGetBufUserData(source=a, size=4, offset=92)
aclrtGetBufUserData(source=a, dataPtr=room(2), size=2, offset=2**64-1)
on refusal:
    aclrtGetBufUserData(source=a, dataPtr=room(2), size=2, offset=0)
on refusal:
    exit
repeat i in 2:
    refs[i+1] = aclrtGetBufFromChain(headBuf=a, index=i)
    aclrtFreeBuf(buf=refs[i+1])
read a[0:1]
aclrtGetBufData(source=a)
write a[0:4096] = bytes(0xA5 * 4096)
write a[8:10] = bytes("0aff")
read a[6:12]
read a[0:200]
read a[0:4097]
read gone[0:1]
big = aclrtAllocBuf(size=8193)
aclrtFreeBuf(buf=big)
aclrtFreeBuf(buf=null)
live
fail allocation 3
hooks
b0 = aclrtAllocBuf(size=1)
aclrtFreeBuf(buf=b0)
until b is b0, at most 5: c[k] = aclrtAllocBuf(size=64)
aclrtGetBufChainNum(buf=b)
until e is a, at most 2: c[k] = aclrtAllocBuf(size=64)
cleanup:
    aclrtFreeBuf(buf=b)
"""
WHOLE_ANSWERS = """\
aclInit(NULL) -> 0
aclrtSetDevice(0) -> 0
aclrtAllocBuf(size=4096) -> 0 buf=PTR
aclrtSetBufUserData(buf=a, dataPtr=ramp(1, 4), size=4, offset=92) -> 0
aclrtSetBufUserData(buf=a, dataPtr=bytes("0aff"), size=2, offset=0) -> 0
aclrtGetBufUserData(source=a, size=4, offset=92) -> 0 dataPtr=01020304
aclrtGetBufUserData(source=a, dataPtr=room(2), size=2, offset=2**64-1) -> 107000 dataPtr=untouched
aclrtGetBufUserData(source=a, dataPtr=room(2), size=2, offset=0) -> 0 dataPtr=0aff
aclrtGetBufFromChain(headBuf=a, index=i) [i=0] -> 0 buf=PTR
aclrtFreeBuf(buf=refs[i+1]) [i=0] -> 0
aclrtGetBufFromChain(headBuf=a, index=i) [i=1] -> 107000 buf=untouched
skipped: aclrtFreeBuf(buf=refs[i+1]) [i=1]: a handle was never given
skipped: read a[0:1]: no data area known
aclrtGetBufData(source=a) -> 0 dataPtr=PTR size=4096
write a[0:4096] = bytes(0xA5 * 4096)
write a[8:10] = bytes("0aff")
read a[6:12] content=a5a50affa5a5
read a[0:200] content=200 bytes, crc32 {crc}, {head}...
read a[0:4097] -> fault: outside of the area of 4096 bytes
skipped: read gone[0:1]: a handle was never given
aclrtAllocBuf(size=8193) -> 107000 buf=untouched
skipped: aclrtFreeBuf(buf=big): a handle was never given
aclrtFreeBuf(buf=null) -> 107000
live -> 0 objects, 0 bytes
skipped: fail allocation 3: the library cannot inject faults
skipped: hooks: only a backend that calls hooks from inside can do this
aclrtAllocBuf(size=1) -> 0 buf=PTR
aclrtFreeBuf(buf=b0) -> 0
aclrtAllocBuf(size=64) [k=0] -> 0 buf=PTR
aclrtGetBufChainNum(buf=b) -> 0 num=1
aclrtAllocBuf(size=64) [k=0] -> 0 buf=PTR
aclrtAllocBuf(size=64) [k=1] -> 0 buf=PTR
until e is a, at most 2: c[k] = aclrtAllocBuf(size=64) -> the handle did not come again
aclrtFreeBuf(buf=b) -> 0
aclFinalize() -> 0
completed
"""


@FORMS
def test_a_program_makes_its_calls_and_says_what_they_answered(library: Path, tmp_path: Path, form: str) -> None:
    area = bytearray(b"\xa5" * 200)
    area[8:10] = b"\x0a\xff"
    expected = WHOLE_ANSWERS.format(crc=f"{zlib.crc32(area):08x}", head=area[:128].hex())
    assert lines(answers(WHOLE, library, tmp_path, form)) == expected.splitlines()


HOOKS = """\
d = aclrtAllocatorCreateDesc()
aclrtAllocatorSetObjToDesc(desc=d, allocator=obj(1))
aclrtAllocatorSetAllocFuncToDesc(desc=d, func=cb(4))
aclrtAllocatorSetFreeFuncToDesc(desc=d, func=cb(2))
g = aclrtAllocatorGet(desc=d)
invoke g.allocFunc(g.allocator, 2**64-1)
invoke g.freeFunc(obj(2), null)
invoke x.allocFunc(obj(1), 0)
live
e = aclrtAllocatorCreateDesc()
x = aclrtAllocatorGet(desc=e)
invoke x.allocFunc(obj(1), 0)
aclrtAllocatorDestroyDesc(desc=d)
"""


@FORMS
def test_returned_functions_are_called_and_record_their_arguments(library: Path, tmp_path: Path, form: str) -> None:
    result = callback_result("aclrtAllocatorAllocFunc", 4, 2**64 - 1)
    assert lines(answers(HOOKS, library, tmp_path, form))[6:-1] == [
        "aclrtAllocatorGet(desc=d) -> 0 allocator=PTR allocFunc=PTR freeFunc=PTR",
        f"invoke g.allocFunc(g.allocator, 2**64-1) -> {result:#x}",
        "    reached aclrtAllocatorAllocFunc cb(4)(allocator=PTR, size=18446744073709551615)",
        "invoke g.freeFunc(obj(2), null)",
        "    reached aclrtAllocatorFreeFunc cb(2)(allocator=PTR, block=0x0)",
        "skipped: invoke x.allocFunc(obj(1), 0): a handle was never given",
        "live -> 1 objects, 24 bytes",
        "aclrtAllocatorCreateDesc() -> PTR",
        "aclrtAllocatorGet(desc=e) -> 0 allocator=0x0 allocFunc=0x0 freeFunc=0x0",
        "invoke x.allocFunc(obj(1), 0) -> invalid: NULL, or in no executable mapping",
        "aclrtAllocatorDestroyDesc(desc=d) -> 0",
        "aclFinalize() -> 0",
    ]


@FORMS
def test_writes_outside_the_callers_memory_show(library: Path, tmp_path: Path, form: str) -> None:
    text = """\
a = aclrtAllocBuf(size=1)
aclrtGetBufUserData(source=a, size=16, offset=77)
aclrtSetBufUserData(buf=a, dataPtr=bytes(0 * 8), size=8, offset=77)
aclrtGetBufUserData(source=a, size=16, offset=78)
"""
    result = answers(text, library, tmp_path, form)
    assert result.returncode == -11
    assert result.stdout.splitlines()[3:] == [
        "aclrtGetBufUserData(source=a, size=16, offset=77) -> 0 dataPtr=untouched dataPtr:WRITTEN-IN-FRONT(-3)",
        "aclrtSetBufUserData(buf=a, dataPtr=bytes(0x00 * 8), size=8, offset=77) -> 0 dataPtr:INPUT-CHANGED",
        "aclrtGetBufUserData(source=a, size=16, offset=78)",
    ]


@FORMS
def test_exit_leaves_at_once(library: Path, tmp_path: Path, form: str) -> None:
    assert lines(answers("exit\naclrtFreeBuf(buf=null)\n", library, tmp_path, form))[2:] == ["exit"]


@FORMS
def test_a_library_without_a_function_is_refused_in_one_line(tmp_path: Path, form: str) -> None:
    (tmp_path / "empty.c").write_text("int nothing_here;\n")
    subprocess.run(["gcc", "-shared", "-o", tmp_path / "empty.so", tmp_path / "empty.c"], check=True)
    result = answers("aclrtFreeBuf(buf=null)\n", tmp_path / "empty.so", tmp_path, form)
    assert result.returncode != 0
    assert result.stderr.strip() == "the library has no aclrtFreeBuf"


NASTY = """\
int = aclrtAllocBuf(size=1)
main = aclrtAllocBuf(size=2)
errno = aclrtAllocBuf(size=3)
buf[1] = aclrtAllocBuf(size=4)
buf = aclrtGetBufFromChain(headBuf=buf[1], index=0)
out_buf = aclrtGetBufFromChain(headBuf=buf, index=0)
index = aclrtGetBufFromChain(headBuf=out_buf, index=0)
begin = aclrtGetBufFromChain(headBuf=index, index=0)
print = aclrtGetBufFromChain(headBuf=begin, index=0)
ret = aclrtGetBufFromChain(headBuf=print, index=0)
repeat printf in 1:
    repeat call in 1:
        A[printf+1] = aclrtGetBufFromChain(headBuf=ret, index=call)
        a_buf = aclrtGetBufFromChain(headBuf=A[call+1].buf, index=printf)
aclrtFreeBuf(buf=a_buf)
aclrtFreeBuf(buf=int)
aclrtFreeBuf(buf=main)
aclrtFreeBuf(buf=errno)
aclrtFreeBuf(buf=self)
"""


@FORMS
def test_names_that_mean_something_elsewhere_are_harmless(library: Path, tmp_path: Path, form: str) -> None:
    answered = lines(answers(NASTY, library, tmp_path, form))
    assert [line for line in answered if line.startswith("aclrtFreeBuf")] == [
        f"aclrtFreeBuf(buf={name}) -> 0" for name in ("a_buf", "int", "main", "errno")
    ]


def test_a_short_program_gives_a_short_file() -> None:
    program = parse_program("a = aclrtAllocBuf(size=2**32+1)\naclrtFreeBuf(buf=a)\n")
    source = to_c(program, INTERFACE)
    assert source.count("\n") < 260
    for absent in (
        "give_back",
        "mapped(uintptr_t",
        "checksum",
        "aclrtAllocatorDesc",
        "aclrtStream",
        "reached(",
        "object",
    ):
        assert absent not in source


def test_the_comment_stands_on_top_and_cannot_escape(tmp_path: Path) -> None:
    comment = "case x/y */ int injected; /* ??/\nclause 共享 \\\n\r#error"
    program = parse_program("aclrtFreeBuf(buf=null)\n")
    source = to_c(program, INTERFACE, comment)
    assert "clause 共享" in source.split("*/")[0]
    built(source, tmp_path)
    compile(to_python(program, INTERFACE, "one\rexit()\n\x0cexit()\u2028exit()"), "repro.py", "exec")


def test_what_is_told_brings_in_no_code() -> None:
    program = parse_program("aclrtFreeBuf(buf=null)\n")
    source = to_c(program, INTERFACE, opening=["live objects"], closing=["mapped, watched"])
    assert "static void live(" not in source
    assert "static bool mapped(" not in source


@pytest.mark.parametrize("write", [to_c, to_python])
@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("unknown()", "unknown is in no table"),
        ("aclrtFreeBuf()", "buf is missing"),
        ("aclrtFreeBuf(buf=bytes(0 * 4))", "buf cannot be Fill"),
        ("aclrtFreeBuf(buf=null, more=1)", "no parameter more"),
        ("aclrtAllocBuf(buf=1, size=1)", "buf cannot be Int"),
        ("aclrtAllocBuf(size=cb(1))", "size cannot be Callback"),
        ("invoke g.allocFunc(obj(1), 1)", "holds no function pointer"),
        ("g = aclrtAllocatorGet(desc=null)\ninvoke g.allocFunc(1)", "takes 2 arguments"),
    ],
)
def test_what_does_not_fit_the_interface_is_refused(write: object, text: str, hint: str) -> None:
    assert callable(write)
    with pytest.raises(ProgramError, match=hint) as caught:
        write(parse_program(text), INTERFACE)
    assert "expected" in str(caught.value)


# --------------------------------------------------------------------------------- arbitrary programs that fit


def fitting(param: Param, loops: tuple[str, ...]) -> st.SearchStrategy[Value | None]:
    number = st.builds(
        Int, st.sampled_from([0, 1, 96, 2**31, 2**32 + 1, 2**63, 2**64 - 1]), st.sampled_from([None, *loops])
    )
    if param.kind is Kind.DATA:
        short = data().filter(lambda value: value.length <= 300)
        return st.none() | st.just(Null()) | short | st.just(Literal(b"ab" * 40))
    if param.kind is Kind.ROOM:
        return st.none() | st.just(Null()) | st.builds(Room, st.integers(0, 300))
    if param.out:
        return st.none() | st.just(Null())
    pointer = st.one_of(number, st.just(Null()), refs(loops), st.builds(Object, st.integers(1, 4)))
    return pointer | st.builds(Callback, st.integers(1, 4)) if param.kind is Kind.CALLBACK else pointer


@st.composite
def fitting_call(draw: st.DrawFn, loops: tuple[str, ...], target: Target | None = None) -> Call:
    signature: Signature = draw(st.sampled_from(list(INTERFACE.functions.values())))
    pairs = [(param.name, draw(fitting(param, loops))) for param in signature.params]
    if target is None and draw(st.booleans()):
        index = st.none() | st.builds(Index, st.integers(0, 9), st.sampled_from([None, *loops]))
        target = Target(draw(NAMES), draw(index))
    return Call(signature.name, tuple((name, value) for name, value in pairs if value is not None), target)


@st.composite
def fitting_statement(draw: st.DrawFn, loops: tuple[str, ...] = ()) -> Statement:
    match draw(st.integers(0, 7)):
        case 0 if len(loops) < 3:
            loop = draw(st.sampled_from([name for name in LOOP_NAMES if name not in loops]))
            body = st.lists(fitting_statement((*loops, loop)), max_size=3)
            return Repeat(draw(st.integers(1, 9)), loop, tuple(draw(body)))
        case 1 if len(loops) < 3:
            return When(draw(st.booleans()), (draw(fitting_call(loops)),))
        case 2:
            call = draw(fitting_call(loops, Target(draw(NAMES))))
            return UntilSame(draw(NAMES), draw(refs(loops)), draw(st.integers(1, 64)), call)
        case 3:
            return Read(draw(refs(loops)), draw(st.integers(0, 2**63)), draw(st.integers(0, 2**63)))
        case 4:
            return Write(draw(refs(loops)), draw(st.integers(0, 2**63)), draw(data()))
    return draw(fitting_call(loops))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(body=st.lists(fitting_statement(), max_size=8), cleanup=st.lists(fitting_statement(), max_size=2))
def test_whatever_fits_compiles_without_a_warning(body: list[Statement], cleanup: list[Statement]) -> None:
    program = Program(tuple(body), tuple(cleanup))
    source = to_c(program, INTERFACE)
    result = subprocess.run(
        ["gcc", *FLAGS, "-fsyntax-only", "-x", "c", "-"], input=source, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, f"{result.stderr}\n{format_program(program)}"
    compile(to_python(program, INTERFACE), "repro.py", "exec")


def test_generated_text_is_stable() -> None:
    program = parse_program(WHOLE)
    assert to_c(program, INTERFACE) == to_c(parse_program(format_program(program)), INTERFACE)
    assert to_c(program, INTERFACE, "x") != to_c(program, INTERFACE, "y")
    assert to_python(program, INTERFACE) == to_python(parse_program(format_program(program)), INTERFACE)


def test_a_field_and_the_principal_are_the_same_handle(library: Path, tmp_path: Path) -> None:
    text = "d = aclrtAllocatorCreateDesc()\naclrtAllocatorDestroyDesc(desc=d)\na = aclrtAllocBuf(size=1)\n"
    program = parse_program(text + "aclrtFreeBuf(buf=a.buf)\naclrtFreeBuf(buf=a.size)\n")
    assert Ref("a", None, "buf") in [value for call in program.body if isinstance(call, Call) for _, value in call.args]
    answered = lines(run([built(to_c(program, INTERFACE), tmp_path), library]))
    assert answered[-4:-2] == [
        "aclrtFreeBuf(buf=a.buf) -> 0",
        "skipped: aclrtFreeBuf(buf=a.size): a handle was never given",
    ]


THREADS = """
a = aclrtAllocBuf(size=64)
repeat i in 2:
    parallel:
        branch:
            b[i] = aclrtAllocBuf(size=i+8)
            aclrtFreeBuf(buf=b[i])
        branch:
            c = aclrtAllocBuf(size=16)
            aclrtFreeBuf(buf=c)
    on success:
        aclrtFreeBuf(buf=a)
"""


@FORMS
def test_threads_are_told_one_after_the_other(library: Path, tmp_path: Path, form: str) -> None:
    told = [line.partition(" buf=")[0] for line in lines(answers(THREADS, library, tmp_path, form))]
    block = ["parallel: [i=0]", "thread 1:", "aclrtAllocBuf(size=i+8) [i=0] -> 0", "aclrtFreeBuf(buf=b[i]) [i=0] -> 0"]
    block += ["thread 2:", "aclrtAllocBuf(size=16) [i=0] -> 0", "aclrtFreeBuf(buf=c) [i=0] -> 0"]
    both = [*block, *(line.replace("i=0", "i=1") for line in block)]
    assert [line for line in told if "[i=" in line or line.startswith("thread")] == both
    assert "aclrtFreeBuf(buf=a) -> 0" not in told, "no call of a thread is the last one"
