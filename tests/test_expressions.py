"""The expression language: three-valued logic, exact integers, NULL, outputs, and effects in doubt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acl_cts.specs.evaluate import compile_effect, compile_expression, guard
from acl_cts.specs.expressions import (
    Expr,
    ExpressionError,
    Scope,
    fields_read,
    parse_effect,
    parse_expression,
    parse_guard,
)
from acl_cts.specs.frame import Frame
from acl_cts.specs.machine import Machine, Region
from acl_cts.specs.trace import Pointer, Ptr, sentinel
from acl_cts.specs.values import UNKNOWN, UNWRITTEN, Obj, contains, equal, negate

KINDS = {
    "buf": {
        "size": "int",
        "area": "obj:area",
        "next": "obj:buf",
        "bytes": "bytes",
        "chain": "list:buf",
        "seen": "set:int",
    },
    "area": {"size": "int", "base": "pointer"},
    "record": {"owner": "obj:buf", "values": "set:pointer"},
}
SCOPE = Scope(
    params={"x": "obj:buf", "y": "obj:buf", "n": "int", "m": "int", "data": "bytes", "p": "pointer", "o": "any"},
    outs={"o": "int", "q": "pointer", "room": "bytes", "ret": "int"},
    kinds=KINDS,
    collections={"kept": ("buf", "record")},
    limits={"top": 96, "edge.max": 2**32, "edge.min": 4 * 10**9},
    creates={},
)


def machine() -> Machine:
    return Machine({"buf": "area"}, {"area": Region("base", "size")}, {"kept": {}})


def frame(**values: object) -> Frame:
    """A frame with these arguments and outputs (`out_` in front)."""
    args = {name: value for name, value in values.items() if not name.startswith("out_")}
    outs = {name[4:]: value for name, value in values.items() if name.startswith("out_")}
    return Frame(machine(), args, outs, pointers=(Pointer(0, "null"), Pointer(4096), Pointer(8192, "executable")))


def value(text: str, **values: object) -> object:
    """The value of an expression."""
    return compile_expression(parse_expression(text, SCOPE))(frame(**values))


def truth(text: str, **values: object) -> object:
    """The truth of a guard."""
    return guard(parse_guard(text, SCOPE))(frame(**values))


def buf(**fields: object) -> Obj:
    return Obj("buf", fields)


# ------------------------------------------------------------------------------------------------- three values

T, F, U = "n == 0", "n == 1", "n == m"
"""True, false and unknown when n is 0 and m is unknown."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *[(f"{a} and {b}", e) for a, b, e in [(T, T, True), (T, F, False), (F, T, False), (F, F, False)]],
        *[(f"{a} and {b}", e) for a, b, e in [(U, T, UNKNOWN), (T, U, UNKNOWN), (U, F, False), (F, U, False)]],
        (f"{U} and {U}", UNKNOWN),
        *[(f"{a} or {b}", e) for a, b, e in [(T, T, True), (T, F, True), (F, T, True), (F, F, False)]],
        *[(f"{a} or {b}", e) for a, b, e in [(U, T, True), (T, U, True), (U, F, UNKNOWN), (F, U, UNKNOWN)]],
        (f"{U} or {U}", UNKNOWN),
        (f"not {T}", False),
        (f"not {F}", True),
        (f"not {U}", UNKNOWN),
        (f"{U} and {U} or {T}", True),
        (f"{F} and {U} or {F}", False),
        ("n < m", UNKNOWN),
        ("m >= n", UNKNOWN),
        ("n + m == 0", UNKNOWN),
        ("n != m", UNKNOWN),
        ("m in {0, 1}", UNKNOWN),
        ("n in {m, 0}", True),
        ("n in {m, 1}", UNKNOWN),
        ("n in {1, 2}", False),
        ("unknown(m)", True),
        ("unknown(n)", False),
    ],
)
def test_truth_tables(text: str, expected: object) -> None:
    assert truth(text, n=0, m=UNKNOWN) is expected


@given(st.lists(st.sampled_from([True, False, UNKNOWN]), min_size=1, max_size=5))
def test_an_unknown_stands_for_either_value(values: list[object]) -> None:
    """A conjunction is certain exactly when it comes out the same whatever the unknown parts are."""
    names = [f"t{k}" for k in range(len(values))]
    scope = Scope(dict.fromkeys(names, "bool"), {}, {}, {}, {}, {})
    for operator, fold in ((" and ", all), (" or ", any)):
        tree = parse_expression(operator.join(names), scope)
        answer = compile_expression(tree)(Frame(machine(), dict(zip(names, values, strict=True))))
        worlds: list[list[object]] = [[]]
        for one in values:
            choices = [True, False] if one is UNKNOWN else [one]
            worlds = [[*world, choice] for world in worlds for choice in choices]
        possible = {fold(world) for world in worlds}
        assert answer is (possible.pop() if len(possible) == 1 else UNKNOWN)


