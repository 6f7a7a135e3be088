"""The tracker: lifetimes of handles while a program grows, in every world of the model at once, at the price of one.

The model is followed in the world in which everything that is open is accepted. That world ends the most lives, but two
things can be otherwise elsewhere: what a later call is (refused here, carried out there), and which object an alias
names. So objects that came into touch with each other form a group, and a group in which answers may differ is
*blurred*: as soon as anything of it is given back, no handle of the group is used any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from acl_cts.fuzz.vital import Facts
from acl_cts.specs.execution import Execution, Outcome
from acl_cts.specs.frame import Frame
from acl_cts.specs.model import Spec
from acl_cts.specs.program import Program
from acl_cts.specs.trace import Ptr
from acl_cts.specs.values import UNKNOWN, Obj


@dataclass(slots=True, eq=False)
class Group:
    """Objects that came into touch. `blurred`: worlds may differ in what became of them. `dead`: none is used again."""

    members: list[Obj] = field(default_factory=list)
    blurred: bool = False
    dead: bool = False


class Tracker:
    """Lifetimes in one growing program.

    `doubtful`: from here on any call may be refused, or is carried out in some worlds only. `shortened`: a repeat is
    being followed with fewer iterations than it has.
    """

    __slots__ = ("_fresh", "_groups", "_run", "doubtful", "machine", "shortened")

    def __init__(self, spec: Spec) -> None:
        self._run = Execution.of(spec, _EMPTY)
        self.machine = self._run.machine
        self._groups: dict[Obj, Group] = {}
        self._fresh = 1
        self.doubtful = False
        self.shortened = False

    def usable(self, item: object) -> bool:
        """Whether `item` is a handle that is certainly alive, whatever was answered."""
        if not isinstance(item, Obj) or item.alive is not True:
            return False
        group = self._groups.get(item)
        return group is None or not group.dead

    def settled(self, item: Obj) -> bool:
        """Whether it is the same in all worlds what `item` is."""
        group = self._groups.get(item)
        return group is None or not group.blurred

    def region(self, item: Obj) -> Obj | None:
        """The region that a handle refers to."""
        return self.machine.region_of(item)

    def blur(self) -> None:
        """Nothing so far is certainly the same in all worlds: a statement was followed and then left out in part."""
        for group in self._groups.values():
            group.blurred = True

    def touchable(self, region: Obj) -> bool:
        """Whether the memory of `region` is certainly there."""
        return any(self.machine.region_of(item) is region and self.usable(item) for item in self.machine.objects)

    def outcome(self, facts: Facts, args: dict[str, Any]) -> Outcome:
        """What a call on usable handles must do; of open points it is not said which."""
        return self._classify(facts, Frame(self.machine, args))

    def _classify(self, facts: Facts, frame: Frame) -> Outcome:
        rules, unsure = facts.rules, False
        for rule in rules.errors:
            truth = rule.when(frame)
            if truth is True:
                return Outcome.ERROR
            unsure = unsure or truth is UNKNOWN
        if unsure or any(rule.when(frame) is not False for rule in rules.opens):
            return Outcome.OPEN
        return Outcome.SUCCESS

    def call(self, facts: Facts, args: dict[str, Any], reuse: Ptr | None = None) -> tuple[Outcome, dict[str, Obj]]:
        """Follow a call on usable handles; what it must do, and the objects that its outputs then name.

        `reuse`: the new handle has this value. Only for vital functions; others change nothing here.
        """
        frame = Frame(self.machine, args)
        outcome = self._classify(facts, frame)
        inputs = [args[name] for name, _ in facts.rules.inputs if args[name] is not None]
        group = self._joined(inputs) if inputs else Group()
        group.blurred = group.blurred or self._differs(facts, frame, outcome)
        if outcome is Outcome.ERROR and not (group.blurred and facts.ends):
            return outcome, {}
        if facts.ends and group.blurred:
            group.dead = True
        return outcome, self._succeed(facts, frame, group, reuse)

    def _differs(self, facts: Facts, frame: Frame, outcome: Outcome) -> bool:
        """Whether the call may be accepted in one world and refused in another."""
        if self.doubtful or outcome is Outcome.OPEN or (self.shortened and facts.entangles):
            return True
        return facts.rules.function.takes is not None and self._run.scarce(facts.rules, frame)

    def _succeed(self, facts: Facts, frame: Frame, group: Group, reuse: Ptr | None) -> dict[str, Obj]:
        made = facts.made
        if made and frame.args.get(made, True) is None:
            return {}
        frame.ret = 0
        if made:
            self._fresh += 1
            address = reuse or Ptr(self._fresh)
            frame.addresses[made] = address
            if made == "ret":
                frame.ret = address
            else:
                frame.outs[made] = address
        named: dict[str, Obj] = {}
        for name, _, term in facts.rules.aliases:
            expected = term(frame)
            if isinstance(expected, Obj) and frame.args[name] is not None:
                named[name] = expected
                frame.outs[name] = expected.addresses[0] if expected.addresses else None
        facts.rules.effect(frame)
        if made:
            item = frame.locals[made]
            named[made] = item
            group.members.append(item)
            self._groups[item] = group
        return named

    def _joined(self, items: list[Obj]) -> Group:
        """The one group of `items` from here on."""
        first = self._groups[items[0]]
        for item in items[1:]:
            other = self._groups[item]
            if other is not first:
                first.members.extend(other.members)
                first.blurred = first.blurred or other.blurred
                first.dead = first.dead or other.dead
                for member in other.members:
                    self._groups[member] = first
        return first


_EMPTY = Program(())
