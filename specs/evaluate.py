"""Turns expression trees into functions over a frame: the arguments and answer of one call and the state around it.

Logic is three-valued (Kleene): an unknown operand makes a comparison unknown, `false and unknown` is false. A guard
that asks for a field of NULL does not apply, which counts as false.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from acl_cts.specs import expressions as ex
from acl_cts.specs.machine import Machine
from acl_cts.specs.trace import Pointer, Ptr, sentinel
from acl_cts.specs.values import (
    UNKNOWN,
    UNWRITTEN,
    Mark,
    NotApplicableError,
    Obj,
    contains,
    equal,
    negate,
)


@dataclass(slots=True)
class Frame:
    """One call as an expression sees it. `outs` and `ret` are UNKNOWN before the answer is there. `addresses`: where
    the handles that the call creates came to lie, by output."""

    machine: Machine
    args: dict[str, Any]
    outs: dict[str, Any] = field(default_factory=dict)
    ret: Any = UNKNOWN
    hits: int = 0
    pointers: tuple[Pointer, ...] | list[Pointer] = ()
    addresses: dict[str, Any] = field(default_factory=dict)
    locals: dict[str, Any] = field(default_factory=dict)


_NOWHERE = Frame(Machine({}, {}), {})
"""A frame for what depends on none."""

Term = Callable[[Frame], Any]
Step = Callable[[Frame, bool], None]


def guard(tree: ex.Expr) -> Term:
    """A function that gives True, False or UNKNOWN; False where the guard does not apply."""
    term = compile_expression(tree)

    def holds(frame: Frame) -> Any:
        try:
            return term(frame)
        except NotApplicableError:
            return False

    return holds


def value_or_none(tree: ex.Expr) -> Term:
    """The function that computes `tree`, None where a field of NULL or a missing record is asked for."""
    term = compile_expression(tree)
    if isinstance(tree, ex.Constant | ex.Name | ex.Out | ex.Limit | ex.New):
        return term

    def value(frame: Frame) -> Any:
        try:
            return term(frame)
        except NotApplicableError:
            return None

    return value


def lenient(term: Term) -> Term:
    """`term`, UNKNOWN where it asks for a field of NULL: a success that should have been a refusal is followed too."""

    def value(frame: Frame) -> Any:
        try:
            return term(frame)
        except NotApplicableError:
            return UNKNOWN

    return value


def compile_expression(tree: ex.Expr) -> Term:
    """The function that computes `tree`."""
    compiler = _COMPILERS[type(tree)]
    return compiler(tree)


# ---------------------------------------------------------------------------------------------------- plain nodes


def _constant(tree: ex.Constant) -> Term:
    value: Any = UNKNOWN if tree.type == ex.ANY else tree.value
    return lambda frame: value


def _name(tree: ex.Name) -> Term:
    name = tree.name

    def read(frame: Frame) -> Any:
        return frame.locals[name] if name in frame.locals else frame.args[name]

    return read


def _out(tree: ex.Out) -> Term:
    name = tree.name
    if name == "ret":
        return lambda frame: frame.ret
    return lambda frame: frame.outs.get(name, UNKNOWN)


def _limit(tree: ex.Limit) -> Term:
    value = tree.value
    return lambda frame: value


def _field(tree: ex.Field) -> Term:
    base, name = compile_expression(tree.base), tree.name

    def read(frame: Frame) -> Any:
        owner = base(frame)
        if isinstance(owner, Obj):
            return owner.fields.get(name, UNKNOWN)
        if owner is None:
            raise NotApplicableError
        return UNKNOWN

    return read


def _keyed(tree: ex.Keyed) -> Term:
    name, key = tree.collection, compile_expression(tree.key)

    def read(frame: Frame) -> Any:
        at = key(frame)
        if not isinstance(at, Obj):
            raise NotApplicableError
        record = frame.machine.collections[name].get(at)
        if record is None:
            raise NotApplicableError
        return record

    return read


def _collection(tree: ex.Collection) -> Term:
    name = tree.name
    return lambda frame: frame.machine.collections[name]


def _item(tree: ex.Item) -> Term:
    base, index = compile_expression(tree.base), compile_expression(tree.index)

    def read(frame: Frame) -> Any:
        items, at = base(frame), index(frame)
        if not isinstance(items, tuple) or not isinstance(at, int) or not 0 <= at < len(items):
            return UNKNOWN
        return items[at]

    return read


def _slice(tree: ex.Slice) -> Term:
    base = compile_expression(tree.base)
    start = compile_expression(tree.start) if tree.start else None
    stop = compile_expression(tree.stop) if tree.stop else None

    def read(frame: Frame) -> Any:
        items = base(frame)
        if items is UNKNOWN or items is UNWRITTEN or items is None:
            return UNKNOWN
        first, last = start(frame) if start else 0, stop(frame) if stop else len(items)
        return items[first:last] if isinstance(first, int) and isinstance(last, int) else UNKNOWN

    return read


# --------------------------------------------------------------------------------------------------------- logic

_ORDER: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _compare(tree: ex.Compare) -> Term:
    left, right, op = compile_expression(tree.left), compile_expression(tree.right), tree.op
    if op in ("==", "!=") and tree.right == ex.Constant(None, ex.NULL):
        return _null_test(left, op == "==")
    if op == "==":
        return lambda frame: equal(left(frame), right(frame))
    if op == "!=":
        return lambda frame: _differ(left(frame), right(frame))
    if op == "in":
        if isinstance(tree.right, ex.Collection):
            name = tree.right.name
            return lambda frame: frame.machine.holds(name, left(frame))
        return lambda frame: contains(right(frame), left(frame))
    test = _ORDER[op]

    def order(frame: Frame) -> Any:
        a, b = left(frame), right(frame)
        if a is UNWRITTEN or b is UNWRITTEN:
            return False
        if a is UNKNOWN or b is UNKNOWN:
            return UNKNOWN
        if a is None or b is None:
            raise NotApplicableError
        return test(a, b)

    return order


def _null_test(term: Term, is_null: bool) -> Term:
    """`x == null` or `x != null`, the most frequent question."""

    def test(frame: Frame) -> Any:
        value = term(frame)
        if value is None:
            return is_null
        if value is UNKNOWN:
            return UNKNOWN
        return False if value is UNWRITTEN else not is_null

    return test


def _differ(left: Any, right: Any) -> Any:
    return False if left is UNWRITTEN or right is UNWRITTEN else negate(equal(left, right))


def _logic(tree: ex.Logic) -> Term:
    terms = [compile_expression(item) for item in tree.items]
    decisive = tree.op == "or"

    def decide(frame: Frame) -> Any:
        answer: Any = not decisive
        for term in terms:
            value = term(frame)
            if value is UNKNOWN:
                answer = UNKNOWN
            elif value is decisive:
                return decisive
        return answer

    return decide


def _not(tree: ex.Not) -> Term:
    item = compile_expression(tree.item)
    return lambda frame: negate(item(frame))


def _arithmetic(tree: ex.Arithmetic) -> Term:
    left, right, op = compile_expression(tree.left), compile_expression(tree.right), tree.op

    def compute(frame: Frame) -> Any:
        a, b = left(frame), right(frame)
        if a is UNKNOWN or b is UNKNOWN or a is None or b is None:
            return UNKNOWN
        if op == "+":
            return a + b
        if op == "-":
            return a - b
        return a * b if op == "*" else a | b

    return compute


def _group(tree: ex.Group) -> Term:
    terms = [compile_expression(item) for item in tree.items]
    if tree.type.startswith("set:"):
        return lambda frame: frozenset(term(frame) for term in terms)
    return lambda frame: tuple(term(frame) for term in terms)


def _new(tree: ex.New) -> Term:
    kind = tree.kind
    fixed = {name: _fixed(value) for name, value in tree.fields}
    changing = [(n, lenient(compile_expression(v))) for n, v in tree.fields if fixed[n] is _CHANGES]

    def create(frame: Frame) -> Obj:
        fields = fixed.copy()
        for name, value in changing:
            fields[name] = value(frame)
        return Obj(kind, fields)

    return create


_CHANGES = Mark("changes")


def _fixed(tree: ex.Expr) -> Any:
    """The value of a tree that depends on nothing, `_CHANGES` for any other."""
    match tree:
        case ex.Constant() | ex.Limit():
            return compile_expression(tree)(_NOWHERE)
        case ex.Group(items=items) | ex.Function(name="unknown_bytes", args=items):
            if all(_fixed(item) is not _CHANGES for item in items):
                return compile_expression(tree)(_NOWHERE)
    return _CHANGES


# ------------------------------------------------------------------------------------------------ built-in questions


def _function(tree: ex.Function) -> Term:
    if tree.name in ("untouched", "tidy"):
        return _output_question(tree)
    terms = [compile_expression(arg) for arg in tree.args]
    answer = _QUESTIONS[tree.name]
    return lambda frame: answer(frame, *[term(frame) for term in terms])


def _output_question(tree: ex.Function) -> Term:
    out = tree.args[0]
    if not isinstance(out, ex.Out):
        raise ex.ExpressionError(f"{tree.name} asks about an output")
    name = out.name
    if tree.name == "tidy":
        return lambda frame: frame.outs.get(name, UNWRITTEN) in (UNWRITTEN, None)
    start = compile_expression(tree.args[1])

    def untouched(frame: Frame) -> Any:
        value = frame.outs.get(name, UNWRITTEN)
        if not isinstance(value, bytes):
            return value is UNWRITTEN
        begin = start(frame)
        return value[begin:] == sentinel(len(value))[begin:]

    return untouched


def _length(frame: Frame, items: Any) -> Any:
    if items is None:
        raise NotApplicableError
    return items if items is UNKNOWN else len(items)


def _alive(frame: Frame, item: Any) -> Any:
    return item.alive if isinstance(item, Obj) else UNKNOWN


def _fresh(frame: Frame, pointer: Any, kind: str) -> Any:
    if pointer is UNKNOWN:
        return UNKNOWN
    if not isinstance(pointer, Ptr):
        return False
    holder = frame.machine.holder(kind, pointer)
    return holder is None or holder.alive is not True


def _another(frame: Frame, pointer: Any, item: Any) -> Any:
    if not isinstance(item, Obj) or not isinstance(pointer, Ptr):
        return UNKNOWN
    holder = frame.machine.holder(item.kind, pointer)
    return holder is not None and holder is not item and holder.alive is True and pointer not in item.addresses


def _disjoint(frame: Frame, area: Any, pointer: Any) -> Any:
    if not isinstance(area, Obj) or not isinstance(pointer, Ptr):
        return UNKNOWN
    return frame.machine.disjoint(area, frame.pointers[pointer.id].raw, frame.pointers)


def _callable(frame: Frame, pointer: Any) -> Any:
    """Whether it can be called and is none of the user's own callbacks."""
    return isinstance(pointer, Ptr) and frame.pointers[pointer.id].kind == "executable"


