"""The generator: choices become a program, decision by decision, with the model at hand.

One decision is one record of choices. What it means depends on its own bytes and on the handles that live at that
point, and these are found again by a mark of their own: the nearest one counts. So a record more or less elsewhere
leaves most other decisions what they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from acl_cts.backends.backend import BackendError
from acl_cts.conformance.draft import SUBJECT
from acl_cts.conformance.scenario import asked_for
from acl_cts.fuzz.choices import ALL_NULL, COUNT, NULLS, OPERATION, SLOT, SLOTS, SOME_NULL, TAG, Choices
from acl_cts.fuzz.follower import Follower
from acl_cts.fuzz.form import Form, form_of
from acl_cts.fuzz.giving_back import givers
from acl_cts.fuzz.handles import Handle
from acl_cts.fuzz.macros import Macro, first, heavy_macros, macros, numbered
from acl_cts.fuzz.numbers import EARLIER, OUTPUT, WAYS
from acl_cts.fuzz.patterns import pattern
from acl_cts.fuzz.renaming import renamed, variables
from acl_cts.fuzz.vital import facts
from acl_cts.fuzz.weaver import Weaver, cycle, filling
from acl_cts.specs.frame import Frame
from acl_cts.specs.interface import INTEGERS, default_room
from acl_cts.specs.model import Spec
from acl_cts.specs.program import (
    Call,
    Callback,
    FailAllocation,
    Index,
    Int,
    Invoke,
    Live,
    Null,
    Object,
    Program,
    Read,
    Ref,
    Repeat,
    Statement,
    Target,
    UntilSame,
    Value,
    Write,
)
from acl_cts.specs.trace import Capability
from acl_cts.specs.values import CELL

MACRO_PRICE = 3
"""Plain decisions that must come before a program may have another macro."""

ATTEMPTS = 64
"""Attempts to meet a freed handle's value again."""

MANY, VERY_MANY = 300, 65600
"""References that 8 and 16 bits cannot count."""

SELDOM = 224
"""Marks from which on a call many times is a call very many times, where a call can be."""

LARGE = 65536
"""Bytes of an area of which there are never many."""

LOOKED_AT, READ = 2, 4096
"""Handles that a look is about at most, and bytes of an area that it reads."""

NOT_SELF = 24
"""Below this, a second handle may be the first one again."""

_SHARES = (
    ("macro", 34),
    ("probe", 18),
    ("touch", 14),
    ("again", 6),
    ("recycle", 6),
    ("invoke", 6),
    ("fail", 3),
    ("threads", 1),
    ("cycle", 1),
)
"""Of 256 operations, how many are not a plain call."""

NONE_GIVEN: Mapping[str, Handle] = {}

Operation = Callable[["Builder", Choices], None]


