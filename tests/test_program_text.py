"""The text form: everything round-trips, everything malformed is refused with its line."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from programs import programs

from acl_cts.specs.program import (
    BLOCKS,
    Call,
    Callback,
    Fill,
    Index,
    Int,
    Invoke,
    Literal,
    Live,
    Null,
    Object,
    Program,
    Ramp,
    Read,
    Ref,
    Repeat,
    Room,
    Statement,
    Target,
    UntilSame,
    When,
    Write,
)
from acl_cts.specs.program_text import ProgramError, format_program, parse_program

EVERYTHING = """\
# acl-cts program 1
a = aclrtAllocBuf(size=4096)
aclrtSetBufUserData(buf=a, dataPtr=bytes(0xA5 * 4), size=4, offset=2**64-4)
aclrtSetBufUserData(buf=a, dataPtr=bytes(0x00 * (2**16+1)), size=4, offset=0)
aclrtSetBufUserData(buf=a, dataPtr=ramp(1, 96), size=96, offset=0)
aclrtSetBufUserData(buf=a, dataPtr=bytes("0a0b"), size=2, offset=0)
aclrtGetBufUserData(buf=a, dataPtr=room(96), size=96, offset=0)
aclrtAllocBuf(buf=null, size=16)
repeat i in 300:
    refs[i] = aclrtCopyBufRef(buf=a)
    aclrtGetBufFromChain(headBuf=h, index=i+1)
    aclrtGetBufFromChain(headBuf=refs[i+1], index=i)
aclrtFreeBuf(buf=refs[3])
write a[0:4096] = bytes(0xA5 * 4096)
read a[0:4096]
read refs[3].buf[2**32-1:2**32]
g = aclrtAllocatorGetByStream(stream=s)
aclrtAllocatorSetAllocFuncToDesc(allocatorDesc=d, func=cb(1))
aclrtAllocatorSetObjToDesc(allocatorDesc=d, allocator=obj(1))
invoke g.allocFunc(obj(1), 2**64-1)
fail allocation 3
live
hooks
until b is a, at most 64: c[k] = aclrtAllocBuf(size=64)
on refusal:
    aclrtFreeBuf(buf=a)
on success:
    live
parallel:
    branch:
        d = aclrtCopyBufRef(buf=a)
        aclrtFreeBuf(buf=d)
    branch:
        aclrtGetBufData(buf=a)
exit
cleanup:
    aclrtFreeBuf(buf=a)
