"""Turns expression trees into functions over a frame, by way of Python source that is written from the typed tree.

Logic is three-valued (Kleene): an unknown operand makes a comparison unknown, `false and unknown` is false. A guard
that asks for a field of NULL does not apply, which counts as false; in an effect what is asked of NULL is unknown. No
text of a table ever becomes part of the source but names that the parser has checked.
"""

from __future__ import annotations

import contextlib
import functools
import marshal
import re
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from acl_cts.specs import expressions as ex
from acl_cts.specs.frame import Frame
from acl_cts.specs.questions import QUESTIONS, tidy, untouched
from acl_cts.specs.trace import Ptr
from acl_cts.specs.values import UNKNOWN, UNWRITTEN, NotApplicableError, Obj, contains, equal, negate, shape

Term = Callable[[Frame], Any]

Terms = Callable[[Frame], Sequence[tuple[int, Any]]]
"""Asks several questions in one go: the numbers of those that have something to say, with what they say."""


@functools.cache
def guard(tree: ex.Expr) -> Term:
    """A function that gives True, False or UNKNOWN; False where the guard does not apply."""
    writer = _Writer(soft=False)
    writer.line(f"return {writer.truth(tree)}")
    return writer.function()


@functools.cache
def guards(trees: tuple[ex.Expr | None, ...]) -> Terms:
    """A function that gives the guards which are not False. None always holds."""
    writer = _Writer(soft=False)
    writer.line("R = ()")
    for number, tree in enumerate(trees):
        answer = writer.truth(tree) if tree is not None else "True"
        writer.line(f"if {answer} is not False: R = (*R, ({number}, {answer}))")
    writer.line("return R")
    return writer.function()


@functools.cache
def consequences(pairs: tuple[tuple[ex.Expr | None, ex.Expr | None], ...]) -> Terms:
    """A function that gives, for every pair whose first holds, the truth of the second. None as a first always holds,
    as a second says nothing (UNKNOWN)."""
    writer = _Writer(soft=False)
    writer.line("R = []")
    for number, (when, ensures) in enumerate(pairs):
        if when is not None:
            writer.line(f"if {writer.truth(when)} is True:")
            writer.depth += 1
        answer = writer.truth(ensures) if ensures is not None else "UNKNOWN"
        writer.line(f"R.append(({number}, {answer}))")
        writer.depth = 1
    writer.line("return R")
    return writer.function()


@functools.cache
def compile_expression(tree: ex.Expr) -> Term:
    """The function that computes `tree`. It raises NotApplicableError where a field of NULL is asked for."""
    writer = _Writer(soft=False)
    writer.line(f"return {writer.expr(tree)}")
    return writer.function()


@functools.cache
def lenient(tree: ex.Expr) -> Term:
    """The function that computes `tree`, UNKNOWN where a field of NULL or a missing record is asked for."""
    writer = _Writer(soft=True)
    writer.line(f"return {writer.expr(tree)}")
    return writer.function()


@functools.cache
def compile_effect(effects: tuple[ex.Effect, ...]) -> Term:
    """The function that carries the effects out."""
    writer = _Writer(soft=True)
    writer.effects(effects, "False")
    return writer.function()


# ------------------------------------------------------------------------------------- what the source refers to


def _absent(owner: Any) -> Any:
    if owner is None:
        raise NotApplicableError
    return UNKNOWN


def _order(op: str, left: Any, right: Any) -> Any:
    """An ordered comparison of which one side is no integer."""
    if left is UNWRITTEN or right is UNWRITTEN:
        return False
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if left is None or right is None:
        raise NotApplicableError
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[op]


def _soft_order(op: str, left: Any, right: Any) -> Any:
    return UNKNOWN if left is None or right is None else _order(op, left, right)


def _differ(left: Any, right: Any) -> Any:
    return False if left is UNWRITTEN or right is UNWRITTEN else negate(equal(left, right))


def _compute(op: str, left: Any, right: Any) -> Any:
    if left is UNKNOWN or right is UNKNOWN or left is None or right is None:
        return UNKNOWN
    if op == "+":
        return left + right
    if op == "-":
        return left - right
    return left * right if op == "*" else left | right


def _keyed(frame: Frame, name: str, key: Any) -> Any:
    record = _soft_keyed(frame, name, key)
    if record is None:
        raise NotApplicableError
    return record


def _soft_keyed(frame: Frame, name: str, key: Any) -> Any:
    return frame.machine.collections[name].get(key) if isinstance(key, Obj) else None