class Generator:
    """Makes programs for one spec and one set of capabilities. Cheap to use, not so to make: keep it.

    `without`: functions that are not there. `families`: those whose functions are called, all when empty.
    """

    def __init__(
        self,
        spec: Spec,
        capabilities: frozenset[Capability],
        *,
        without: frozenset[str] = frozenset(),
        families: frozenset[str] = frozenset(),
    ) -> None:
        self.spec = spec
        self.capabilities = capabilities
        self.first = {kind: first(spec, kind) for kind, described in spec.kinds.items() if described.states}
        self.forms = self._forms(without, families)
        self.functions = frozenset(self.forms)
        self.macros = tuple(macro for macro in macros(spec) if self._can(macro))
        self.heavy = tuple(macro for macro in heavy_macros(spec) if self._can(macro))
        self.enders = [entry for entry in givers(spec, "free") if entry[0].function.name in self.forms]
        self.locators = [form for form in self.forms.values() if form.facts.function.signature.locates]
        self.invokers = [form for form in self.forms.values() if form.functions]
        self.makers = {form.facts.made_kind: form for form in reversed(self.forms.values()) if form.facts.made}
        self.takers = [form for form in self.forms.values() if form.facts.takes]
        self.users = {
            kind: [(form, p.name) for form in self.forms.values() for _, p in form.handles if p.handle == kind]
            for kind in self.first
        }
        self.kinds = tuple(dict.fromkeys(p.handle for form in self.forms.values() for _, p in form.handles))
        self.handled = tuple(kind for kind in self.first if kind in self.kinds or kind in self.makers)
        self.probes = {k: (d.probe, variables(d.probe) - {SUBJECT}) for k, d in spec.kinds.items()}
        self.near = _counted(spec)
        self.states = tuple(macro for macro in self.macros if macro.name.startswith("state/"))
        self.fillings = [found for m in self.states if (found := filling(m)) and found[1] in self.forms]
        self.failing = bool(self.takers) and Capability.FAULT_INJECTION in self.capabilities
        self.enclosing = frozenset((Builder.threads, Builder.cycle))
        self.operations = self._operations()

    def _forms(self, without: frozenset[str], families: frozenset[str]) -> dict[str, Form]:
        """By name, the functions that can be called here: those whose handles can be made by others of them."""
        forms = {
            name: form_of(known)
            for name, known in facts(self.spec).items()
            if name not in without
            and (not families or known.function.family in families)
            and (Capability.STREAMS in self.capabilities or not known.function.auxiliary)
        }
        while True:
            lost = {kind for kind, macro in self.first.items() if not macro.functions <= forms.keys()}
            kept = {n: form for n, form in forms.items() if lost.isdisjoint(p.handle for _, p in form.handles)}
            if len(kept) == len(forms):
                return forms
            forms = kept

    def _can(self, macro: Macro) -> bool:
        """Whether all that the macro needs is there."""
        if Live() in macro.body and Capability.LIVE_COUNT not in self.capabilities:
            return False
        return macro.functions <= self.forms.keys() and asked_for(Program(macro.body)) <= self.capabilities

    def _operations(self) -> tuple[Operation, ...]:
        """What each of 256 bytes does, plain calls first; what cannot be done here gives its share to them."""
        possible = {
            "macro": bool(self.macros),
            "probe": bool(self.kinds),
            "touch": bool(self.locators) and Capability.DATA_ACCESS in self.capabilities,
            "again": True,
            "recycle": bool(self.enders),
            "invoke": bool(self.invokers),
            "fail": self.failing,
            "threads": bool(self.states) and Capability.THREAD_SAFE in self.capabilities,
            "cycle": Capability.MEMORY in self.capabilities,
        }
        special: list[Operation] = []
        for name, share in _SHARES:
            if possible[name]:
                special += [getattr(Builder, name)] * share
        plain: list[Operation] = [_calling(form) for form in self.forms.values()]
        if not plain:
            raise BackendError("nothing can be called here: no function that is there makes a handle; use acl-cts run")
        return tuple(plain[k % len(plain)] for k in range(256 - len(special))) + tuple(special)

    def times(self, form: Form, byte: int, mark: int) -> int:
        """The number of repetitions of a call that two bytes stand for, most often 1. Large ones cost as much as many
        programs, and come up accordingly."""
        for bound, count in ((240, 1), (247, 2), (250, 3), (252, 5)):
            if byte < bound:
                return count
        if byte < 254:
            return self.near[mark % len(self.near)]
        if mark >= SELDOM and form.facts.made and form.handles and not form.sized:
            return VERY_MANY
        return MANY

    def begin(self) -> Builder:
        """An empty program, to which decisions are added."""
        return Builder(self)

    def form(self, name: str) -> Form | None:
        """The form of a function, None when it is not there."""
        return self.forms.get(name)

    def program(self, source: Iterable[Choices]) -> Program:
        """The program that these decisions make; with no decision, the empty one."""
        builder = Builder(self)
        for choices in source:
            builder.decide(choices)
        return builder.finish()