"""


@given(programs())
def test_every_program_round_trips(program: Program) -> None:
    text = format_program(program)
    assert parse_program(text) == program
    assert format_program(parse_program(text)) == text


def test_the_canonical_form_is_a_fixed_point() -> None:
    assert format_program(parse_program(EVERYTHING)) == EVERYTHING


def test_each_construct_means_its_tree() -> None:
    a = Ref("a")
    assert parse_program(
        "a[2] = f(x=a, y=a[i], z=a.q)".replace("a[i]", "a[1]") + "\n"
        "repeat i in 3:\n"
        " f(x=i, y=i+2, z=b[i+1].q)\n"
        "on success:\n"
        '  write a[4:6] = bytes("0aFF")\n'
        "  read a[0x10:2**4+1]\n"
        "invoke a.q(null, room(3), cb(4), obj(2), ramp(255, 2), bytes(7 * 2))\n"
        "until b is a[0], at most 5: c[k] = g()\n"
    ) == Program(
        (
            Call("f", (("x", a), ("y", Ref("a", Index(1))), ("z", Ref("a", None, "q"))), Target("a", Index(2))),
            Repeat(
                3,
                "i",
                (Call("f", (("x", Int(0, "i")), ("y", Int(2, "i")), ("z", Ref("b", Index(1, "i"), "q")))),),
            ),
            When(True, (Write(a, 4, Literal(b"\x0a\xff")), Read(a, 16, 1))),
            Invoke(Ref("a", None, "q"), (Null(), Room(3), Callback(4), Object(2), Ramp(255, 2), Fill(7, 2))),
            UntilSame("b", Ref("a", Index(0)), 5, Call("g", (), Target("c"))),
        )
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (4096, "4096"),
        (65535, "65535"),
        (2**16, "2**16"),
        (2**32 - 6, "2**32-6"),
        (2**32 + 64, "2**32+64"),
        (2**32 + 65, "4294967361"),
        (4_000_000_000, "4000000000"),
        (2**64 - 1, "2**64-1"),
    ],
)
def test_numbers_read_as_people_write_them(number: int, text: str) -> None:
    assert f"f(x={text})\n" in format_program(Program((Call("f", (("x", Int(number)),)),)))


def test_an_attempt_index_is_normalised() -> None:
    explicit = Program((UntilSame("b", Ref("a"), 2, Call("f", (), Target("c", Index(0)))),))
    assert parse_program(format_program(explicit)) == Program(
        (UntilSame("b", Ref("a"), 2, Call("f", (), Target("c"))),)
    )


def test_comments_blank_lines_and_a_missing_header_are_fine() -> None:
    assert parse_program("\r\n  # 共享\n\nlive # now\r\n   # end\n") == Program((Live(),))
    assert parse_program("") == Program(())
    assert parse_program("cleanup:\n live") == Program((), (Live(),))


DEEP = "".join(" " * k + "on success:\n" for k in range(9)) + " " * 9 + "live\n"


@pytest.mark.parametrize(
    ("text", "line", "hint"),
    [
        ("# acl-cts program 2\nlive", 1, "'# acl-cts program 1' is expected"),
        ("live\nf(x=10**100000)", 2, "no number"),
        ("f(x=2**100000)", 1, "no number"),
        (f"f(x={'9' * 5000})", 1, "cannot be read"),
        ("f(x=0x" + "f" * 9000 + ")", 1, "2**64-1 is expected"),
        ("f(x=2**64)", 1, "integer is 18446744073709551616"),
        ("f(x=3-4)", 1, "integer is -1"),
        ("live\n  live", 2, "unexpected indentation"),
        ("  live", 1, "unexpected indentation"),
        ("on refusal:\nlive", 1, "indented statement"),
        ("on refusal:\n    on success:\n        live\n  live", 4, "matches no block"),
        ("on refusal:\n    nothing\n    live", 3, "beside 'nothing'"),
        ("parallel:\n    live", 2, "'branch:' is expected"),
        ("parallel:\n    nothing", 2, "'branch:' is expected"),
        ("parallel:\n  branch:\n    f()", 1, "number of threads is 1; 2 to 3"),
        ("live\nparallel:\n" + 4 * "  branch:\n    f()\n", 2, "number of threads is 4"),
        ("parallel:\n  branch:\n    f()\n  branch:\n" + 5 * "    f()\n", 1, "number of calls of a thread is 5"),
        ("parallel:\n  branch:\n    f()\n  branch:\n    nothing", 1, "number of calls of a thread is 0"),
        ("parallel:\n  branch:\n    f()\n  branch:\n    live", 1, "holds calls only"),
        ("parallel:\n  branch:\n    a = f()\n  branch:\n    f(x=a)", 1, "'a' is bound in one thread"),
        ("parallel:\n  branch:\n    a[1] = f()\n  branch:\n    a[2] = f()", 1, "'a' is bound in one thread"),
        ("cleanup:\n live\nlive", 3, "behind the clean-up"),
        ("cleanup:\n live\ncleanup:\n live", 3, "behind the clean-up"),
        ("f(x=1, x=2)", 1, "given twice"),
        ("f(1)", 1, "no name"),
        ("f(**a)", 1, "no name"),
        ("f(x=中)", 1, "'\\u4e2d'"),
        ("live\0", 1, "'\\x00'"),
        ("\tlive", 1, "'\\t'"),
        ('f(x=bytes("0"))', 1, "two hexadecimal digits"),
        ("f(x=bytes(0x100 * 4))", 1, "byte is 256"),
        ("f(x=ramp(0, 2**32+1))", 1, "number of bytes"),
        ("f(x=j+1)", 1, "not the counter"),
        ("f(x=a[j])", 1, "not the counter"),
        ("f(x=cb(5))", 1, "callback number is 5"),
        ("f(x=obj(0))", 1, "object number is 0"),
        ("f(x=eval(1))", 1, "value cannot be read"),
        ("f(x=1.5)", 1, "no number"),
        ("f(x=1if)", 1, "no number"),
        ("f(x=(lambda: 1))", 1, "reserved word"),
        ("repeat i in 0:\n live", 1, "repeat count is 0"),
        ("repeat i in 1000001:\n live", 1, "repeat count is 1000001"),
        ("repeat i in 2:\n repeat i in 2:\n  live", 2, "enclosing loop"),
        ("repeat i in 2:\n i = f()", 2, "enclosing loop"),
        ("read = f()", 1, "'read' is a reserved word"),
        ("bytes = f()", 1, "reserved word"),
        ("a.b = f()", 1, "cannot be bound"),
        ("write a[0:4] = room(4)", 1, "cannot be written"),
        ("write a[0:4] = bytes(0 * 3)", 1, "3 bytes for a range of 4"),
        ("read a[4:3]", 1, "ends before it starts"),
        ("read a[:3]", 1, "open end"),
        ("until b is a, at most 64: c = f()", 1, "'c[k] = f(...)'"),
        ("f(x=" + "(" * 9, 1, "brackets"),
        ("f(x=" + "-" * 5000 + "1)", 1, "too long"),
        ("f(x=" + "1+" * 5000 + "1)", 1, "too long"),
        ("f(x=a" + ".b" * 5000 + ")", 1, "too long"),
        (DEEP, 9, "nested too deep"),
        ("# " + "x" * 2**22, 1, "at most 4194304"),
        ("a" * 65 + " = f()", 1, "no name"),
        ("x", 1, "no call"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else None,
)
def test_what_is_malformed_is_refused_with_its_line(text: str, line: int, hint: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse_program(text)
    assert caught.value.line == line
    message = str(caught.value)
    assert message.startswith(f"line {line}: ")
    assert hint in message
    assert "expected" in message or "allowed" in message
    assert "\n" not in message
    assert len(message) < 300


def accepts_or_refuses(text: str) -> None:
    line = None
    try:
        program = parse_program(text)
    except ProgramError as error:
        line = error.line
    if line is None:
        assert parse_program(format_program(program)) == program
    else:
        assert 1 <= line <= text.count("\n") + 1


@given(st.text() | st.text("abfikx=()[]{}0123456789+-*.,:\"'# \n\t\\é中\0"))
@example("f(x=" + "not " * 2000 + "1)")
@example("f" + "(" * 100_000)
@example("f(x=" + "[" * 200_000 + "]" * 200_000 + ")")
@example("\ud800\U0010ffff=f()")
@example("f(x=bytes(_literal_(9)))")
def test_any_text_parses_or_is_refused(text: str) -> None:
    accepts_or_refuses(text)


@given(st.data())
def test_damaged_text_parses_or_is_refused(data: st.DataObject) -> None:
    text = data.draw(st.just(EVERYTHING) | programs().map(format_program))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 30)))
    accepts_or_refuses(text[:start] + data.draw(st.text(max_size=6)) + text[end:])


def test_many_small_blocks_take_linear_work() -> None:
    lines = 20_000
    program = parse_program("on success:\n live\n" * lines)
    assert len(program.body) == lines


def test_the_parser_survives_a_nearly_full_stack() -> None:
    """A caller deep in recursion gets a tree or a ProgramError, whatever Python's own parser needs."""

    def down(depth: int) -> None:
        if depth:
            down(depth - 1)
        else:
            accepts_or_refuses("f(x=" + "1+" * 100 + "1)")

    down(sys.getrecursionlimit() // 2)


def test_the_module_evaluates_nothing() -> None:
    source = Path(sys.modules["acl_cts.specs.program_text"].__file__ or "").read_text()
    assert "eval(" not in source.replace('ast.parse(code.strip(), mode="eval")', "")
    assert "exec(" not in source


def test_every_statement_that_holds_others_is_a_block() -> None:
    for kind in get_args(Statement):
        holds = any("Statement" in str(part.type) or part.type == "Call" for part in dataclasses.fields(kind))
        assert holds == (kind in BLOCKS), kind