# -------------------------------------------------------------------------------------------------- exact integers


@pytest.mark.parametrize("n", [0, 1, 95, 96, 97, 2**32, 2**63, 2**64 - 6, 2**64 - 1])
@pytest.mark.parametrize("m", [0, 1, 10, 96, 2**32, 2**63, 2**64 - 1])
def test_sums_are_exact(n: int, m: int) -> None:
    assert value("n + m", n=n, m=m) == n + m
    assert truth("n + m > limits.top", n=n, m=m) is (n + m > 96)
    assert value("n - m", n=n, m=m) == n - m
    assert value("n * m", n=n, m=m) == n * m


def test_a_sum_over_the_word_is_no_small_number() -> None:
    assert truth("n + m > limits.top", n=2**64 - 6, m=10) is True
    assert truth("n + m <= limits.top", n=2**64 - 1, m=1) is False


def test_limits_by_reading() -> None:
    assert value("limits.edge.max - limits.edge.min") == 2**32 - 4 * 10**9


# ----------------------------------------------------------------------------------------------------------- NULL


def test_a_field_of_null_does_not_apply() -> None:
    for text in ("x.size == 0", "x.size != 0", "not x.size == 0", "x.area.size > 1", "len(x.chain) == 1"):
        assert truth(text, x=None) is False
    assert truth("x.area.size == 0", x=buf(area=None)) is False


def test_null_is_compared_by_itself() -> None:
    assert truth("x == null", x=None) is True
    assert truth("x != null", x=buf()) is True
    assert truth("x == null or x.size == 0", x=None) is True
    assert truth("x != null and x.size == 0", x=None) is False
    assert truth("x.next == null", x=buf(next=None)) is True
    assert truth("p == null", p=None) is True


def test_an_unknown_field_or_object_is_unknown() -> None:
    assert truth("x.size == 0", x=buf(size=UNKNOWN)) is UNKNOWN
    assert truth("x.area.size == 0", x=buf(area=UNKNOWN)) is UNKNOWN
    assert truth("x.next.size == 0", x=UNKNOWN) is UNKNOWN
    assert truth("x.next != null", x=buf(next=UNKNOWN)) is UNKNOWN


def test_a_record_that_is_not_there_does_not_apply() -> None:
    owner = buf()
    given = frame(x=owner)
    asked = guard(parse_guard("kept[x].owner == x", SCOPE))
    held = guard(parse_guard("x in kept", SCOPE))
    assert (asked(given), held(given)) == (False, False)
    given.machine.collections["kept"][owner] = Obj("record", {"owner": owner, "values": frozenset()})
    assert (asked(given), held(given)) == (True, True)
    given.machine.collections["kept"][owner] = UNKNOWN
    assert (asked(given), held(given)) == (UNKNOWN, UNKNOWN)


# -------------------------------------------------------------------------------------------------------- outputs


def test_an_output_that_was_not_written_equals_nothing() -> None:
    for text in (
        "out.o == 0",
        "out.o != 0",
        "out.o < 1",
        "out.o >= 0",
        "out.q == null",
        "out.q != null",
        "out.o in {0}",
    ):
        assert truth(text, out_o=UNWRITTEN, out_q=UNWRITTEN) is False


def test_tidy_and_untouched() -> None:
    assert truth("tidy(out.q)", out_q=UNWRITTEN) is True
    assert truth("tidy(out.q)", out_q=None) is True
    assert truth("tidy(out.q)", out_q=Ptr(1)) is False
    assert truth("untouched(out.o, 0)", out_o=UNWRITTEN) is True
    assert truth("untouched(out.o, 0)", out_o=0) is False
    room = b"ab" + sentinel(8)[2:]
    assert truth("untouched(out.room, n)", out_room=room, n=2) is True
    assert truth("untouched(out.room, n)", out_room=room, n=1) is False
    assert truth("untouched(out.room, n)", out_room=room, n=2**64 - 1) is True


def test_what_can_be_called() -> None:
    assert truth("callable(out.q)", out_q=Ptr(2)) is True
    assert truth("callable(out.q)", out_q=Ptr(1)) is False
    assert truth("callable(out.q)", out_q=None) is False


