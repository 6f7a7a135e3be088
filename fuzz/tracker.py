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
    being followed with fewer iterations than it has. `lenient`: only this one world counts, as others are followed
    elsewhere.
    """

    __slots__ = ("_fresh", "_groups", "_run", "doubtful", "lenient", "machine", "shortened")

    def __init__(self, spec: Spec) -> None:
        self._run = Execution.of(spec, _EMPTY)
        self.machine = self._run.machine
        self._groups: dict[Obj, Group] = {}
        self._fresh = 1
        self.doubtful = False
        self.shortened = False
        self.lenient = False

    def usable(self, item: object) -> bool:
        """Whether `item` is a handle that is certainly alive, whatever was answered."""
        if self.lenient:
            return isinstance(item, Obj) and item.alive is not False
        if not isinstance(item, Obj) or item.alive is not True:
            return False
        group = self._groups.get(item)
        return group is None or not group.dead

    def settled(self, item: Obj) -> bool:
        """Whether it is the same in all worlds what `item` is."""
        group = self._groups.get(item)
        return self.lenient or group is None or not group.blurred

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

    def call(
        self, facts: Facts, args: dict[str, Any], reuse: Ptr | None = None, *, certainly: bool = False
    ) -> tuple[Outcome, dict[str, Obj]]:
        """Follow a call on usable handles; what it must do, and the objects that its outputs then name.

        `reuse`: the new handle has this value. `certainly`: follow it only if it must succeed. Only for vital
        functions; others change nothing here.
        """
        frame = Frame(self.machine, args)
        outcome = _classify(facts, frame)
        if certainly and outcome is not Outcome.SUCCESS:
            return outcome, {}
        group = self._joined([args[name] for name in facts.inputs if args[name] is not None])
        if not group.blurred:
            group.blurred = (
                outcome is Outcome.OPEN
                or self.doubtful
                or (self.shortened and facts.entangles)
                or (facts.takes and self._run.scarce(facts.rules, frame))
            )
        if group.blurred and facts.ends:
            group.dead = True
        elif outcome is Outcome.ERROR:
            return outcome, {}
        return outcome, self._succeed(facts, frame, group, reuse)

    def _succeed(self, facts: Facts, frame: Frame, group: Group, reuse: Ptr | None) -> dict[str, Obj]:
        made = facts.made
        frame.ret = 0
        if made:
            if frame.args.get(made, True) is None:
                return {}
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
            item = named[made] = frame.locals[made]
            group.members.append(item)
            self._groups[item] = group
        return named

    def _joined(self, items: list[Obj]) -> Group:
        """The one group of `items` from here on, a new one without any."""
        if not items:
            return Group()
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


def _classify(facts: Facts, frame: Frame) -> Outcome:
    """What a call on usable handles must do; of open points it is not said which."""
    outcome = Outcome.SUCCESS
    for when in facts.errors:
        truth = when(frame)
        if truth is True:
            return Outcome.ERROR
        if truth is UNKNOWN:
            outcome = Outcome.OPEN
    if outcome is Outcome.SUCCESS:
        for when in facts.opens:
            if when(frame) is not False:
                return Outcome.OPEN
    return outcome