def _item(items: Any, at: Any) -> Any:
    if not isinstance(items, tuple) or not isinstance(at, int) or not 0 <= at < len(items):
        return UNKNOWN
    return items[at]


def _range(items: Any, start: Any, stop: Any) -> Any:
    if items is UNKNOWN or items is UNWRITTEN or items is None:
        return UNKNOWN
    if not all(bound is None or isinstance(bound, int) for bound in (start, stop)):
        return UNKNOWN
    return items[start:stop]


def _put(owner: Any, name: str, value: Any) -> None:
    if owner.__class__ is Obj:
        owner.fields[name] = value
        if owner.pending:
            owner.pending.pop(name, None)


def _put_range(owner: Any, name: str, start: Any, stop: Any, given: Any) -> None:
    """Replace a range of bytes, as far as the field has them; bytes that are not given become unknown."""
    if not isinstance(owner, Obj) or not isinstance(owner.fields[name], tuple):
        return
    old = owner.fields[name]
    if not all(bound is None or isinstance(bound, int) for bound in (start, stop)):
        _put(owner, name, (None,) * len(old))
        return
    first = min(start or 0, len(old))
    last = max(first, min(len(old) if stop is None else stop, len(old)))
    new = tuple(given[: last - first]) if isinstance(given, bytes | tuple) else ()
    _put(owner, name, old[:first] + new + (None,) * (last - first - len(new)) + old[last:])


def _put_keyed(frame: Frame, name: str, key: Any, value: Any) -> None:
    frame.machine.put(name, key, value)


def _put_local(frame: Frame, name: str, value: Any) -> None:
    """A name gets a value; where it is a handle that the call creates, the object comes to life."""
    frame.locals[name] = value
    if name in frame.addresses and isinstance(value, Obj):
        address = frame.addresses[name]
        frame.machine.begin(value, address if isinstance(address, Ptr) else None)


def _free(frame: Frame, doubtful: bool, item: Any) -> None:
    if doubtful:
        _unsettle(frame, item)
    else:
        frame.machine.end(item, False)


def _doubt(frame: Frame, doubtful: bool, items: Any) -> None:
    for item in items if isinstance(items, tuple) else ():
        _unsettle(frame, item)


def _unsettle(frame: Frame, item: Any) -> None:
    if isinstance(item, Obj) and item.alive is True:
        given = tuple((name, shape(value)) for name, value in frame.args.items() if isinstance(value, Obj))
        item.doubt = (given, shape(item))
    frame.machine.end(item, UNKNOWN)


def _drop(frame: Frame, doubtful: bool, collection: Any, key: Any) -> None:
    frame.machine.drop(collection, key, doubtful)


_NAMES: dict[str, Any] = {
    "UNKNOWN": UNKNOWN,
    "UNWRITTEN": UNWRITTEN,
    "NotApplicableError": NotApplicableError,
    "Obj": Obj,
    "contains": contains,
    "equal": equal,
    "differ": _differ,
    "compute": _compute,
    "absent": _absent,
    "order": _order,
    "soft_order": _soft_order,
    "keyed": _keyed,
    "soft_keyed": _soft_keyed,
    "item": _item,
    "range_of": _range,
    "put": _put,
    "put_range": _put_range,
    "put_keyed": _put_keyed,
    "put_local": _put_local,
    "act_free": _free,
    "act_doubt": _doubt,
    "act_drop": _drop,
    "ask_tidy": tidy,
    "ask_untouched": untouched,
    **{"ask_" + name: answer for name, answer in QUESTIONS.items()},
}


# --------------------------------------------------------------------------------------------------- compiled code


_codes: dict[str, CodeType] = {}
"""By its source, what was compiled so far, here or at an earlier start."""


def _code(source: str) -> CodeType:
    code = _codes.get(source)
    if code is None:
        code = _codes[source] = compile(source, "<table>", "exec")
    return code


def compiled() -> bytes:
    """All code that was compiled so far, for `take_compiled` of the same Python."""
    return marshal.dumps(_codes)


def take_compiled(stored: bytes) -> None:
    """Compile none of this again; what is something else is passed over."""
    with contextlib.suppress(EOFError, ValueError, TypeError):
        known = marshal.loads(stored)
        if isinstance(known, dict) and all(isinstance(code, CodeType) for code in known.values()):
            _codes.update(known)


# ------------------------------------------------------------------------------------------------------ the writer


_GIVEN = {"A": "args", "O": "outs"}
"""Short names that a function's source uses for parts of its frame."""