def test_fresh_handles_and_handles_of_others() -> None:
    given = frame(x=buf(area=None), y=buf(area=None))
    given.machine.begin(given.args["x"], Ptr(1))
    given.machine.begin(given.args["y"], Ptr(2))
    fresh = guard(parse_guard("fresh(out.q, buf)", SCOPE))
    another = guard(parse_guard("another(out.q, x)", SCOPE))
    for pointer, new, other in (
        (None, False, UNKNOWN),
        (Ptr(1), False, False),
        (Ptr(2), False, True),
        (Ptr(3), True, False),
    ):
        given.outs["q"] = pointer
        assert (fresh(given), another(given)) == (new, other), pointer
    given.machine.end(given.args["y"], False)
    given.outs["q"] = Ptr(2)
    assert (fresh(given), another(given)) == (True, False)


# ---------------------------------------------------------------------------------------------------------- bytes


def test_bytes_with_unknown_members() -> None:
    known = (1, 2, None, 4)
    assert equal(known, b"\x01\x02\x09\x04") is UNKNOWN
    assert equal(known, b"\x01\x03\x09\x04") is False
    assert equal((1, 2), b"\x01\x02") is True
    assert equal(b"\x01", b"\x01\x02") is False
    x = buf(bytes=known)
    assert truth("out.room[0:n] == x.bytes[m:m + n]", x=x, n=2, m=0, out_room=b"\x01\x02") is True
    assert truth("out.room[0:n] == x.bytes[m:m + n]", x=x, n=2, m=2, out_room=b"\x07\x04") is UNKNOWN
    assert truth("out.room[0:n] == x.bytes[m:m + n]", x=x, n=2, m=2, out_room=b"\x07\x05") is False


def test_a_range_of_unknown_bounds_is_unknown() -> None:
    assert value("x.bytes[n:n + m]", x=buf(bytes=(1, 2)), n=0, m=UNKNOWN) is UNKNOWN


def test_membership_and_equality_of_objects_and_pointers() -> None:
    x = buf()
    x.addresses.append(Ptr(1))
    assert equal(x, Ptr(1)) is True
    assert equal(Ptr(2), x) is False
    assert equal(x, buf()) is False
    assert contains((x,), Ptr(1)) is True
    assert contains(UNKNOWN, 1) is UNKNOWN
    assert contains((1,), UNWRITTEN) is False
    assert negate(UNKNOWN) is UNKNOWN


# -------------------------------------------------------------------------------------------------------- effects


def run(text: str, **values: object) -> Frame:
    """Carry an effect out; the frame after it."""
    given = frame(**values)
    compile_effect(parse_effect(text, SCOPE))(given)
    return given


def test_effects_change_fields_ranges_and_records() -> None:
    x = buf(size=1, bytes=(None,) * 4, chain=())
    run("x.size = n + 1\nx.bytes[1:3] = data\nx.chain = x.chain + [y]", x=x, y=None, n=2**64, data=b"\x05\x06\x07")
    assert x.fields == {"size": 2**64 + 1, "bytes": (None, 5, 6, None), "chain": (None,)}
    after = run("kept[x] = record(owner=x, values={p})", x=x, p=Ptr(1))
    assert after.machine.collections["kept"][x].fields["owner"] is x


def test_a_range_beyond_the_end_changes_nothing_else() -> None:
    x = buf(bytes=(1, 2, 3))
    run("x.bytes[n:n + m] = data", x=x, n=2**64 - 2, m=4, data=b"\x09\x09\x09\x09")
    assert x.fields["bytes"] == (1, 2, 3)
    run("x.bytes[n:n + m] = data", x=x, n=2, m=50, data=b"\x09" * 50)
    assert x.fields["bytes"] == (1, 2, 9)
    run("x.bytes[n:n + m] = data", x=x, n=0, m=UNKNOWN, data=b"\x09")
    assert x.fields["bytes"] == (None, None, None)


def test_an_unknown_condition_leaves_both_sides_in_doubt() -> None:
    x, y = buf(size=1, next=UNKNOWN, bytes=(1, 2)), buf(size=2)
    text = "if x.next != null:\n    x.size = 5\n    x.bytes[0:1] = data\nelse:\n    y.size = 6"
    run(text, x=x, y=y, data=b"\x07")
    assert (x.fields["size"], x.fields["bytes"], y.fields["size"]) == (UNKNOWN, (None, 2), UNKNOWN)
    x.fields["next"] = None
    run(text, x=x, y=y, data=b"\x07")
    assert (x.fields["size"], y.fields["size"]) == (UNKNOWN, 6)