def _aligned(frame: Frame, pointer: Any, bytes_: int) -> Any:
    return frame.pointers[pointer.id].raw % bytes_ == 0 if isinstance(pointer, Ptr) else UNKNOWN


def _all_null(frame: Frame) -> bool:
    return all(value is None for value in frame.outs.values())


def _stale(frame: Frame, owner: Any, name: str, shown: Any, offset: int) -> Any:
    """Whether at least 8 bytes in a row that are not known to be otherwise are those of the handle's earlier owner."""
    earlier = owner.earlier.fields[name] if isinstance(owner, Obj) and owner.earlier else None
    if not isinstance(earlier, tuple) or not isinstance(shown, bytes):
        return UNKNOWN
    own, template = owner.fields[name], owner.fields.get("template", ())
    run = 0
    for k, byte in enumerate(shown[: max(0, len(own) - offset)]):
        at = offset + k
        copied = at < len(template) and template[at] == byte
        run = run + 1 if own[at] is None and earlier[at] == byte != 0 and not copied else 0
        if run >= 8:
            return True
    return False


def _telling(group: tuple[Any, ...]) -> bool:
    """Whether eight bytes are known and no plain fill that fresh memory may hold by chance."""
    return None not in group and len(set(group)) > 1


def _groups(own: Any, shown: Any, original: Any) -> list[bool]:
    """For each 8-byte group never set here and known of the original: whether it shows the original's bytes."""
    if not isinstance(own, tuple) or not isinstance(shown, bytes) or not isinstance(original, tuple):
        return []
    starts = range(0, min(len(own), len(shown), len(original)) - 7, 8)
    free = [s for s in starts if all(b is None for b in own[s : s + 8]) and _telling(original[s : s + 8])]
    return [tuple(shown[s : s + 8]) == original[s : s + 8] for s in free]


