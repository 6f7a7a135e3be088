"""Support: whether a library offers a function, decided once by the function's simplest valid call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from acl_cts.reports.results import FunctionSupport, Support
from acl_cts.specs.interface import Kind, Signature
from acl_cts.specs.model import Spec
from acl_cts.specs.program import Call, Null, Object, Program, walk
from acl_cts.specs.trace import CallRecord, Capability, End, Ptr, Trace

Execute = Callable[[Program], Trace]
"""Runs one program on the library in question."""


@dataclass(slots=True)
class SupportProbe:
    """Decides support function by function; what one needs from another is decided first."""

    spec: Spec
    execute: Execute
    missing: frozenset[str]
    capabilities: frozenset[Capability]
    _decided: dict[str, FunctionSupport] = field(default_factory=dict)

    def table(self) -> dict[str, FunctionSupport]:
        """Support of every function, in the order of the tables."""
        for function in self.spec.interface.functions:
            self.decide(function)
        return {function: self._decided[function] for function in self.spec.interface.functions}

    def decide(self, function: str) -> FunctionSupport:
        """Support of `function`; asked of the library at most once."""
        if function not in self._decided:
            # A function that needs itself (no valid table does that) must not recurse for ever.
            self._decided[function] = self._entry(function, Support.UNDECIDED, "its own handle is needed first")
            self._decided[function] = self._decide(function)
        return self._decided[function]

    def _decide(self, function: str) -> FunctionSupport:
        signature = self.spec.interface.functions[function]
        if function in self.missing:
            return self._entry(function, Support.NOT_SUPPORTED, "the library does not export it")
        if signature.auxiliary and Capability.STREAMS not in self.capabilities:
            return self._entry(function, Support.UNDECIDED, "the backend has no streams")
        programs = self.spec.simplest.get(function, ())
        for needed in dict.fromkeys(name for program in programs for name in needs(program, function)):
            other = self.decide(needed)
            if other.state is Support.NOT_SUPPORTED and not other.auxiliary:
                return self._entry(function, Support.NOT_SUPPORTED, f"needs a handle from {needed}", needed)
            if other.state is not Support.SUPPORTED:
                return self._entry(function, Support.UNDECIDED, f"no {needed} here, so its valid call cannot be made")
        return self._ask(signature, programs)

    def _ask(self, signature: Signature, programs: tuple[Program, ...]) -> FunctionSupport:
        """Not supported when every one of its simplest valid calls says so; a single argument refused says nothing."""
        refusals = []
        for program in programs:
            trace = self.execute(program)
            if trace.ending.kind is End.UNSUPPORTED and trace.ending.detail == signature.name:
                return self._entry(signature.name, Support.NOT_SUPPORTED, "the backend does not have it")
            answer = first_answer(trace, signature.name)
            if signature.auxiliary and isinstance(answer, int) and answer != 0:
                # Not judged itself: a library whose streams do not work is one without streams.
                return self._entry(signature.name, Support.UNDECIDED, f"its simplest valid call answered {answer}")
            refusal = self._refusal(signature, answer)
            if not refusal:
                return self._entry(signature.name, Support.SUPPORTED)
            refusals.append(refusal)
        return self._entry(signature.name, Support.NOT_SUPPORTED if refusals else Support.SUPPORTED, *refusals[:1])

    def _refusal(self, signature: Signature, answer: int | Ptr | None) -> str:
        """How `answer` says that the function is not supported; '' when it says something else."""
        if isinstance(answer, int) and answer in self.spec.not_supported_codes:
            return f"its simplest valid call answered {answer}"
        if answer == Ptr(0) and signature.returns is Kind.HANDLE:
            code = self._witness(signature)
            return "" if code is None else f"it returned NULL, and a call on its kind of handle answered {code}"
        return ""

    def _witness(self, maker: Signature) -> int | None:
        """The not-supported code that the witness of `maker` answers to NULL, if it does.

        NULL from a function that returns a handle says nothing of why; a function that takes an object together with
        such a handle does return a code.
        """
        handle = maker.return_ctype
        for signature in self.spec.interface.functions.values():
            kinds = {param.kind for param in signature.params}
            takes = any(param.kind is Kind.HANDLE and param.ctype == handle for param in signature.params)
            if signature.family != maker.family or not takes or kinds != {Kind.HANDLE, Kind.OBJECT}:
                continue
            if signature.name in self.missing:
                continue
            args = tuple((p.name, Object(1) if p.kind is Kind.OBJECT else Null()) for p in signature.params)
            answer = first_answer(self.execute(Program((Call(signature.name, args),))), signature.name)
            return answer if isinstance(answer, int) and answer in self.spec.not_supported_codes else None
        return None

    def _entry(self, function: str, state: Support, reason: str = "", through: str = "") -> FunctionSupport:
        signature = self.spec.interface.functions[function]
        family = self.spec.families.get(signature.family)
        return FunctionSupport(
            function=function,
            family=signature.family,
            state=state,
            reason=reason,
            through=through,
            reserved=family is not None and family.status == "reserved",
            auxiliary=signature.auxiliary,
        )


def needs(program: Program, function: str) -> tuple[str, ...]:
    """Functions that `program` calls before `function`, in order."""
    found: list[str] = []
    for statement in walk(program.body):
        if isinstance(statement, Call):
            if statement.function == function:
                break
            found.append(statement.function)
    return tuple(dict.fromkeys(found))


def first_answer(trace: Trace, function: str) -> int | Ptr | None:
    """What the first call of `function` returned; None when it did not return or was not reached."""
    for record in trace.records:
        if isinstance(record, CallRecord) and record.function == function:
            return record.ret
    return None


def unsupported(functions: frozenset[str], table: Mapping[str, FunctionSupport]) -> FunctionSupport | None:
    """The first of `functions`, in the order of the tables, that is not supported."""
    for function, entry in table.items():
        if function in functions and entry.state is Support.NOT_SUPPORTED and not entry.auxiliary:
            return entry
    return None