def test_a_free_in_doubt_makes_life_unknown_and_freed_stays_freed() -> None:
    x, y = buf(next=UNKNOWN, area=None), buf(area=None)
    run("if x.next != null:\n    free(y)", x=x, y=y)
    assert y.alive is UNKNOWN
    run("free(y)\ndoubt([y, x])", x=x, y=y)
    assert [item.alive for item in (y, x)] == [False, UNKNOWN]


def test_a_drop_in_doubt_leaves_an_unknown_record() -> None:
    x = buf(next=UNKNOWN)
    given = frame(x=x)
    given.machine.collections["kept"][x] = Obj("record", {})
    compile_effect(parse_effect("if x.next != null:\n    drop(kept, x)", SCOPE))(given)
    assert given.machine.holds("kept", x) is UNKNOWN
    compile_effect(parse_effect("drop(kept, x)", SCOPE))(given)
    assert given.machine.holds("kept", x) is False


def test_loops_over_objects_and_what_is_joined() -> None:
    a, b, c = (Obj("buf", {"links": (), "size": 0}) for _ in range(3))
    a.fields["links"], b.fields["links"] = (b,), (a, c)
    given = frame(x=a)
    compile_effect(parse_effect("for each in reach([x]):\n    each.size = 3", SCOPE))(given)
    assert [item.fields["size"] for item in (a, b, c)] == [3, 3, 3]


def test_effects_on_null_change_nothing() -> None:
    given = run(
        "x.size = 1\nx.area.size = 2\nx.bytes[0:1] = data\nfree(x)\nfor each in x.chain:\n    each.size = 1",
        x=None,
        data=b"1",
    )
    assert given.machine.objects == []


def test_the_account_of_live_objects_and_bytes() -> None:
    given = frame()
    area = Obj("area", {"size": 100, "base": UNKNOWN})
    one, two = buf(area=area), buf(area=area)
    for made, pointer in ((one, Ptr(1)), (two, Ptr(2))):
        given.machine.begin(made, pointer)
    assert (given.machine.live_objects, given.machine.live_bytes) == (2, 100)
    given.machine.end(one, False)
    given.machine.end(one, False)
    assert (given.machine.live_objects, given.machine.live_bytes) == (1, 100)
    assert given.machine.region_alive(area) is True
    given.machine.end(two, UNKNOWN)
    assert (given.machine.live_objects, given.machine.region_alive(area)) == (1, UNKNOWN)
    given.machine.end(two, False)
    assert (given.machine.live_objects, given.machine.live_bytes) == (0, 0)
    assert given.machine.region_alive(area) is False


# --------------------------------------------------------------------------------------------------- the white list


@pytest.mark.parametrize(
    "text",
    [
        "",
        "n ==",
        "z == 0",
        "n == 1.5",
        "n == 'a'",
        "n // 2 == 0",
        "n % 2 == 0",
        "-n == 0",
        "n < m < 3",
        "n is m",
        "lambda: 0",
        "[k for k in x.chain]",
        "x.size()",
        "__import__(n)",
        "x.__class__",
        "x.nothing == 0",
        "n.size == 0",
        "limits.nothing == 0",
        "out.nothing == 0",
        "len(x.chain, n) == 0",
        "len(items=x.chain) == 0",
        "x < y",
        "n == data",
        "x.chain[data] == x",
        "(" * 300 + "n" + ")" * 300,
        "n == 0; m",
    ],
)
def test_nothing_else_is_in_the_language(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_guard(text, SCOPE)


@pytest.mark.parametrize(
    "text",
    [
        "while n: pass",
        "x = y",
        "n = 1",
        "x.nothing = 1",
        "x.size = data",
        "x.chain = {1}",
        "print(n)",
        "free()",
        "free(x, y)",
        "import os",
        "x.size += 1",
        "del x",
        "for k in n: pass",
        "buf(size=1)",
        "z = buf(size=1)",
        "(x, y) = (1, 2)",
    ],
)
def test_nothing_else_is_an_effect(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_effect(text, SCOPE)


@given(st.text(max_size=40))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    for parse in (parse_guard, parse_effect):
        try:
            parse(text, SCOPE)
        except ExpressionError:
            continue


def test_a_guard_is_a_condition() -> None:
    with pytest.raises(ExpressionError, match="condition is expected"):
        parse_guard("n + m", SCOPE)


def test_the_state_that_an_expression_reads() -> None:
    def names(tree: Expr) -> list[str]:
        return [getattr(item, "name", getattr(item, "collection", "")) for item in fields_read(tree)]

    assert names(parse_guard("out.o in kept[x].values or x.area.size == n", SCOPE)) == [
        "values",
        "kept",
        "size",
        "area",
    ]