def _partial(frame: Frame, own: Any, shown: Any, original: Any) -> Any:
    groups = _groups(own, shown, original)
    return any(groups) and not all(groups) if len(groups) > 1 else UNKNOWN


def _copied(frame: Frame, own: Any, shown: Any, original: Any) -> bool:
    groups = _groups(own, shown, original)
    return bool(groups) and all(groups)


def _differs(frame: Frame, own: Any, shown: Any, original: Any) -> bool:
    groups = _groups(own, shown, original)
    return bool(groups) and not any(groups)


def _earlier(frame: Frame, item: Any) -> Any:
    return item.earlier if isinstance(item, Obj) else None


def _values(frame: Frame, collection: Any) -> tuple[Any, ...]:
    return tuple(value for value in collection.values() if isinstance(value, Obj))


_QUESTIONS: dict[str, Callable[..., Any]] = {
    "len": _length,
    "alive": _alive,
    "unknown": lambda frame, value: value is UNKNOWN,
    "fresh": _fresh,
    "another": _another,
    "disjoint": _disjoint,
    "all_null": _all_null,
    "callable": _callable,
    "aligned": _aligned,
    "hits": lambda frame: frame.hits,
    "stale": _stale,
    "partial": _partial,
    "copied": _copied,
    "differs": _differs,
    "unset": lambda frame, items: isinstance(items, tuple) and all(item is None for item in items),
    "zero": lambda frame, items: isinstance(items, bytes) and not any(items),
    "lasts": lambda frame, number: frozenset() if number is None else frozenset((number,)),
    "reach": lambda frame, items: frame.machine.reach(items, "links"),
    "values": _values,
    "earlier": _earlier,
    "unknown_bytes": lambda frame, count: (None,) * count,
}

