"""Expressions and effects as C, over the values of a small runtime that knows the same three-valued logic.

What a question needs and that runtime has not is unknown there: a checker made of this may miss a fault, and sees none
where there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from acl_cts.specs import expressions as ex

ORDERS = {"<": "true, false, false", "<=": "true, true, false", ">": "false, false, true", ">=": "false, true, true"}

ASKED = {"fresh", "another", "disjoint", "aligned", "unset", "lasts", "unknown_bytes", "alive"}
"""Questions that are functions of the same name there."""


@dataclass(slots=True)
class Writer:
    """Writes the body of one C function. `params`: number of each parameter; `outs`: of those that the call writes;
    `soft`: what is asked of NULL is unknown instead of not applicable; `made`: outputs that are handles of what the
    call creates."""

    params: Mapping[str, int]
    outs: Mapping[str, int]
    soft: bool
    made: frozenset[str] = frozenset()
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    count: int = 0
    locals: set[str] = field(default_factory=set)

    def line(self, text: str) -> None:
        """One line at the current depth."""
        self.lines.append("    " * self.depth + text)

    def keep(self, text: str, ctype: str = "const value") -> str:
        """A variable that holds the value of `text`."""
        self.count += 1
        self.line(f"{ctype} v{self.count} = {text};")
        return f"v{self.count}"

    # -- expressions

    def expr(self, tree: ex.Expr) -> str:
        """The name of a variable that holds the value of `tree`; the lines that make it are written."""
        text: str = getattr(self, "_" + type(tree).__name__)(tree)
        return self.keep(text)

    @property
    def _softly(self) -> str:
        return "true" if self.soft else "false"

    def _Constant(self, tree: ex.Constant) -> str:
        if tree.type == ex.ANY or isinstance(tree.value, str):
            return "unknown"
        if tree.value is None:
            return "nothing"
        if isinstance(tree.value, bool):
            return f"truth({str(tree.value).lower()})"
        return _number(tree.value)

    def _Name(self, tree: ex.Name) -> str:
        if tree.name in self.locals:
            return f"l_{tree.name}"
        return f"call->args[{self.params[tree.name]}]" if tree.name in self.params else "unknown"

    def _Out(self, tree: ex.Out) -> str:
        if tree.name == "ret":
            return "call->ret"
        return f"call->outs[{self.outs[tree.name]}]" if tree.name in self.outs else "unknown"

    def _Limit(self, tree: ex.Limit) -> str:
        return _number(tree.value)

    def _Field(self, tree: ex.Field) -> str:
        return f"field({self.expr(tree.base)}, FIELD_{tree.name}, {self._softly})"

    def _Keyed(self, tree: ex.Keyed) -> str:
        return f"keyed(COLLECTION_{tree.collection}, {self.expr(tree.key)}, {self._softly})"

    def _Collection(self, tree: ex.Collection) -> str:
        return "unknown"

    def _Item(self, tree: ex.Item) -> str:
        return f"item({self.expr(tree.base)}, {self.expr(tree.index)})"

    def _Slice(self, tree: ex.Slice) -> str:
        base = self.expr(tree.base)
        start = self.expr(tree.start) if tree.start else "number(0)"
        return f"range({base}, {start}, {self.expr(tree.stop) if tree.stop else 'nothing'})"

    def _Compare(self, tree: ex.Compare) -> str:
        left = self.expr(tree.left)
        if tree.right == ex.Constant(None, ex.NULL) and tree.op in ("==", "!="):
            test = "== NOTHING" if tree.op == "==" else f"!= NOTHING && {left}.kind != UNWRITTEN"
            return f"{left}.kind == UNKNOWN ? unknown : truth({left}.kind {test})"
        if tree.op == "in" and isinstance(tree.right, ex.Collection):
            return f"holds(COLLECTION_{tree.right.name}, {left})"
        right = self.expr(tree.right)
        if tree.op == "in":
            return f"contains({right}, {left})"
        if tree.op in ("==", "!="):
            return f"{'same' if tree.op == '==' else 'differ'}({left}, {right})"
        return f"ordered({left}, {right}, {ORDERS[tree.op]}, {self._softly})"

    def _Logic(self, tree: ex.Logic) -> str:
        """From left to right; the rest is not asked once it cannot matter."""
        decisive = "true" if tree.op == "or" else "false"
        answer = self.keep(f"truth({'false' if tree.op == 'or' else 'true'})", "value")
        self.line("do {")
        self.depth += 1
        for item in tree.items:
            value = self.expr(item)
            self.line(f"if (is_{decisive}({value})) {{")
            self.line(f"    {answer} = {value};")
            self.line("    break;")
            self.line("}")
            self.line(f"if ({value}.kind != TRUTH)")
            self.line(f"    {answer} = unknown;")
        self.depth -= 1
        self.line("} while (false);")
        return answer

    def _Not(self, tree: ex.Not) -> str:
        return f"negated({self.expr(tree.item)})"

    def _Arithmetic(self, tree: ex.Arithmetic) -> str:
        return f"computed('{tree.op}', {self.expr(tree.left)}, {self.expr(tree.right)})"

    def _Group(self, tree: ex.Group) -> str:
        kind = "SET" if tree.type.startswith("set:") else "LIST"
        items = [self.expr(item) for item in tree.items]
        return f"group({kind}, (const value[]){{{', '.join(items) or 'nothing'}}}, {len(items)})"

    def _Function(self, tree: ex.Function) -> str:
        first = tree.args[0] if tree.args else None
        if tree.name in ("tidy", "untouched") and isinstance(first, ex.Out):
            out = self.expr(first)
            if tree.name == "tidy":
                return f"tidy({out})"
            number = self.outs.get(first.name, -1)
            return f"untouched(call, {number}, {self.expr(tree.args[1])})" if number >= 0 else "unknown"
        if tree.name == "fresh":
            kind = tree.args[1]
            known = isinstance(kind, ex.Constant) and isinstance(kind.value, str)
            return f"fresh({self.expr(tree.args[0])}, KIND_{kind.value})" if known else "unknown"  # type: ignore[union-attr]
        if tree.name == "values" and isinstance(first, ex.Collection):
            return f"values_of(COLLECTION_{first.name})"
        if tree.name == "len" and first is not None:
            return f"length({self.expr(first)}, {self._softly})"
        if tree.name == "unknown" and first is not None:
            return f"truth({self.expr(first)}.kind == UNKNOWN)"
        if tree.name == "reach" and first is not None:
            return f"reach({self.expr(first)}, FIELD_links)"
        if tree.name == "earlier" and first is not None:
            asked = self.expr(first)
            return f"{asked}.kind == OBJECT ? object_value({asked}.is.object->earlier) : nothing"
        if tree.name == "hits":
            return "number(call->hits)"
        if tree.name == "all_null":
            return "all_null(call)"
        if tree.name in ASKED:
            return f"{tree.name}({', '.join(self.expr(arg) for arg in tree.args)})"
        return "unknown"

    def _New(self, tree: ex.New) -> str:
        fields = [(name, self.expr(value)) for name, value in tree.fields]
        made = self.keep(f"object_value(new_object(KIND_{tree.kind}))")
        for name, value in fields:
            self.line(f"put({made}, FIELD_{name}, {value});")
        return made

    # -- effects; `doubtful` is the C of a truth value

    def effects(self, effects: tuple[ex.Effect, ...], doubtful: str = "false") -> None:
        """Statements for `effects`; where `doubtful` is true, what they touch becomes unknown."""
        for effect in effects:
            match effect:
                case ex.Assign():
                    self._assign(effect, doubtful)
                case ex.Act():
                    self._act(effect, doubtful)
                case ex.Branch():
                    self._branch(effect, doubtful)
                case ex.Each():
                    self._each(effect, doubtful)

    def _assign(self, effect: ex.Assign, doubtful: str) -> None:
        value = self.expr(effect.value)
        given = value if doubtful == "false" else f"({doubtful} ? unknown : {value})"
        match effect.target:
            case ex.Name(name=name):
                self.line(f"l_{name} = {given};")
                if name in self.made:
                    address = "call->ret" if name == "ret" else f"call->outs[{self.outs[name]}]"
                    self.line(f"if (l_{name}.kind == OBJECT)")
                    self.line(f"    begin(l_{name}.is.object, address_in({address}));")
            case ex.Field(base=base, name=name):
                self.line(f"put({self.expr(base)}, FIELD_{name}, {given});")
            case ex.Slice(base=ex.Field(base=base, name=name), start=start, stop=stop):
                owner = self.expr(base)
                first = self.expr(start) if start else "number(0)"
                last = self.expr(stop) if stop else "nothing"
                self.line(f"put_range({owner}, FIELD_{name}, {first}, {last}, {given});")
            case ex.Keyed(collection=collection, key=key):
                self.line(f"put_keyed(COLLECTION_{collection}, {self.expr(key)}, {given});")

    def _act(self, effect: ex.Act, doubtful: str) -> None:
        if effect.name == "free":
            self.line(f"end({self.expr(effect.args[0])}, {doubtful} ? DOUBTFUL : DEAD);")
        elif effect.name == "doubt":
            self.line(f"doubt({self.expr(effect.args[0])});")
        elif effect.name == "drop" and isinstance(effect.args[0], ex.Collection):
            self.line(f"drop(COLLECTION_{effect.args[0].name}, {self.expr(effect.args[1])}, {doubtful});")

    def _branch(self, effect: ex.Branch, doubtful: str) -> None:
        condition = self.expr(effect.condition)
        unsure = self.keep(f"{doubtful} || {condition}.kind != TRUTH", "const bool")
        for body, excluded in ((effect.then, "false"), (effect.other, "true")):
            if body:
                self.line(f"if (!is_{excluded}({condition})) {{")
                self.depth += 1
                self.effects(body, unsure)
                self.depth -= 1
                self.line("}")

    def _each(self, effect: ex.Each, doubtful: str) -> None:
        items = self.expr(effect.items)
        self.count += 1
        at = f"k{self.count}"
        self.line(f"for (uint32_t {at} = 0; {items}.kind == LIST && {at} < {items}.count; {at}++) {{")
        self.depth += 1
        self.line(f"l_{effect.name} = {items}.is.items[{at}];")
        self.effects(effect.body, doubtful)
        self.depth -= 1
        self.line("}")


def guard_body(tree: ex.Expr, params: Mapping[str, int], outs: Mapping[str, int]) -> str:
    """The body of a function that returns whether a guard holds; one that does not apply is false."""
    writer = Writer(params, outs, soft=False)
    writer.line("model.inapplicable = false;")
    answer = writer.expr(tree)
    writer.line(f"return model.inapplicable ? truth(false) : {answer};")
    return "\n".join(writer.lines)


def question_body(tree: ex.Expr, params: Mapping[str, int], outs: Mapping[str, int]) -> str:
    """The body of a function that returns the value of `tree`, unknown where it does not apply."""
    writer = Writer(params, outs, soft=True)
    writer.line(f"return {writer.expr(tree)};")
    return "\n".join(writer.lines)


def effect_body(
    effects: tuple[ex.Effect, ...], params: Mapping[str, int], outs: Mapping[str, int], made: frozenset[str]
) -> str:
    """The body of a function that carries the effects of a success out."""
    names = dict.fromkeys(_assigned(effects))
    writer = Writer(params, outs, soft=True, made=made, locals=set(names))
    for name in names:
        start = f"call->args[{params[name]}]" if name in params else "unknown"
        writer.line(f"value l_{name} = {start};")
    writer.effects(effects)
    for name in made:
        place = "made_ret" if name == "ret" else f"made[{outs[name]}]"
        if name in names:
            writer.line(f"call->{place} = l_{name};")
    return "\n".join(writer.lines)


def _assigned(effects: tuple[ex.Effect, ...]) -> list[str]:
    """Local names that get a value."""
    found: list[str] = []
    for effect in effects:
        if isinstance(effect, ex.Assign) and isinstance(effect.target, ex.Name):
            found.append(effect.target.name)
        elif isinstance(effect, ex.Branch):
            found += [*_assigned(effect.then), *_assigned(effect.other)]
        elif isinstance(effect, ex.Each):
            found += [effect.name, *_assigned(effect.body)]
    return found


def _number(value: int) -> str:
    """An integer of at most 127 bits."""
    if -(2**63) < value < 2**63:
        return f"number({value})"
    high, low = divmod(value, 2**64)
    return f"number((__int128){high} << 64 | {low}ull)"