class _Writer:
    """Writes the source of one function. `soft`: what is asked of NULL is unknown instead of not applicable."""

    def __init__(self, soft: bool) -> None:
        self.soft = soft
        self.lines: list[str] = []
        self.depth = 1
        self.count = 0
        self.locals: set[str] = set()
        self.args: set[str] = set()

    def line(self, text: str) -> None:
        """One line at the current depth."""
        self.lines.append("    " * self.depth + text)

    def fresh(self) -> str:
        """A new variable."""
        self.count += 1
        return f"v{self.count}"

    def keep(self, text: str) -> str:
        """A variable that holds the value of `text`."""
        if text.isidentifier() or text.isdigit():
            return text
        name = self.fresh()
        self.line(f"{name} = {text}")
        return name

    def truth(self, tree: ex.Expr) -> str:
        """A variable that holds the truth of a guard, False where it does not apply."""
        answer = self.fresh()
        self.line("try:")
        self.depth += 1
        self.line(f"{answer} = {self.expr(tree)}")
        self.depth -= 1
        self.line("except NotApplicableError:")
        self.line(f"    {answer} = False")
        return answer

    def function(self) -> Term:
        """The finished function."""
        body = "\n".join(self.lines or ["    return None"])
        given = [f"    {name} = F.{part}\n" for name, part in _GIVEN.items() if re.search(rf"\b{name}\b", body)]
        given += [f"    a_{name} = F.args[{name!r}]\n" for name in sorted(self.args)]
        source = f"def f(F):\n{''.join(given)}{body}\n"
        space = dict(_NAMES)
        exec(_code(source), space)
        made: Term = space["f"]
        return made

    # -- expressions

    def expr(self, tree: ex.Expr) -> str:
        """Python source that gives the value of `tree`; lines that must go before it are written."""
        writer = getattr(self, "_" + type(tree).__name__)
        text: str = writer(tree)
        return text

    def _Constant(self, tree: ex.Constant) -> str:
        return "UNKNOWN" if tree.type == ex.ANY else repr(tree.value)

    def _Name(self, tree: ex.Name) -> str:
        if tree.name in self.locals:
            return f"(F.locals[{tree.name!r}] if {tree.name!r} in F.locals else A.get({tree.name!r}, UNKNOWN))"
        self.args.add(tree.name)
        return f"a_{tree.name}"

    def _Out(self, tree: ex.Out) -> str:
        return "F.ret" if tree.name == "ret" else f"O.get({tree.name!r}, UNKNOWN)"

    def _Limit(self, tree: ex.Limit) -> str:
        return str(tree.value)

    def _Field(self, tree: ex.Field) -> str:
        owner = self.keep(self.expr(tree.base))
        absent = "UNKNOWN" if self.soft else f"absent({owner})"
        return f"({owner}.fields.get({tree.name!r}, UNKNOWN) if {owner}.__class__ is Obj else {absent})"

    def _Keyed(self, tree: ex.Keyed) -> str:
        ask = "soft_keyed" if self.soft else "keyed"
        return f"{ask}(F, {tree.collection!r}, {self.expr(tree.key)})"

    def _Collection(self, tree: ex.Collection) -> str:
        return f"F.machine.collections[{tree.name!r}]"

    def _Item(self, tree: ex.Item) -> str:
        base = self.keep(self.expr(tree.base))
        return f"item({base}, {self.expr(tree.index)})"

    def _Slice(self, tree: ex.Slice) -> str:
        base = self.keep(self.expr(tree.base))
        start = self.keep(self.expr(tree.start)) if tree.start else "0"
        return f"range_of({base}, {start}, {self.expr(tree.stop) if tree.stop else 'None'})"

    def _Compare(self, tree: ex.Compare) -> str:
        left = self.keep(self.expr(tree.left))
        if tree.right == ex.Constant(None, ex.NULL) and tree.op in ("==", "!="):
            test = f"{left} is None" if tree.op == "==" else f"{left} is not None and {left} is not UNWRITTEN"
            return f"(({test}) if {left} is not UNKNOWN else UNKNOWN)"
        if tree.op == "in" and isinstance(tree.right, ex.Collection):
            return f"F.machine.holds({tree.right.name!r}, {left})"
        right = self.keep(self.expr(tree.right))
        if tree.op == "in":
            return f"contains({right}, {left})"
        if tree.op in ("==", "!="):
            return f"{'equal' if tree.op == '==' else 'differ'}({left}, {right})"
        rest = f"{'soft_order' if self.soft else 'order'}({tree.op!r}, {left}, {right})"
        plain = " and ".join(f"{side}.__class__ is int" for side in (left, right) if not side.isdigit()) or "True"
        return f"({left} {tree.op} {right} if {plain} else {rest})"

    def _Logic(self, tree: ex.Logic) -> str:
        """Kleene's `and` and `or`, from left to right; the rest is not asked once it cannot matter."""
        answer, decisive = self.fresh(), tree.op == "or"
        self.line(f"{answer} = {not decisive}")
        self.line("while True:")
        self.depth += 1
        for item in tree.items:
            value = self.keep(self.expr(item))
            self.line(f"if {value} is {decisive}:")
            self.line(f"    {answer} = {decisive}")
            self.line("    break")
            self.line(f"if {value} is UNKNOWN:")
            self.line(f"    {answer} = UNKNOWN")
        self.line("break")
        self.depth -= 1
        return answer

    def _Not(self, tree: ex.Not) -> str:
        value = self.keep(self.expr(tree.item))
        return f"((not {value}) if {value} is not UNKNOWN else UNKNOWN)"

    def _Arithmetic(self, tree: ex.Arithmetic) -> str:
        left = self.keep(self.expr(tree.left))
        return f"compute({tree.op!r}, {left}, {self.expr(tree.right)})"

    def _Group(self, tree: ex.Group) -> str:
        items = "".join([f"{self.keep(self.expr(item))}, " for item in tree.items])
        return f"frozenset(({items}))" if tree.type.startswith("set:") else f"({items})"

    def _Function(self, tree: ex.Function) -> str:
        if tree.name in ("tidy", "untouched"):
            out = tree.args[0]
            if not isinstance(out, ex.Out):
                raise ex.ExpressionError(f"{tree.name} asks about an output")
            rest = "".join(f", {self.expr(arg)}" for arg in tree.args[1:])
            return f"ask_{tree.name}(F, {out.name!r}{rest})"
        args = "".join([f", {self.keep(self.expr(arg))}" for arg in tree.args])
        return f"ask_{tree.name}(F{args})"

    def _New(self, tree: ex.New) -> str:
        fields = ", ".join([f"{name!r}: {self.keep(self.expr(value))}" for name, value in tree.fields])
        return f"Obj({tree.kind!r}, {{{fields}}})"

    # -- effects; `doubtful` is the source of a truth value

    def effects(self, effects: tuple[ex.Effect, ...], doubtful: str) -> None:
        """Statements for `effects`; where `doubtful` is true, what they touch becomes unknown."""
        for effect in effects:
            match effect:
                case ex.Assign():
                    self._assign(effect, doubtful)
                case ex.Act(name=name, args=args):
                    values = "".join([f", {self.keep(self.expr(arg))}" for arg in args])
                    self.line(f"act_{name}(F, {doubtful}{values})")
                case ex.Branch():
                    self._branch(effect, doubtful)
                case ex.Each():
                    self._each(effect, doubtful)

    def _assign(self, effect: ex.Assign, doubtful: str) -> None:
        value = self.keep(self.expr(effect.value))
        given = value if doubtful == "False" else f"(UNKNOWN if {doubtful} else {value})"
        match effect.target:
            case ex.Name(name=name):
                self.locals.add(name)
                self.line(f"put_local(F, {name!r}, {given})")
            case ex.Field(base=base, name=name):
                self.line(f"put({self.keep(self.expr(base))}, {name!r}, {given})")
            case ex.Slice(base=ex.Field(base=base, name=name), start=start, stop=stop):
                owner = self.keep(self.expr(base))
                first = self.keep(self.expr(start)) if start else "0"
                last = self.keep(self.expr(stop)) if stop else "None"
                self.line(f"put_range({owner}, {name!r}, {first}, {last}, {given})")
            case ex.Keyed(collection=collection, key=key):
                self.line(f"put_keyed(F, {collection!r}, {self.keep(self.expr(key))}, {given})")

    def _branch(self, effect: ex.Branch, doubtful: str) -> None:
        truth = self.keep(self.expr(effect.condition))
        unsure = self.keep(f"{doubtful} or {truth} is UNKNOWN")
        for body, excluded in ((effect.then, "False"), (effect.other, "True")):
            if body:
                self.line(f"if {truth} is not {excluded}:")
                self.depth += 1
                self.effects(body, unsure)
                self.depth -= 1

    def _each(self, effect: ex.Each, doubtful: str) -> None:
        items = self.keep(self.expr(effect.items))
        member = self.fresh()
        self.locals.add(effect.name)
        self.line(f"for {member} in {items} if isinstance({items}, tuple) else ():")
        self.depth += 1
        self.line(f"F.locals[{effect.name!r}] = {member}")
        self.effects(effect.body, doubtful)
        self.depth -= 1