_COMPILERS: dict[type, Callable[[Any], Term]] = {
    ex.Constant: _constant,
    ex.Name: _name,
    ex.Out: _out,
    ex.Limit: _limit,
    ex.Field: _field,
    ex.Keyed: _keyed,
    ex.Collection: _collection,
    ex.Item: _item,
    ex.Slice: _slice,
    ex.Compare: _compare,
    ex.Logic: _logic,
    ex.Not: _not,
    ex.Arithmetic: _arithmetic,
    ex.Group: _group,
    ex.Function: _function,
    ex.New: _new,
}


# ------------------------------------------------------------------------------------------------------- effects


def compile_effect(effects: tuple[ex.Effect, ...]) -> Callable[[Frame], None]:
    """The function that carries the effects out."""
    steps = [_step(effect) for effect in effects]

    def run(frame: Frame) -> None:
        for step in steps:
            step(frame, False)

    return run


def _step(effect: ex.Effect) -> Step:
    """One effect; when its second argument is true the effect is doubtful: what it touches becomes unknown."""
    match effect:
        case ex.Assign():
            return _assign(effect)
        case ex.Act():
            return _act(effect)
        case ex.Branch():
            return _branch(effect)
        case ex.Each():
            return _each(effect)


def _assign(effect: ex.Assign) -> Step:
    value = value_or_none(effect.value)
    match effect.target:
        case ex.Name(name=name):

            def local(frame: Frame, doubtful: bool) -> None:
                made = frame.locals[name] = UNKNOWN if doubtful else value(frame)
                if name in frame.addresses and isinstance(made, Obj):
                    address = frame.addresses[name]
                    frame.machine.begin(made, address if isinstance(address, Ptr) else None)

            return local
        case ex.Field(base=base, name=name):
            owner = value_or_none(base)

            def field_of(frame: Frame, doubtful: bool) -> None:
                at = owner(frame)
                if isinstance(at, Obj):
                    at.fields[name] = UNKNOWN if doubtful else value(frame)
                    at.pending.pop(name, None)

            return field_of
        case ex.Slice(base=ex.Field(base=base, name=name), start=start, stop=stop):
            return _assign_slice(value_or_none(base), name, start, stop, value)
        case ex.Keyed(collection=collection, key=key):
            at_key = value_or_none(key)

            def keyed(frame: Frame, doubtful: bool) -> None:
                frame.machine.collections[collection][at_key(frame)] = UNKNOWN if doubtful else value(frame)
                frame.machine.pending.pop((collection, id(at_key(frame))), None)

            return keyed
    raise ex.ExpressionError("this target cannot be assigned")