def _counted(spec: Spec) -> tuple[int, ...]:
    """Numbers of repetitions around every limit that is met by building up."""
    limits = [
        number
        for limit in spec.limits.values()
        if any(not recipe.param for recipe in limit.probes)
        for number in limit.readings.values()
    ]
    near = sorted({max(2, number + delta) for number in limits if number < MANY for delta in (-1, 0, 1)})
    return tuple(near) or (MANY,)


def _calling(form: Form) -> Operation:
    def call(builder: Builder, choices: Choices) -> None:
        builder.call(form, choices)

    return call


class Builder:
    """One program in the making. `balanced`: it starts and ends with a count of what is live, where there is one."""

    __slots__ = ("_credit", "_functions", "_generator", "_last", "_numbers", "_outputs", "follower")

    def __init__(self, generator: Generator, *, balanced: bool = True) -> None:
        self._generator = generator
        self.follower = Follower(generator.spec, generator.capabilities, only=generator.functions)
        self._credit = 1
        self._last: Call | None = None
        self._numbers: list[int] = []
        self._outputs: list[Ref] = []
        self._functions: list[tuple[Ref, str]] = []
        if balanced and Capability.LIVE_COUNT in generator.capabilities:
            self.follower.body.append(Live())

    def decide(self, choices: Choices) -> None:
        """Add what one record means."""
        self._generator.operations[choices.byte(OPERATION)](self, choices)

    def finish(self) -> Program:
        """The program so far, with its clean-up."""
        return self.follower.finish() if self.follower.body != [Live()] else Program(())

    # -- plain calls

    def call(self, form: Form, choices: Choices, given: Mapping[str, Handle] = NONE_GIVEN) -> None:
        """One call of a function, or several at once; with the handles `given` by parameter, where they can be used."""
        self._credit += 1
        values: dict[str, Value] = {}
        picked = self._handles(form, choices, values, given)
        args: dict[str, Any] = dict.fromkeys(form.order, CELL)
        for name, handle in picked:
            args[name] = handle.item
        self._nulls(form, choices, values, args)
        self._numbers_of(form, choices, values, args)
        for slot, param in form.data:
            if param.name not in values:
                length = default_room(args[param.measure]) if param.measure else 8
                values[param.name] = pattern(choices.byte(_at(slot)), max(1, length))
        for slot, param in form.others:
            if param.name not in values:
                number = choices.byte(_at(slot)) % 3 + 1
                is_object = param.kind == "object"
                values[param.name] = Object(number) if is_object else Callback(number)
                args[param.name] = f"object:{number}" if is_object else f"callback:{param.ctype}:{number}"
        self._emit(form, choices, values, args, picked)

    def _emit(
        self,
        form: Form,
        choices: Choices,
        values: dict[str, Value],
        args: dict[str, Any],
        picked: list[tuple[str, Handle]],
    ) -> None:
        follower, mark = self.follower, choices.byte(TAG)
        target = None
        if form.named or form.outputs or form.functions:
            target = Target(follower.name(form.facts.made_kind or "r", mark))
        ordered = tuple((name, values[name]) for name in form.order if name in values)
        call = Call(form.name, ordered, target)
        count = self._generator.times(form, choices.byte(COUNT), mark)
        if count > 1 and self._repeated(form, call, count, args, picked):
            return
        follower.append(call, form.facts, args, mark, any(h.span is not None for _, h in picked))
        self._last = call
        if target is not None:
            self._outputs.extend(Ref(target.name, None, name) for name in form.outputs if name not in values)
            self._functions.extend((Ref(target.name, None, n), ctype) for n, ctype in form.functions if n not in values)

    def _repeated(
        self, form: Form, call: Call, count: int, args: dict[str, Any], picked: list[tuple[str, Handle]]
    ) -> bool:
        """The call once for each member of an array that it was about to take one of, or the same call many times."""
        swept = next(((name, run) for name, h in picked if (run := self._run(h))), None)
        if swept is not None:
            name, (array, low, high) = swept
            moved = tuple((n, Ref(array, Index(low, "i")) if n == name else v) for n, v in call.args)
            call, count = Call(call.function, moved, call.target), high - low
        elif form.facts.ends or (form.sized and args[form.sized] > LARGE):
            return False
        target = None if call.target is None else Target(call.target.name, Index(0, "i"))
        return self.follower.add(Repeat(count, "i", (Call(call.function, call.args, target),)))

    def _run(self, handle: Handle) -> tuple[str, int, int] | None:
        """The stretch of usable members of an array around `handle`: name, first place, one after the last."""
        if handle.ref.index is None:
            return None
        name = handle.ref.name
        spans = sorted(
            other.span or (other.ref.index.offset, other.ref.index.offset + 1)
            for other in self.follower.usable(handle.item.kind)
            if other.ref.name == name and other.ref.index is not None
        )
        own = handle.span or (handle.ref.index.offset, handle.ref.index.offset + 1)
        low, high = own
        for start, stop in spans:
            if start == high:
                high = stop
        for start, stop in reversed(spans):
            if stop == low:
                low = start
        return (name, low, high) if high - low > 1 else None

    # -- arguments

    def _handles(
        self, form: Form, choices: Choices, values: dict[str, Value], given: Mapping[str, Handle]
    ) -> list[tuple[str, Handle]]:
        picked: list[tuple[str, Handle]] = []
        for slot, param in form.handles:
            place = _at(slot)
            others = [h.item for _, h in picked if h.item.kind == param.handle]
            if others and choices.byte(place + 1) < NOT_SELF:
                others = []
            wanted = given.get(param.name)
            if wanted is not None and self.follower.tracker.usable(wanted.item):
                handle = wanted
            else:
                handle = self.pick(param.handle, choices.byte(place), others)
            values[param.name] = handle.ref
            picked.append((param.name, handle))
        return picked

    def pick(self, kind: str, mark: int, others: list[Any] | None = None) -> Handle:
        """The usable handle of `kind`, none of `others`, whose mark comes next from `mark` on; made where there is
        none."""
        there = self.follower.usable(kind)
        if others:
            there = [handle for handle in there if handle.item not in others]
        if not there:
            self.insert(self._generator.first[kind], mark)
            return self.follower.usable(kind)[-1]
        best = there[0]
        nearest = (best.mark - mark) & 255
        for handle in there:
            distance = (handle.mark - mark) & 255
            if distance < nearest:
                best, nearest = handle, distance
        return best

    def _nulls(self, form: Form, choices: Choices, values: dict[str, Value], args: dict[str, Any]) -> None:
        byte = choices.byte(NULLS)
        if byte < SOME_NULL or not form.pointers:
            return
        names = [form.pointers[(byte - SOME_NULL) % len(form.pointers)]]
        if byte == ALL_NULL:
            inputs = {param.name for _, param in (*form.handles, *form.data, *form.others)}
            names = [name for name in form.pointers if name not in inputs]
        for name in names:
            values[name] = Null()
            args[name] = None
            measure = form.facts.function.signature.param(name).measure
            if measure and choices.byte(TAG) & 1:
                values[measure] = Int(0)

    def _numbers_of(self, form: Form, choices: Choices, values: dict[str, Value], args: dict[str, Any]) -> None:
        for _, param, limits, _ in form.numbers:
            args[param.name] = limits.typical
        for slot, param, limits, measure in form.numbers:
            place = _at(slot)
            if param.name in values:
                args[param.name] = 0
                continue
            way, one, two = WAYS[choices.byte(place)], choices.byte(place + 1), choices.byte(place + 2)
            if way == OUTPUT and self._outputs and not measure and param.name != form.sized:
                values[param.name] = self._outputs[-1 - one % len(self._outputs)]
                continue
            if way == EARLIER and self._numbers:
                number = self._numbers[-1 - one % min(len(self._numbers), 16)] & ((1 << param.bits) - 1)
            else:
                number = limits.number(way, one, two, Frame(self.follower.tracker.machine, args))
            args[param.name] = number
            values[param.name] = Int(number)
            self._numbers.append(number)

    # -- other operations

    def macro(self, choices: Choices) -> None:
        """A macro, when enough plain decisions came before, and a call on what it is about; otherwise a plain call."""
        generator = self._generator
        which, function = choices.byte(SLOTS + 3 * SLOT), choices.byte(SLOTS + 3 * SLOT + 2)
        if self._credit <= 0:
            forms = [*generator.forms.values()]
            self.call(forms[function % len(forms)], choices)
            return
        self._credit -= MACRO_PRICE
        place = (which * 256 + choices.byte(SLOTS + 3 * SLOT + 1)) % len(generator.macros)
        handle = self.insert(generator.macros[place], choices.byte(TAG))
        users = generator.users.get(handle.item.kind, ()) if handle is not None else ()
        if handle is not None and users:
            form, param = users[function % len(users)]
            self.call(form, choices, {param: handle})

    def insert(self, macro: Macro, mark: int) -> Handle | None:
        """The statements of `macro`, under names that stand for nothing yet; the handle that it is about."""
        names, body = numbered(macro, mark)
        while self.follower.taken(names):
            mark += 1
            names, body = numbered(macro, mark)
        self.follower.insert(body)
        key = (f"{SUBJECT}{mark}", None)
        found = next((pool[key] for pool in self.follower.handles.values() if key in pool), None)
        return found if found is not None and self.follower.tracker.usable(found.item) else None

    def probe(self, choices: Choices) -> None:
        """Ask all about one handle."""
        kinds = self._generator.kinds
        if not kinds:
            return
        handle = self.pick(kinds[choices.byte(SLOTS) % len(kinds)], choices.byte(SLOTS + 1))
        self.ask(handle, choices.byte(TAG))

    def ask(self, handle: Handle, mark: int) -> None:
        """The questions that tell all about `handle`."""
        asked, others = self._generator.probes[handle.item.kind]
        names = {name: Ref(self.follower.name(name, mark)) for name in others}
        for statement in renamed(asked, {SUBJECT: handle.ref, **names}):
            self.follower.add(statement)

    def look(self, choices: Choices) -> None:
        """Ask all about some of the handles that there are, and read what their areas begin with: what a call did to
        another handle, or to an area, shows nowhere else."""
        generator, follower = self._generator, self.follower
        there = [handle for kind in generator.kinds for handle in follower.usable(kind) if handle.span is None]
        start, mark = choices.byte(SLOTS), choices.byte(TAG)
        for place in range(min(len(there), LOOKED_AT)):
            handle = there[(start + place) % len(there)]
            if not follower.tracker.usable(handle.item):
                continue
            self.ask(handle, mark)
            region = follower.tracker.region(handle.item)
            known = follower.key(handle.ref.name, handle.ref.index, {}) in follower.located
            size = follower.tracker.machine.size_of(region) if region is not None and known else 0
            if size and Capability.DATA_ACCESS in generator.capabilities:
                follower.add(Read(handle.ref, 0, min(size, READ)))

    def touch(self, choices: Choices) -> None:
        """Write to a data area or read from it."""
        generator, follower = self._generator, self.follower
        form = generator.locators[choices.byte(SLOTS) % len(generator.locators)]
        locates = form.facts.function.signature.locates
        kind = next(param.handle for _, param in form.handles if locates and param.name == locates.handle)
        handle = self.pick(kind, choices.byte(SLOTS + 1))
        key = follower.key(handle.ref.name, handle.ref.index, {})
        if key not in follower.located and locates is not None:
            follower.add(Call(form.name, ((locates.handle, handle.ref),)))
        region = follower.tracker.region(handle.item)
        size = follower.tracker.machine.size_of(region) if region is not None else 0
        byte, where, much = choices.byte(SLOTS + 2), choices.byte(SLOTS + 3), choices.byte(SLOTS + 4)
        length = min((size, much + 1, 8, 1)[much % 4], size)
        offset = min((0, where, size // 2, size - length)[where % 4], max(0, size - length))
        if length > 0:
            data = pattern(byte, min(length, LARGE))
            touch: Statement = Read(handle.ref, offset, length)
            if byte < 128 and not isinstance(data, Int | Null | Ref | Callback | Object):
                touch = Write(handle.ref, offset, data)  # type: ignore[arg-type]
            follower.add(touch)

    def again(self, choices: Choices) -> None:
        """The last plain call once more, or else another one."""
        if self._last is None:
            self.call(next(iter(self._generator.forms.values())), choices)
        else:
            self.follower.add(self._last)

    def recycle(self, choices: Choices) -> None:
        """Give a handle back, make new ones until one has its value again, and ask all about that one."""
        generator, follower = self._generator, self.follower
        known, param, kind = generator.enders[choices.byte(SLOTS) % len(generator.enders)]
        handle = self.pick(kind, choices.byte(SLOTS + 1))
        follower.add(Call(known.function.name, ((param, handle.ref),)))
        maker = generator.makers.get(kind)
        if maker is None or handle.ref.index is not None:
            return
        args: list[tuple[str, Value]] = [
            (p.name, self.pick(p.handle, choices.byte(_at(slot))).ref) for slot, p in maker.handles
        ]
        args += [(p.name, Int(limits.typical)) for _, p, limits, _ in maker.numbers]
        mark = choices.byte(TAG)
        array, found = follower.name("tried", mark), follower.name(kind, mark)
        call = Call(maker.name, tuple(args), Target(array))
        if follower.add(UntilSame(found, handle.ref, ATTEMPTS, call)):
            for new in follower.usable(kind)[-1:]:
                self.ask(new, mark)

    def invoke(self, choices: Choices) -> None:
        """Call a function pointer that was told."""
        generator = self._generator
        if not self._functions:
            self.call(generator.invokers[choices.byte(SLOTS) % len(generator.invokers)], choices)
        if self._functions:
            ref, ctype = self._functions[-1 - choices.byte(SLOTS + 1) % len(self._functions)]
            params = generator.spec.interface.callbacks[ctype].params
            number = choices.byte(SLOTS + 2)
            args = tuple(Int(number) if kind in INTEGERS else Object(number % 3 + 1) for kind, _ in params)
            self.follower.add(Invoke(ref, args))

    def fail(self, choices: Choices) -> None:
        """Let one of the next allocations inside the library fail, most likely one of the call that follows."""
        self.follower.add(FailAllocation(1 + choices.byte(SLOTS) % 3))
        self.call(self._generator.takers[choices.byte(SLOTS + 1) % len(self._generator.takers)], choices)

    def threads(self, choices: Choices) -> None:
        """Rounds of threads on handles of their own; questions about one, where that cannot be."""
        for rounds in Weaver(self._generator, self._alone(), choices).rounds():
            if self.follower.enclose(rounds):
                return
        self.probe(choices)

    def cycle(self, choices: Choices) -> None:
        """What gives back all that it takes, until memory is steady; questions about a handle, where that cannot be."""
        made = cycle(self._generator, self._alone(), choices)
        if made is None or not self.follower.enclose(made):
            self.probe(choices)

    def _alone(self) -> Builder:
        """A builder of what stands by itself."""
        return Builder(self._generator, balanced=False)


def _at(slot: int) -> int:
    """Place of an argument's first byte in a record."""
    return SLOTS + SLOT * (slot % 4)
