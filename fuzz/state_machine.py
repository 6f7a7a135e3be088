"""A Hypothesis state machine made from the tables: a rule for each function, a bundle for each kind of handle.

    TestLibrary = machine(spec, session).TestCase

Steps only write a program; it is executed and judged when the machine is torn down, so that a library that dies takes
no step with it. What Hypothesis prints besides the program are the steps that wrote it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, multiple, rule

from acl_cts.backends.backend import Session
from acl_cts.fuzz.check import check
from acl_cts.fuzz.choices import RECORD, Record
from acl_cts.fuzz.form import Form
from acl_cts.fuzz.generator import Builder, Generator
from acl_cts.fuzz.handles import Handle
from acl_cts.specs.model import Spec

RECORDS = st.lists(st.integers(0, 255), max_size=RECORD).map(bytes).map(Record)
"""Everything of a call but its handles."""


def machine(
    spec: Spec,
    session: Session,
    *,
    without: frozenset[str] = frozenset(),
    families: frozenset[str] = frozenset(),
    keep: Path | None = None,
) -> type[RuleBasedStateMachine]:
    """A state machine class that puts the backend behind `session` to the test.

    A failing example raises NonconformingError with the program and the command that runs it again. `without`,
    `families`: as for a generator. `keep`: a folder for failing programs.
    """
    generator = Generator(spec, session.capabilities, without=without | session.missing, families=families)
    bundles: dict[str, Bundle[Handle]] = {kind: Bundle(kind) for kind in generator.handled}

    class Machine(RuleBasedStateMachine):
        """Writes a program step by step."""

        def __init__(self) -> None:
            super().__init__()
            self.builder = generator.begin()

        def teardown(self) -> None:
            """Execute and judge what the steps wrote."""
            check(spec, session, self.builder.finish(), keep)

    members: dict[str, Any] = {f"of_{kind}": bundle for kind, bundle in bundles.items()}
    for form in generator.forms.values():
        members[form.name] = _rule(form, bundles)
    for name in ("probe", "touch", "invoke", "macro"):
        if getattr(Builder, name) in generator.operations:
            members[f"then_{name}"] = _operation(name)
    return type("Machine", (Machine,), members)


def _rule(form: Form, bundles: dict[str, Bundle[Handle]]) -> Any:
    """A rule that calls one function, with handles from the bundles."""
    handles: dict[str, Any] = {param.name: bundles[param.handle] for _, param in form.handles}
    kind = form.answers

    def step(self: Any, record: Record, **given: Handle) -> Any:
        builder: Builder = self.builder
        before = {handle.item for handle in builder.follower.handles[kind].values()} if kind else set()
        builder.call(form, record, given)
        if not kind:
            return None
        made = [handle for handle in builder.follower.usable(kind) if handle.item not in before]
        return multiple(*made)

    step.__name__ = step.__qualname__ = form.name
    decorate: Any = rule(target=bundles[kind], record=RECORDS, **handles) if kind else rule(record=RECORDS, **handles)
    return decorate(step)


def _operation(name: str) -> Any:
    """A rule that does what a generator does besides plain calls."""
    act: Callable[[Builder, Record], None] = getattr(Builder, name)

    def step(self: Any, record: Record) -> None:
        act(self.builder, record)

    step.__name__ = step.__qualname__ = f"then_{name}"
    return rule(record=RECORDS)(step)
