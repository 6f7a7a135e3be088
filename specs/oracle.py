"""The oracle: from tables, program and trace alone, which clauses held, were violated, or are open.

It follows the answers of the library, surprising ones too: a violated clause is one root cause, and what later
answers about the same objects look wrong is put down to it (blocked) instead of being counted again. It never knows
which backend answered.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, get_args

from acl_cts.specs.answer_text import answer_text, call_text, short
from acl_cts.specs.execution import ATTEMPT, Binding, Execution, Judged, Outcome, UnsetError
from acl_cts.specs.fork import fingerprint, forget, fork
from acl_cts.specs.frame import Frame
from acl_cts.specs.growth import growing, leaked
from acl_cts.specs.interface import Kind
from acl_cts.specs.interleavings import Interleaver, TooManyError
from acl_cts.specs.judgement import Finding, Judgement, Observation, Strength, Verdict
from acl_cts.specs.ledger import Ledger, inconsistent
from acl_cts.specs.model import Clause, Spec
from acl_cts.specs.program import (
    Call,
    Exit,
    FailAllocation,
    Invoke,
    Parallel,
    Program,
    Read,
    Ref,
    Repeat,
    Statement,
    Steady,
    UntilSame,
    Write,
    counts,
    size,
)
from acl_cts.specs.rules import FunctionRules, Rule
from acl_cts.specs.trace import (
    CallRecord,
    Capability,
    End,
    Ending,
    InvokeRecord,
    LiveRecord,
    MemoryRecord,
    Phase,
    Ptr,
    Record,
    SameRecord,
    SkipRecord,
    TouchRecord,
    Trace,
    callback_result,
)
from acl_cts.specs.values import CELL, UNKNOWN, Obj, equal, normalise
from acl_cts.specs.written import compare_read, compose, kept

EXPLICIT_REPEATS = 3
"""Identical iterations that are judged one by one before the rest is taken to be alike."""


Watch = Callable[[FunctionRules, Frame, Judged], None]
"""Is shown every call, and what it was judged to be, before what it changes is followed."""


def judge(spec: Spec, program: Program, trace: Trace, watch: Watch | None = None) -> Judgement:
    """What the documents say of `trace`, the answer to `program`. A pure function: a stored trace gets the verdict that
    it got when it was made. `watch` sees every call, changes nothing and keeps no frame."""
    first = _Judge(spec, program, trace, watch)
    try:
        return _in_any_order(first, program) if first.threads else first.run()
    finally:
        first.machine.forget()


class _Stop(Exception):
    """Nothing after this record can be judged."""


class _Called(NamedTuple):
    """A call made: its function, whether it was refused, whether an injected fault fired in it."""

    function: str
    failed: bool
    fault_fired: bool


_THREADS = "common.threads"
"""The clause that calls made at the same time put to the test."""


def _in_any_order(first: _Judge, program: Program) -> Judgement:
    """The judgement of a program with threads: as for one order of their calls that explains what they answered."""

    def unexplained(before: _Judge, after: _Judge, record: Record) -> None:
        after.unexplained(before.faults, record)

    trace = first.trace
    interleaver = Interleaver[_Judge](program, trace.ending, _moved, unexplained)
    try:
        last = interleaver.run(first, trace.records)
    except TooManyError:
        return Judgement(
            Verdict.INCONCLUSIVE, reason="the threads' calls can have come in more orders than are followed"
        )
    except (KeyError, IndexError, UnsetError) as error:
        return _unfitting(error)
    if interleaver.blocks_met and not last.faults:
        last.explained()
    return last.finish()


def _unfitting(error: Exception) -> Judgement:
    return Judgement(Verdict.ERROR, reason=f"the trace does not fit the program: {error!r}")


class _Judge:
    """Goes through the records of one trace in order."""

    def __init__(self, spec: Spec, program: Program, trace: Trace, watch: Watch | None) -> None:
        self.spec = spec
        self.trace = trace
        self.run_of = Execution.of(spec, program)
        self.machine = self.run_of.machine
        self.ledger = Ledger()
        self.robust = Capability.ROBUST_HANDLES in trace.capabilities
        self.lives: dict[tuple[Any, ...], tuple[LiveRecord, int, bool]] = {}
        self.steady: dict[int, tuple[Any, ...] | None] = {}
        self.settles: frozenset[Hashable] = frozenset()
        self.threads = any(isinstance(statement, Parallel) for statement in self.run_of.statements)
        self.called: list[_Called] = []
        self.watch = watch

    # ------------------------------------------------------------------------------------------------ the walk

    def run(self) -> Judgement:
        """Judge all records, then the ending."""
        try:
            self.follow(self.trace.records)
        except (KeyError, IndexError, UnsetError) as error:
            return _unfitting(error)
        return self.finish()

    def finish(self) -> Judgement:
        """Judge the ending, after all records."""
        self._ending()
        return self._judgement()

    # ----------------------------------------------------------------------------------------- one order among several

    def follow(self, records: Sequence[Record]) -> bool:
        """Judge the next records; False when nothing after them can be judged."""
        try:
            self._records(tuple(records))
        except _Stop:
            return False
        return True

    def fork(self) -> _Judge:
        """A copy that goes its own way."""
        other = copy.copy(self)
        other.run_of = fork(self.run_of)
        other.machine = other.run_of.machine
        other.ledger = self.ledger.fork()
        other.lives = dict(self.lives)
        other.steady = dict(self.steady)
        other.called = [*self.called]
        return other

    def recall(self, earlier: _Judge) -> _Judge:
        """This one's state, with what both have noted."""
        other = copy.copy(self)
        other.ledger = self.ledger.fork()
        other.ledger.add(earlier.ledger)
        other.lives = dict(self.lives)
        other.steady = dict(self.steady)
        other.called = [*self.called]
        return other

    def forget(self, names: frozenset[str]) -> _Judge:
        """A copy without these names."""
        other = self.fork()
        forget(other.run_of, names)
        return other

    @property
    def faults(self) -> int:
        """Discrepancies so far."""
        return len(self.ledger.discrepancies)

    @property
    def blame(self) -> int:
        """Findings that are no discrepancies."""
        return len(self.ledger.blocked) + len(self.ledger.notes)

    def state(self) -> Hashable:
        """What the judgement of all that is still to come depends on."""
        lives = frozenset((summary, record.step, record.loops) for summary, (record, _, _) in self.lives.items())
        steady = frozenset(self.steady.items())
        return fingerprint(self.run_of), lives, steady, self.settles, self.ledger.kept, self.ledger.leak, self.faults

    def explained(self) -> None:
        """Some order explains every block."""
        self.ledger.held.add(_THREADS)

    def unexplained(self, before: int, record: Record) -> None:
        """No order explains a block; of what the nearest one then breaks at `record`, only this is told."""
        clause = self.spec.clauses[_THREADS]
        broken = self.ledger.discrepancies[before:]
        del self.ledger.discrepancies[before:]
        observed = "no order of the calls explains the answers"
        if broken:
            observed += f"; the nearest one breaks {broken[0].clause}: {broken[0].observed}"
        self.ledger.discrepancies.append(self._finding(clause, record, observed, ""))

    def _records(self, records: tuple[Record, ...]) -> None:
        for place, record in enumerate(records):
            if isinstance(record, SameRecord):
                self._same(record, records[:place])
            else:
                self._record(record)

    def _record(self, record: Record) -> None:
        statement = self.run_of.statements[record.step]
        counters = self.run_of.counters(record.step, record.loops)
        if isinstance(record, CallRecord) and isinstance(statement, Call):
            self._call(record, statement, counters)
            return
        match record, statement:
            case SkipRecord(), _:
                self._skip(record, statement)
            case TouchRecord(), Write() | Read():
                self._touch(record, statement, counters)
            case InvokeRecord(), Invoke():
                self._invoke(record, statement, counters)
            case LiveRecord(), _:
                self._live(record)
            case MemoryRecord(), Steady():
                self._memory(record, statement)
            case _:
                raise KeyError(f"record of step {record.step} is not one of {type(statement).__name__}")

    def _same(self, record: SameRecord, before: tuple[Record, ...]) -> None:
        """Judge the last iteration again for each further one, until nothing changes any more."""
        depth = len(record.loops)
        block: list[Record] = []
        iteration = None
        repeat = self.run_of.statements[record.step]
        inside = range(record.step + 1, record.step + size(repeat))
        for earlier in reversed(before):
            if earlier.step not in inside or earlier.loops[:depth] != record.loops:
                break
            if iteration is not None and earlier.loops[depth] != iteration:
                break
            iteration = earlier.loops[depth]
            block.append(earlier)
        block.reverse()
        if iteration is None:
            return
        alike = isinstance(repeat, Repeat) and not counts(repeat)
        for k in range(1, record.count + 1):
            state = self._progress() if alike else ()
            for old in block:
                self._again(old, (*old.loops[:depth], iteration + k, *old.loops[depth + 1 :]), block)
            if alike and k >= EXPLICIT_REPEATS and self._progress() == state:
                return

    def _again(self, old: Record, loops: tuple[int, ...], block: list[Record]) -> None:
        if isinstance(old, SameRecord):
            self._same(_moved(old, loops), tuple(_moved(r, (*loops, *r.loops[len(loops) :])) for r in block))
        else:
            self._record(_moved(old, loops))

    def _progress(self) -> tuple[Any, ...]:
        """What tells whether one more identical iteration would change anything."""
        ledger, machine = self.ledger, self.machine
        found = len(ledger.discrepancies) + len(ledger.blocked) + len(ledger.notes) + len(ledger.observations)
        unknown = sum(1 for item in machine.objects if item.alive is UNKNOWN)
        sizes = tuple(len(c) for c in machine.collections.values())
        return found, machine.live_objects, machine.live_bytes, unknown, sizes

    # ------------------------------------------------------------------------------------------------- one call

    def _call(self, record: CallRecord, call: Call, counters: dict[str, int]) -> None:
        rules = self.run_of.rules.functions[record.function]
        frame = self.run_of.frame(call, counters)
        pointers = frame.pointers = self.trace.pointers
        for name, value in record.outs:
            frame.outs[name] = value if value.__class__ is int else normalise(value, pointers)
        frame.hits = len(record.hits)
        frame.ret = record.ret if record.ret.__class__ is int else normalise(record.ret, pointers)
        failed = frame.ret is None if rules.by_handle else frame.ret != 0
        self.called.append(_Called(record.function, failed, record.fault_fired))
        self.ledger.fault_fired |= record.fault_fired
        judged = self.run_of.classify(rules, frame)
        if self.watch is not None:
            self.watch(rules, frame, judged)
        if judged.outcome is Outcome.UNDEFINED:
            self._undefined(record, rules, judged, failed)
            return
        objects = self.run_of.handles(rules, frame)
        if record.breaches:
            self._breached(record, objects)
        else:
            self.ledger.held.add("common.caller-memory")
        if failed:
            self._failed(record, rules, frame, judged, objects)
        else:
            self._succeeded(record, call, rules, frame, judged, objects, counters)
        if self.ledger.discrepancies:
            self._spread(objects)

    def _breached(self, record: CallRecord, objects: list[Obj]) -> None:
        for breach in record.breaches:
            where = f"{breach.param}{breach.offset:+d}"
            self._violated(self.spec.clauses["common.caller-memory"], record, objects, f"memory at {where} was written")

    def _undefined(self, record: CallRecord, rules: FunctionRules, judged: Judged, failed: bool) -> None:
        if not self.robust or not judged.certain:
            self.ledger.stopped = f"undefined call of {record.function}"
            raise _Stop
        clause = self.spec.clauses["common.robust-refusal"]
        if rules.function.tolerant:
            return
        if failed:
            self.ledger.held.add(clause.id)
        else:
            self._violated(clause, record, [], self._answer(clause, record))
            raise _Stop

    def _failed(
        self, record: CallRecord, rules: FunctionRules, frame: Frame, judged: Judged, objects: list[Obj]
    ) -> None:
        if record.fault_fired:
            self.ledger.held.add("common.fault-clean")
        elif judged.outcome is Outcome.SUCCESS:
            if self.run_of.scarce(rules, frame):
                self.ledger.scarce = f"{record.function} answered {record.ret}: resources may be short"
            else:
                rule = judged.rules[0] if judged.rules else None
                clause = rule.clause if rule else rules.function.clauses[-1]
                self._violated(clause, record, objects, self._answer(clause, record))
        elif judged.outcome is Outcome.OPEN:
            if not self.run_of.scarce(rules, frame):  # a lack of resources is no answer at an open point
                self._open(record, judged, frame, "refused")
        else:
            self.ledger.held.update(rule.clause.id for rule in judged.rules)
            self._code_class(record, rules, judged)
        self._posts(record, rules, frame, objects, "refusal")
        self.ledger.kept = True
        if record.fault_fired:
            for item in self._with_regions(objects):
                item.pending.update(dict.fromkeys(item.fields, "common.fault-clean"))
        for rule in rules.keeps:
            kept = "common.fault-clean" if record.fault_fired else rule.clause.id
            for owner, name in rule.keeps(frame):
                if isinstance(owner, Obj):
                    owner.pending[str(name)] = kept
                else:
                    self.machine.pending[owner, id(name)] = kept

    def _succeeded(
        self,
        record: CallRecord,
        call: Call,
        rules: FunctionRules,
        frame: Frame,
        judged: Judged,
        objects: list[Obj],
        counters: dict[str, int],
    ) -> None:
        found = len(self.ledger.discrepancies)
        if judged.outcome is Outcome.ERROR:
            clause = judged.rules[0].clause
            self._violated(clause, record, objects, self._answer(clause, record))
        elif judged.outcome is Outcome.OPEN:
            self._open(record, judged, frame, "accepted")
        else:
            if judged.rules:
                self.ledger.held.update([rule.clause.id for rule in judged.rules])
            self.ledger.succeeded.add(record.function)
        self._posts(record, rules, frame, objects, "success")
        bound = self.run_of.succeed(call, rules, frame, counters)
        made = [item for item in bound.outs.values() if item.__class__ is Obj] if bound.outs else []
        if len(self.ledger.discrepancies) > found:
            self._taint(self.ledger.discrepancies[-1].clause, made)
        if made:
            objects.extend([item for item in made if item not in objects])
        before = self.run_of.statements[record.step - 1]
        if isinstance(before, UntilSame):
            self._repeat_of(before, bound, counters, record)
        takes = rules.function.takes
        granted = frame.args[takes.size] if takes and takes.size else 0
        if isinstance(granted, int) and granted > self.ledger.granted:
            self.ledger.granted = granted

    def _repeat_of(self, until: UntilSame, bound: Binding, counters: dict[str, int], record: CallRecord) -> None:
        """An attempt of a `until` block: bind `name[k]`, and `found` when the handle has come again."""
        target = until.call.target
        if target is not None:
            self.run_of.bindings.pop(self.run_of.key(target.name, target.index, counters), None)
            self.run_of.bindings[target.name, counters[ATTEMPT]] = bound
        like = self.run_of.binding(until.like, counters).principal
        made = bound.principal
        if isinstance(made, Obj) and isinstance(like, Obj) and set(made.addresses) & set(like.addresses):
            self.run_of.bindings[until.found, None] = bound

    # ------------------------------------------------------------------------------------------ parts of a call

    def _open(self, record: CallRecord, judged: Judged, frame: Frame, answer: str) -> None:
        key = record.function + "(" + ", ".join(f"{n}={short(v)}" for n, v in frame.args.items() if v is not CELL) + ")"
        for rule in judged.rules[:1]:
            self.ledger.held.add(rule.clause.id)
            self._observe(rule.clause, answer, record.step, key)

    def _observe(self, clause: Clause, answer: str, step: int, key: str) -> None:
        known = (clause.id, answer, key)
        if clause.consistent and known in self.ledger.observations:
            self.ledger.held.add("common.same-answer")
        self.ledger.observations.setdefault(known, Observation(clause.id, answer, step, key))

    def _code_class(self, record: CallRecord, rules: FunctionRules, judged: Judged) -> None:
        clause = self.spec.clauses["common.code-class"]
        code = record.ret
        if not isinstance(code, int) or rules.function.signature.returns is Kind.HANDLE:
            return
        ranges = [r for rule in judged.rules for r in self.spec.code_classes[rule.clause.refusal]]
        if any(low <= code <= high for low, high in ranges):
            self.ledger.held.add(clause.id)
        else:
            self._note(clause, record, self._answer(clause, record), f"a code for: {judged.rules[0].clause.text_en}")

    def _posts(self, record: CallRecord, rules: FunctionRules, frame: Frame, objects: list[Obj], outcome: str) -> None:
        posts = rules.after[outcome]
        for number, truth in posts.ask(frame):
            rule = posts.rules[number]
            if truth is True:
                self.ledger.held.add(rule.clause.id)
                if self.ledger.kept:
                    self._held(rule, frame)
            elif truth is False:
                self._broken(rule, record, frame, objects)
            if rule.observe and truth is not False and outcome == "success":
                self._answers(rule, record, frame)

    def _answers(self, rule: Rule, record: CallRecord, frame: Frame) -> None:
        for label, term in rule.observe:
            if term(frame) is True:
                self._observe(rule.clause, label, record.step, "" if rule.clause.consistent else record.function)
                if rule.ensures is None:
                    self.ledger.held.add(rule.clause.id)
                return

    def _held(self, rule: Rule, frame: Frame) -> None:
        """A postcondition is true: so is what an earlier refused call had to keep, as far as it speaks of that."""
        for owner, name in rule.reads(frame):
            pending = self._pop_pending(owner, name)
            if pending:
                self.ledger.held.add(pending)

    def _pop_pending(self, owner: Obj | str, name: str | Obj) -> str:
        if isinstance(owner, Obj):
            return owner.pending.pop(str(name), "")
        return self.machine.pending.pop((owner, id(name)), "")

    def _broken(self, rule: Rule, record: CallRecord, frame: Frame, objects: list[Obj]) -> None:
        """A postcondition is false: put it down to a refused call that should have kept this state, if there was
        one."""
        clause = rule.clause
        observed = self._answer(clause, record)
        if clause.strength is Strength.ADVISORY:
            self._note(clause, record, observed)
            return
        related = [owner for owner, _ in rule.reads(frame) if isinstance(owner, Obj)]
        for owner, name in rule.reads(frame):
            pending = self._pop_pending(owner, name)
            if pending:
                clause = self.spec.clauses[pending]
        self._violated(clause, record, [*objects, *related], observed)

    # ------------------------------------------------------------------------------------------------- findings

    def _violated(self, clause: Clause, record: Record, objects: Iterable[Obj], observed: str) -> None:
        objects = list(objects)
        if clause.strength is Strength.ADVISORY:
            self._note(clause, record, observed)
            return
        root = next((item.taint for item in self._with_regions(objects) if item.taint), "") or self._same_call(record)
        finding = self._finding(clause, record, observed, root)
        if root:
            self.ledger.blocked.append(finding)
        else:
            self.ledger.discrepancies.append(finding)
        self._taint(root or clause.id, objects)

    def _same_call(self, record: Record) -> str:
        """The headline that this very call already has, if any: one call has one."""
        last = self.ledger.discrepancies[-1] if self.ledger.discrepancies else None
        return last.clause if last and (last.step, last.loops) == (record.step, record.loops) else ""

    def _note(self, clause: Clause, record: Record, observed: str, expected: str = "") -> None:
        if not any(note.clause == clause.id for note in self.ledger.notes):
            self.ledger.notes.append(self._finding(clause, record, observed, "", expected))

    def _finding(self, clause: Clause, record: Record, observed: str, root: str, expected: str = "") -> Finding:
        statement = self.run_of.statements[record.step]
        function = statement.function if isinstance(statement, Call) else clause.function
        return Finding(
            clause.id, clause.strength, function, record.step, record.loops, expected or clause.text_en, observed, root
        )

    def _taint(self, root: str, objects: Iterable[Obj]) -> None:
        for item in self._with_regions(objects):
            item.taint = item.taint or root

    def _with_regions(self, objects: Iterable[Obj]) -> list[Obj]:
        found: list[Obj] = []
        for item in objects:
            found.append(item)
            region = self.machine.region_of(item)
            if region is not None:
                found.append(region)
        return found

    def _spread(self, objects: list[Obj]) -> None:
        """What takes part in a call with a tainted object is tainted too."""
        if len(objects) > 1 or (objects and self.machine.region_of(objects[0]) is not None):
            root = next((item.taint for item in self._with_regions(objects) if item.taint), "")
            if root:
                self._taint(root, objects)

    def _answer(self, clause: Clause, record: CallRecord) -> str:
        """The answer of a call in one plain line. Notes are counted by it, so theirs leaves the arguments out."""
        statement = self.run_of.statements[record.step]
        called = record.function
        if isinstance(statement, Call) and clause.strength is not Strength.ADVISORY:
            called = call_text(statement, self.run_of.counters(record.step, record.loops))
        return answer_text(called, record, self.trace.pointers)

    # ---------------------------------------------------------------------------------------------- other records

    def _skip(self, record: SkipRecord, statement: Statement) -> None:
        if record.reason == "not-repeated":
            self.ledger.missed = "not reached: the handle value did not come again"
        elif record.reason == "unavailable" and not isinstance(statement, Call):
            self.ledger.observations.setdefault(
                ("", "unavailable", str(record.step)), Observation("", "unavailable", record.step, "live count")
            )

    def _touch(self, record: TouchRecord, statement: Write | Read, counters: dict[str, int]) -> None:
        key = self.run_of.key(statement.ref.name, statement.ref.index, counters)
        if key not in self.run_of.located and self.ledger.discrepancies:
            self.ledger.stopped = "a data area that the documents know nothing of was touched"
            raise _Stop
        region = self.run_of.located[key]
        kind = self.spec.kinds[region.kind].region
        if kind is None or self.machine.region_alive(region) is not True:
            self.ledger.stopped = "a data area of unknown life was touched"
            raise _Stop
        if self.run_of.outside(region, statement):
            self.ledger.stopped = "memory beyond a data area was touched"
            raise _Stop
        if record.error:
            what = "written" if isinstance(statement, Write) else "read"
            self._violated(self.spec.clauses[kind.usable], record, [region], f"cannot be {what}: {record.error}")
            return
        self.ledger.held.add(kind.usable)
        if isinstance(statement, Write):
            region.writes.append((statement.offset, kept(statement)))
            return
        known = compose(region.writes, statement.offset, statement.length)
        if not region.writes and record.data:
            self._observe(self.spec.clauses[kind.fresh], "other" if any(record.data) else "zero", record.step, "")
            self.ledger.held.add(kind.fresh)
        clause = self.spec.clauses[kind.content_clause(region.fields)]
        verdict, observed = compare_read(known, record)
        if verdict is False:
            self._violated(clause, record, [region], observed)
        elif verdict is True:
            self.ledger.held.add(clause.id)

    def _invoke(self, record: InvokeRecord, statement: Invoke, counters: dict[str, int]) -> None:
        ref = statement.function
        bound = self.run_of.binding(Ref(ref.name, ref.index), counters)
        name = ref.field or ""
        pointer = bound.outs.get(name, UNKNOWN)
        invokes = self.spec.functions[bound.function].invokes
        if name not in invokes or not isinstance(pointer, str) or not pointer.startswith("callback:") or record.error:
            return
        clause = self.spec.clauses[invokes[name]]
        _, ctype, number = pointer.split(":")
        callback = self.spec.interface.callbacks[ctype]
        args = [self.run_of.value(v, Kind.OBJECT, "", counters) for v in statement.args]
        expected = self._call_back(ctype, int(number), args)
        hits = [(h.ctype, h.number, tuple(normalise(a, self.trace.pointers) for a in h.args)) for h in record.hits]
        right = bool(hits) and (int(number) == 4 or len(hits) == 1)
        right = right and hits[0][:2] == (ctype, int(number)) and len(hits[0][2]) == len(args)
        right = right and all(equal(given, wanted) is True for given, wanted in zip(hits[0][2], args, strict=True))
        ret = normalise(record.ret, self.trace.pointers)
        if right and callback.returns != "void":
            right = isinstance(ret, Ptr) and self.trace.pointers[ret.id].raw == expected
        if right:
            self.ledger.held.add(clause.id)
        else:
            reached = "; ".join(f"{c} {n} with {', '.join(map(short, a))}" for c, n, a in hits) or "no callback"
            self._violated(clause, record, [], f"{name} reached {reached}, returned {short(ret)}")

    def _call_back(self, ctype: str, number: int, args: list[Any]) -> int:
        place = self.spec.interface.callbacks[ctype].measure
        size = args[place] if place is not None and place < len(args) else 0
        return callback_result(ctype, number, size if isinstance(size, int) else 0)

    def _live(self, record: LiveRecord) -> None:
        summary = self.machine.summary() or self._settled(record)
        if summary is None:
            return
        orphaned = self.machine.orphaned()
        before = self.lives.setdefault(summary, (record, len(self.called), orphaned))
        if before[0] is record:
            return
        since = self.called[before[1] :]
        self.lives[summary] = (record, len(self.called), orphaned)
        clause = self._balance_clause(since)
        if clause is None:
            return
        if _counted(record) == _counted(before[0]) and record.lost <= before[0].lost:
            self.ledger.held.add(clause.id)
            return
        if (orphaned or before[2]) and record.lost <= before[0].lost:
            return
        observed = (
            "memory was lost: nothing points at it any more, and it was not given back"
            if record.lost > before[0].lost
            else f"{record.objects} objects and {record.bytes} bytes live where {before[0].objects} and "
            f"{before[0].bytes} were before, with the same buffers and descriptions alive"
        )
        if self.ledger.leak:
            self.ledger.blocked.append(self._finding(clause, record, observed, self.ledger.leak))
        else:
            self._violated(clause, record, [], observed)
            self.ledger.leak = clause.id

    def _memory(self, record: MemoryRecord, steady: Steady) -> None:
        """What is held over many turns, each of which gives back all that it takes."""
        if not record.samples:
            self.steady[record.step] = self.machine.summary()
            return
        before, clause = self.steady.pop(record.step, None), self._balance_clause(self.called)
        if before is None or before != self.machine.summary() or clause is None:
            return
        observed = leaked(record.samples)
        if observed and self.ledger.leak:
            self.ledger.blocked.append(self._finding(clause, record, observed, self.ledger.leak))
        elif observed:
            self._violated(clause, record, [], f"{observed}, with the same objects alive as before")
            self.ledger.leak = clause.id
        elif record.samples[-1].turns < steady.at_least:
            return
        elif growing(record.samples):
            last = record.samples[-1]
            self.ledger.scarce = (
                f"memory still grew when measuring ended: {last.host} bytes more after {last.turns} turns may be kept "
                "for later use"
            )
        else:
            self.ledger.held.add(clause.id)

    def _settled(self, record: LiveRecord) -> tuple[Any, ...] | None:
        """What a count means while something's life is unknown. Back at the count from before those objects, they are
        gone; once a library has shown that it gives objects back in the very situation of each of these, a higher count
        is a leak. Otherwise None."""
        certain = self.machine.certain()
        before = self.lives.get(certain)
        if before is None or before[2] or self.machine.orphaned():
            return None
        unsure = [each for each in self.machine.objects if each.alive is UNKNOWN]
        if _counted(record) == _counted(before[0]):
            self.settles |= {each.doubt for each in unsure}
            for item in unsure:
                self.machine.end(item, False)
        return certain if all(each.doubt in self.settles for each in unsure) else None

    def _balance_clause(self, called: list[_Called]) -> Clause | None:
        """The clause that a difference breaks: of an injected fault, of what gave something back, or else the family's:
        with the same objects alive as before nothing may have changed, whatever was called."""
        if any(each.fault_fired for each in called):
            return self.spec.clauses["common.fault-clean"]
        names = [each.function for each in called]
        if names:
            names.extend(self.spec.families[self.spec.functions[names[0]].family].functions)
        return next((c for name in names for c in self.spec.functions[name].clauses if c.balance), None)

    # ------------------------------------------------------------------------------------------------ the ending

    def _ending(self) -> None:
        ending = self.trace.ending
        if ending.kind is End.RACE:
            self._race(ending)
        if ending.kind not in (End.CRASH, End.EXIT, End.TIMEOUT) or self.ledger.stopped:
            return
        statement = self.run_of.statements[ending.step] if ending.step is not None else None
        if ending.kind is End.EXIT and isinstance(statement, Exit):
            if ending.detail in ("", "0"):
                self.ledger.held.add("common.clean-exit")
                return
            clause = "common.clean-exit"
        elif isinstance(statement, Exit):
            clause = "common.clean-exit" if ending.kind is End.CRASH else "common.no-hang"
        else:
            clause = {End.CRASH: "common.no-crash", End.EXIT: "common.no-exit", End.TIMEOUT: "common.no-hang"}[
                ending.kind
            ]
        if isinstance(statement, Call) and not self._defined(statement, ending.loops):
            self.ledger.stopped = f"undefined call of {statement.function}"
            return
        what = {End.CRASH: "crashed", End.EXIT: "ended the process", End.TIMEOUT: "did not return"}[ending.kind]
        where = ending.function or (ending.phase.value if ending.phase else "the program")
        if isinstance(statement, Call) and ending.phase is Phase.CALL and ending.function == statement.function:
            where = call_text(statement, self.run_of.counters(ending.step or 0, ending.loops))
        objects = self._involved(statement, ending.loops)
        root = next((item.taint for item in self._with_regions(objects) if item.taint), "")
        self.ledger.discrepancies.append(
            Finding(
                clause,
                self.spec.clauses[clause].strength,
                ending.function,
                ending.step or 0,
                ending.loops,
                self.spec.clauses[clause].text_en,
                f"{where} {what}" + (f": {ending.detail}" if ending.detail else ""),
                root,
            )
        )

    def _race(self, ending: Ending) -> None:
        """What a thread sanitizer saw is told as it is: no order of calls excuses it."""
        clause = self.spec.clauses[_THREADS]
        where = ending.function or "the program"
        observed = f"{where} met a race: {ending.detail}"
        step = ending.step or 0
        self.ledger.discrepancies.append(
            Finding(clause.id, clause.strength, ending.function, step, ending.loops, clause.text_en, observed)
        )

    def _defined(self, call: Call, loops: tuple[int, ...]) -> bool:
        try:
            frame = self.run_of.frame(call, self.run_of.counters(self.trace.ending.step or 0, loops))
        except (UnsetError, KeyError):
            return True
        judged = self.run_of.classify(self.run_of.rules.functions[call.function], frame)
        return judged.outcome is not Outcome.UNDEFINED or (self.robust and judged.certain)

    def _involved(self, statement: Statement | None, loops: tuple[int, ...]) -> list[Obj]:
        if not isinstance(statement, Call):
            return []
        try:
            frame = self.run_of.frame(statement, self.run_of.counters(self.trace.ending.step or 0, loops))
        except (UnsetError, KeyError):
            return []
        return self.run_of.handles(self.run_of.rules.functions[statement.function], frame)

    def _judgement(self) -> Judgement:
        ledger, ending = self.ledger, self.trace.ending
        verdict, reason = self._verdict()
        if ending.kind is End.COMPLETED and not ledger.discrepancies:
            ledger.held.update(("common.no-crash", "common.no-hang", "common.no-exit"))
        notes = [*ledger.notes, *inconsistent(self.spec, ledger.observations.values())]
        return Judgement(
            verdict,
            tuple(ledger.discrepancies),
            tuple(ledger.blocked),
            tuple(notes),
            tuple(o for o in ledger.observations.values() if o.clause),
            frozenset(ledger.held),
            frozenset(ledger.succeeded),
            reason,
            ledger.granted,
        )

    def _verdict(self) -> tuple[Verdict, str]:
        ledger, ending = self.ledger, self.trace.ending
        if ending.kind is End.ERROR:
            return Verdict.ERROR, ending.detail
        if ending.kind is End.UNSUPPORTED:
            return Verdict.NOT_RUN, f"the backend has no {ending.detail}"
        if ledger.discrepancies:
            last = ledger.discrepancies[-1]
            if last.clause in ("common.no-crash", "common.no-exit", "common.clean-exit"):
                return Verdict.CRASH, last.observed
            if last.clause == "common.no-hang":
                return Verdict.TIMEOUT, last.observed
            leaks = bool(ledger.leak) and len(ledger.discrepancies) == 1
            return (Verdict.LEAK if leaks else Verdict.FAIL), ledger.discrepancies[0].observed
        if ledger.stopped:
            return Verdict.NOT_RUN, f"not judged: {ledger.stopped}"
        if ledger.missed:
            return Verdict.NOT_RUN, ledger.missed
        if not ledger.fault_fired and any(isinstance(s, FailAllocation) and s.nth for s in self.run_of.statements):
            return Verdict.NOT_RUN, "not reached: the injected fault never fired"
        if ledger.scarce:
            return Verdict.INCONCLUSIVE, ledger.scarce
        return Verdict.PASS, ""


# ----------------------------------------------------------------------------------------------------- plain helpers


def _counted(record: LiveRecord) -> tuple[int, int]:
    return record.objects, record.bytes


def _moved(record: Any, loops: tuple[int, ...]) -> Any:
    """The same record in another iteration."""
    kind = type(record)
    return kind(record.step, loops, *[getattr(record, name) for name in _REST[kind]])


_REST = {kind: tuple(kind.__dataclass_fields__)[2:] for kind in get_args(Record)}
"""By type of record, its fields after `step` and `loops`."""
