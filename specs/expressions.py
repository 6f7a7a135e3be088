"""Expressions and effects of the tables: parsed from text against a white list into a small typed tree.

The text is Python's syntax read by `ast`; nothing of it is ever evaluated as Python. `evaluate` turns the tree into
functions, other back ends can emit it in other languages. Integers are exact.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass


class ExpressionError(ValueError):
    """The text of an expression or effect is not in the language; the message says what and where."""


# ----------------------------------------------------------------------------------------------------------- types

INT, BOOL, POINTER, BYTES, NULL, ANY = "int", "bool", "pointer", "bytes", "null", "any"


def is_handle(kind: str) -> bool:
    """Whether the type is that of an object."""
    return kind.startswith("obj:")


# ----------------------------------------------------------------------------------------------------------- nodes


@dataclass(frozen=True, slots=True)
class Constant:
    """An integer, a truth value, `null` or `unknown`."""

    value: int | bool | str | None
    type: str


@dataclass(frozen=True, slots=True)
class Name:
    """A parameter's argument or a local variable of an effect."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Out:
    """What the call wrote to an output; `ret` is the return value."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Limit:
    """A documented number: `value` as resolved, `name` for people (`private_area`, `data_area.max`)."""

    name: str
    value: int
    type: str = INT


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object."""

    base: Expr
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Keyed:
    """The record that a keyed collection holds for a key."""

    collection: str
    key: Expr
    type: str


@dataclass(frozen=True, slots=True)
class Collection:
    """A keyed collection as a whole."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Item:
    """A member of a list; unknown beyond its end."""

    base: Expr
    index: Expr
    type: str


@dataclass(frozen=True, slots=True)
class Slice:
    """A range of bytes or of a list."""

    base: Expr
    start: Expr | None
    stop: Expr | None
    type: str


@dataclass(frozen=True, slots=True)
class Compare:
    """`==` `!=` `<` `<=` `>` `>=` `in`."""

    op: str
    left: Expr
    right: Expr
    type: str = BOOL


@dataclass(frozen=True, slots=True)
class Logic:
    """Three-valued `and` or `or`."""

    op: str
    items: tuple[Expr, ...]
    type: str = BOOL


@dataclass(frozen=True, slots=True)
class Not:
    """Three-valued `not`."""

    item: Expr
    type: str = BOOL


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Exact `+` `-` `*`; `+` also joins lists, `|` joins sets."""

    op: str
    left: Expr
    right: Expr
    type: str


@dataclass(frozen=True, slots=True)
class Group:
    """A set `{a, b}` or a list `[a, b]`."""

    items: tuple[Expr, ...]
    type: str


@dataclass(frozen=True, slots=True)
class Function:
    """A built-in question, see `FUNCTIONS`."""

    name: str
    args: tuple[Expr, ...]
    type: str


@dataclass(frozen=True, slots=True)
class New:
    """A new object of a kind, with all its fields."""

    kind: str
    fields: tuple[tuple[str, Expr], ...]
    type: str


Expr = (
    Constant
    | Name
    | Out
    | Limit
    | Field
    | Keyed
    | Collection
    | Item
    | Slice
    | Compare
    | Logic
    | Not
    | Arithmetic
    | Group
    | Function
    | New
)


@dataclass(frozen=True, slots=True)
class Assign:
    """`target = value`; the target is a local name, a created output, a field, a byte range of one, or a keyed
    record."""

    target: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class Act:
    """`free(x)`, `doubt(list)`, `drop(collection, key)` or `pass`."""

    name: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """`if`; where the condition is unknown, what either side touches becomes unknown."""

    condition: Expr
    then: tuple[Effect, ...]
    other: tuple[Effect, ...]


@dataclass(frozen=True, slots=True)
class Each:
    """`for name in objects`."""

    name: str
    items: Expr
    body: tuple[Effect, ...]


Effect = Assign | Act | Branch | Each