def _assign_slice(owner: Term, name: str, start: ex.Expr | None, stop: ex.Expr | None, value: Term) -> Step:
    begin = value_or_none(start) if start else lambda frame: 0
    end = value_or_none(stop) if stop else lambda frame: 0

    def put(frame: Frame, doubtful: bool) -> None:
        at = owner(frame)
        if not isinstance(at, Obj) or not isinstance(at.fields[name], tuple):
            return
        old = at.fields[name]
        bounds = begin(frame), end(frame) if stop else len(old)
        if not all(isinstance(bound, int) for bound in bounds):
            at.fields[name] = (None,) * len(old)
            return
        first, last = (min(bound, len(old)) for bound in bounds)
        last = max(first, last)
        given = value(frame)
        new = tuple(given[: last - first]) if isinstance(given, bytes | tuple) and not doubtful else ()
        new += (None,) * (last - first - len(new))
        at.fields[name] = old[:first] + new + old[last:]
        at.pending.pop(name, None)

    return put


def _act(effect: ex.Act) -> Step:
    terms = [value_or_none(arg) for arg in effect.args]
    name = effect.name

    def act(frame: Frame, doubtful: bool) -> None:
        values = [term(frame) for term in terms]
        if name == "free":
            frame.machine.end(values[0], UNKNOWN if doubtful else False)
        elif name == "doubt" and isinstance(values[0], tuple):
            for item in values[0]:
                frame.machine.end(item, UNKNOWN)
        elif name == "drop":
            frame.machine.drop(values[0], values[1], doubtful)

    return act


def _branch(effect: ex.Branch) -> Step:
    condition = guard(effect.condition)
    then, other = [_step(e) for e in effect.then], [_step(e) for e in effect.other]

    def branch(frame: Frame, doubtful: bool) -> None:
        truth = condition(frame)
        for step in then if truth is not False else ():
            step(frame, doubtful or truth is UNKNOWN)
        for step in other if truth is not True else ():
            step(frame, doubtful or truth is UNKNOWN)

    return branch


def _each(effect: ex.Each) -> Step:
    items, name = value_or_none(effect.items), effect.name
    body = [_step(e) for e in effect.body]

    def each(frame: Frame, doubtful: bool) -> None:
        members = items(frame)
        for member in members if isinstance(members, tuple) else ():
            frame.locals[name] = member
            for step in body:
                step(frame, doubtful)

    return each