FUNCTIONS: Mapping[str, tuple[int, str]] = {
    "len": (1, INT),
    "alive": (1, BOOL),
    "unknown": (1, BOOL),
    "fresh": (2, BOOL),
    "another": (2, BOOL),
    "disjoint": (2, BOOL),
    "tidy": (1, BOOL),
    "untouched": (2, BOOL),
    "all_null": (0, BOOL),
    "callable": (1, BOOL),
    "aligned": (2, BOOL),
    "hits": (0, INT),
    "stale": (4, BOOL),
    "partial": (3, BOOL),
    "copied": (3, BOOL),
    "differs": (3, BOOL),
    "unset": (1, BOOL),
    "zero": (1, BOOL),
    "lasts": (1, "set:int"),
    "reach": (1, "list:any"),
    "values": (1, "list:any"),
    "earlier": (1, ANY),
    "unknown_bytes": (1, BYTES),
}
"""Built-in questions: number of arguments and type of the answer.

`fresh(p, kind)` p is not NULL and no certainly live object of that kind has it · `another(p, x)` p is the handle of a
live object other than x · `disjoint(area, p)` the area at p overlaps no other live one · `tidy(out.x)` untouched or
NULL · `untouched(out.x, n)` not written from byte n on · `all_null()` every output is NULL · `callable(p)` a function
of the library's own · `hits()` callbacks reached during the call · `stale(x, field, bytes, offset)` shows what an
earlier owner of the handle had · `partial(own, bytes, original)` some but not all 8-byte groups equal the original's
· `copied`, `differs` all or none of them do · `lasts(n)` {n} unless none · `reach(list)` all that is joined with it,
directly or not · `values(collection)` · `earlier(x)` the object that had the handle before.
"""


@dataclass(frozen=True, slots=True)
class Scope:
    """What names mean: types of parameters and outputs, kinds with their field types, keyed collections, limits."""

    params: Mapping[str, str]
    outs: Mapping[str, str]
    kinds: Mapping[str, Mapping[str, str]]
    collections: Mapping[str, tuple[str, str]]
    limits: Mapping[str, int]
    creates: Mapping[str, str]


# ---------------------------------------------------------------------------------------------------------- parser

_OPS: Mapping[type, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
}
_ARITHMETIC: Mapping[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.BitOr: "|"}
_ACTS: Mapping[str, int] = {"free": 1, "doubt": 1, "drop": 2}


def parse_expression(text: str, scope: Scope) -> Expr:
    """The tree of `text`. Raises ExpressionError."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"not an expression: {text!r} ({error})") from None
    return _Parser(scope).expr(tree.body)


def parse_guard(text: str, scope: Scope) -> Expr:
    """Like `parse_expression`; the value must be a truth value."""
    tree = parse_expression(text, scope)
    if tree.type not in (BOOL, ANY):
        raise ExpressionError(f"a condition is expected, not {tree.type}: {text!r}")
    return tree


def parse_effect(text: str, scope: Scope) -> tuple[Effect, ...]:
    """The statements of `text`. Raises ExpressionError."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"not an effect: {error}") from None
    return _Parser(scope).block(tree.body)


class _Parser:
    """Turns `ast` nodes into ours; everything not named here is refused."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.locals: dict[str, str] = {}

    # -- expressions

    def expr(self, node: ast.expr) -> Expr:
        method = getattr(self, "_" + type(node).__name__, None)
        if method is None:
            raise ExpressionError(f"{ast.unparse(node)!r}: {type(node).__name__} is not in the language")
        tree: Expr = method(node)
        return tree

    def _Constant(self, node: ast.Constant) -> Expr:
        if isinstance(node.value, int):
            return Constant(node.value, BOOL if isinstance(node.value, bool) else INT)
        raise ExpressionError(f"{node.value!r}: only integers are constants")

    def _Name(self, node: ast.Name) -> Expr:
        name = node.id
        fixed = {"null": (None, NULL), "unknown": ("unknown", ANY), "true": (True, BOOL), "false": (False, BOOL)}
        if name in fixed:
            return Constant(*fixed[name])
        if name == "ret":
            return Out("ret", self.scope.outs.get("ret", ANY))
        for table in (self.locals, self.scope.params):
            if name in table:
                return Name(name, table[name])
        if name in self.scope.collections:
            return Collection(name, "map:" + name)
        if name in self.scope.kinds:
            return Constant(name, "kind")
        raise ExpressionError(f"unknown name {name!r}; known are {', '.join(sorted(self.scope.params)) or 'none'}")

    def _Attribute(self, node: ast.Attribute) -> Expr:
        path = ast.unparse(node)
        if path.startswith("limits."):
            name = path.removeprefix("limits.")
            if name not in self.scope.limits:
                raise ExpressionError(f"unknown limit {name!r}; known are {', '.join(sorted(self.scope.limits))}")
            return Limit(name, self.scope.limits[name])
        if isinstance(node.value, ast.Name) and node.value.id == "out":
            if node.attr not in self.scope.outs:
                raise ExpressionError(f"unknown output {node.attr!r}; known are {', '.join(sorted(self.scope.outs))}")
            return Out(node.attr, self.scope.outs[node.attr])
        base = self.expr(node.value)
        if base.type in (ANY, "obj:any"):
            return Field(base, node.attr, ANY)
        fields = self.scope.kinds.get(base.type.removeprefix("obj:")) if is_handle(base.type) else None
        if fields is None or node.attr not in fields:
            raise ExpressionError(f"{path!r}: {base.type} has no field {node.attr!r}")
        return Field(base, node.attr, fields[node.attr])

    def _Subscript(self, node: ast.Subscript) -> Expr:
        base = self.expr(node.value)
        if isinstance(base, Collection):
            return Keyed(base.name, self.expr(node.slice), "obj:" + self.scope.collections[base.name][1])
        if isinstance(node.slice, ast.Slice):
            if base.type != BYTES and not base.type.startswith("list:"):
                raise ExpressionError(f"{ast.unparse(node)!r}: {base.type} has no ranges")
            lower, upper = node.slice.lower, node.slice.upper
            return Slice(base, self.expr(lower) if lower else None, self.expr(upper) if upper else None, base.type)
        if not base.type.startswith("list:"):
            raise ExpressionError(f"{ast.unparse(node)!r}: {base.type} has no members")
        return Item(base, self.need(node.slice, INT), "obj:" + base.type.removeprefix("list:"))

    def need(self, node: ast.expr, kind: str) -> Expr:
        """The tree of `node`, which must be of type `kind`."""
        tree = self.expr(node)
        if tree.type not in (kind, ANY):
            raise ExpressionError(f"{ast.unparse(node)!r} is {tree.type}, {kind} is expected")
        return tree

    def _Compare(self, node: ast.Compare) -> Expr:
        if len(node.ops) != 1 or type(node.ops[0]) not in _OPS:
            raise ExpressionError(f"{ast.unparse(node)!r}: one comparison at a time, of {' '.join(_OPS.values())}")
        op, left, right = _OPS[type(node.ops[0])], self.expr(node.left), self.expr(node.comparators[0])
        if op in ("<", "<=", ">", ">="):
            fits = {left.type, right.type} <= {INT, ANY}
        elif op == "in":
            fits = right.type.startswith(("set:", "map:", "list:")) or right.type == ANY
        else:
            fits = _comparable(left.type, right.type)
        if not fits:
            raise ExpressionError(f"{ast.unparse(node)!r} compares {left.type} with {right.type}")
        return Compare(op, left, right)

    def _BoolOp(self, node: ast.BoolOp) -> Expr:
        items = tuple(self.need(value, BOOL) for value in node.values)
        return Logic("and" if isinstance(node.op, ast.And) else "or", items)

    def _UnaryOp(self, node: ast.UnaryOp) -> Expr:
        if isinstance(node.op, ast.Not):
            return Not(self.need(node.operand, BOOL))
        raise ExpressionError(f"{ast.unparse(node)!r}: only `not` is in the language")

    def _BinOp(self, node: ast.BinOp) -> Expr:
        if type(node.op) not in _ARITHMETIC:
            raise ExpressionError(f"{ast.unparse(node)!r}: only + - * | are in the language")
        op, left, right = _ARITHMETIC[type(node.op)], self.expr(node.left), self.expr(node.right)
        if op == "|":
            kinds = {t for t in (left.type, right.type) if t not in ("set:any", ANY)}
            if len(kinds) > 1 or not all(t.startswith("set:") for t in kinds):
                raise ExpressionError(f"{ast.unparse(node)!r} joins {left.type} with {right.type}")
            return Arithmetic(op, left, right, kinds.pop() if kinds else "set:any")
        if op == "+" and left.type.startswith("list:"):
            return Arithmetic(op, left, right, left.type)
        if not {left.type, right.type} <= {INT, ANY}:
            raise ExpressionError(f"{ast.unparse(node)!r} computes with {left.type} and {right.type}")
        return Arithmetic(op, left, right, INT)

    def _Set(self, node: ast.Set) -> Expr:
        items = tuple(self.expr(item) for item in node.elts)
        kinds = {item.type for item in items} - {ANY, NULL}
        return Group(items, "set:" + (kinds.pop() if len(kinds) == 1 else "any"))

    def _List(self, node: ast.List) -> Expr:
        items = tuple(self.expr(item) for item in node.elts)
        kinds = {item.type.removeprefix("obj:") for item in items}
        return Group(items, "list:" + (kinds.pop() if len(kinds) == 1 else "any"))

    def _Call(self, node: ast.Call) -> Expr:
        if not isinstance(node.func, ast.Name):
            raise ExpressionError(f"{ast.unparse(node)!r}: only named functions can be asked")
        name = node.func.id
        if name in self.scope.kinds and name not in FUNCTIONS:
            return self._new(name, node)
        if name not in FUNCTIONS:
            raise ExpressionError(f"unknown function {name!r}; known are {', '.join(sorted(FUNCTIONS))}")
        count, kind = FUNCTIONS[name]
        if node.keywords or len(node.args) != count:
            raise ExpressionError(f"{ast.unparse(node)!r}: {name} takes {count} arguments")
        args: list[Expr] = []
        for place, arg in enumerate(node.args):
            if name == "stale" and place == 1 and isinstance(arg, ast.Name):
                args.append(Constant(arg.id, "field"))
            else:
                args.append(self.expr(arg))
        return Function(name, tuple(args), kind)

    def _new(self, kind: str, node: ast.Call) -> Expr:
        fields = self.scope.kinds[kind]
        given = {k.arg or "": self.expr(k.value) for k in node.keywords}
        if node.args or set(given) != set(fields):
            raise ExpressionError(f"{kind}(...) needs exactly the fields {', '.join(fields) or 'none'}")
        for name, value in given.items():
            if not _assignable(fields[name], value.type):
                raise ExpressionError(f"{kind}.{name} is {fields[name]}, not {value.type}")
        return New(kind, tuple(given.items()), "obj:" + kind)

    # -- effects

    def block(self, body: list[ast.stmt]) -> tuple[Effect, ...]:
        return tuple(effect for node in body for effect in self.statement(node))

    def statement(self, node: ast.stmt) -> tuple[Effect, ...]:
        if isinstance(node, ast.Pass):
            return ()
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            return (self._assign(node),)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            return (self._act(node.value),)
        if isinstance(node, ast.If):
            return (Branch(self.need(node.test, BOOL), self.block(node.body), self.block(node.orelse)),)
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and not node.orelse:
            items = self.expr(node.iter)
            if not items.type.startswith("list:"):
                raise ExpressionError(f"{ast.unparse(node.iter)!r} is {items.type}, a list is expected")
            self.locals[node.target.id] = "obj:" + items.type.removeprefix("list:")
            return (Each(node.target.id, items, self.block(node.body)),)
        raise ExpressionError(f"{ast.unparse(node).splitlines()[0]!r} is not in the language of effects")

    def _assign(self, node: ast.Assign) -> Effect:
        value, place = self.expr(node.value), node.targets[0]
        if isinstance(place, ast.Name):
            name = place.id
            created = self.scope.creates.get(name)
            if created is not None and value.type != "obj:" + created:
                raise ExpressionError(f"{name!r} must become a {created}, not {value.type}")
            if created is None and name in self.scope.params:
                raise ExpressionError(f"{name!r} is an argument and cannot be assigned")
            self.locals[name] = value.type
            return Assign(Name(name, value.type), value)
        target = self.expr(place)
        if not isinstance(target, Field | Slice | Keyed) or (
            isinstance(target, Slice) and not isinstance(target.base, Field)
        ):
            raise ExpressionError(f"{ast.unparse(place)!r} cannot be assigned")
        if not _assignable(target.type, value.type) and not (target.type == BYTES and value.type in (BYTES, POINTER)):
            raise ExpressionError(f"{ast.unparse(node)!r} assigns {value.type} to {target.type}")
        return Assign(target, value)

    def _act(self, node: ast.Call) -> Effect:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in _ACTS or len(node.args) != _ACTS[name] or node.keywords:
            raise ExpressionError(f"{ast.unparse(node)!r}: an effect is one of {', '.join(_ACTS)}")
        return Act(name, tuple(self.expr(arg) for arg in node.args))


def _comparable(left: str, right: str) -> bool:
    if ANY in (left, right) or left == right or "obj:any" in (left, right):
        return True
    if NULL in (left, right):
        return True
    return {left, right} <= {POINTER} or (POINTER in (left, right) and (is_handle(left) or is_handle(right)))


def _assignable(place: str, value: str) -> bool:
    if value in (ANY, place) or place == ANY:
        return True
    if value == NULL:
        return not place.startswith(("set:", "list:"))
    if place.startswith("set:") and value.startswith("set:"):
        return value == "set:any" or place == value
    if place.startswith("list:") and value.startswith("list:"):
        return value == "list:any"
    return place == POINTER and is_handle(value)


def fields_read(tree: object) -> tuple[Field | Keyed, ...]:
    """Every field and keyed record that `tree` reads, inner ones included."""
    found: list[Field | Keyed] = []
    _collect(tree, found)
    return tuple(found)


def _collect(tree: object, found: list[Field | Keyed]) -> None:
    if isinstance(tree, Field | Keyed):
        found.append(tree)
    if isinstance(tree, tuple):
        for item in tree:
            _collect(item, found)
    elif hasattr(tree, "__dataclass_fields__"):
        for name in tree.__dataclass_fields__:
            _collect(getattr(tree, name), found)
