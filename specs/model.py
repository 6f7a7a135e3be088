"""The loaded tables: families, functions, clauses, limits, and the interface that follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from acl_cts.specs.expressions import Effect, Expr
from acl_cts.specs.interface import Interface, Signature
from acl_cts.specs.judgement import Strength
from acl_cts.specs.program import Program, Statement, Value
from acl_cts.specs.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Source:
    """Where a statement stands: document, section of it, edition of the text."""

    document: str
    section: str
    edition: str

    def __str__(self) -> str:
        return f"{self.document}, {self.section} ({self.edition})"


@dataclass(frozen=True, slots=True)
class Clause:
    """One documented statement.

    `outcome`: `error`, `open` or `success` for a guard, `note-open` for an open point that decides no outcome, '' for
    a postcondition. `on`: after which outcome `ensures` must hold: `success`, `refusal` or `any`. `keeps`: state that
    a refused call must not change. `observe`: named answers at an open point. `consistent`: the same question should
    get the same answer throughout a run. `refusal`: class of codes that suits a refusal. `touch`, `balance`,
    `invoke`: put to the test by data access, by live counts, by calling a returned function.
    """

    id: str
    family: str
    function: str
    strength: Strength
    source: Source
    text_en: str
    text_zh: str
    outcome: str = ""
    when_text: str = ""
    when: Expr | None = None
    ensures_text: str = ""
    ensures: Expr | None = None
    on: str = "success"
    keeps: tuple[Expr, ...] = ()
    observe: tuple[tuple[str, Expr], ...] = ()
    consistent: bool = False
    refusal: str = "parameter"
    unobservable: str = ""
    touch: str = ""
    balance: bool = False
    invoke: bool = False
    line: int = 0


@dataclass(frozen=True, slots=True)
class Takes:
    """What a call takes when it succeeds: `objects`, and the bytes named by parameter `size` ('' = none)."""

    objects: int
    size: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    """One function: its signature, its clauses, what a success does to the state, and how to call it simply.

    `creates`, `aliases`, `invokes`: by output (`ret` for the return value): kind of the new handle, the existing
    object that it names, the clause that a call through it puts to the test. `simplest`: valid programs that decide
    whether it is supported. `typical`: an argument that makes a valid call; `setups`: statements that make the second
    handle. `tolerant`: what it answers to a handle that is no longer alive is open even where handles are robust.
    """

    name: str
    family: str
    summary: str
    signature: Signature
    clauses: tuple[Clause, ...]
    effect_text: str
    effect: tuple[Effect, ...]
    creates: Mapping[str, str]
    aliases: Mapping[str, Expr]
    invokes: Mapping[str, str]
    takes: Takes | None
    simplest: tuple[Program, ...]
    typical: Mapping[str, Value]
    setups: Mapping[str, tuple[Statement, ...]]
    auxiliary: bool = False
    tolerant: bool = False


@dataclass(frozen=True, slots=True)
class RegionKind:
    """How a kind describes memory, and the clauses that touching it puts to the test.

    `special`: pairs of a field and a clause; the first field that is true names the clause that a wrong content
    breaks, in place of `content`. `fresh`: the open clause about what nobody wrote.
    """

    base: str
    size: str
    usable: str
    content: str
    fresh: str
    special: tuple[tuple[str, str], ...]

    def content_clause(self, fields: Mapping[str, object]) -> str:
        """Id of the clause that the content of a region with these fields puts to the test."""
        return next((clause for name, clause in self.special if fields.get(name) is True), self.content)


@dataclass(frozen=True, slots=True)
class HandleKind:
    """A kind of object. `states`: named ways to bring a handle, called `x`, into a state; `probe` asks all about it.

    `samples`, `pairs`, `sums`, `sweeps`: states that stand for the others where trying all would say the same again,
    where ordered pairs of functions are called, where sums meet their limit, and where small limits are tried densely.
    """

    name: str
    family: str
    ctype: str
    fields: Mapping[str, str]
    holds: str
    region: RegionKind | None
    states: Mapping[str, Program]
    probe: tuple[Statement, ...]
    samples: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    sums: tuple[str, ...] = ()
    sweeps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limit:
    """A documented number: its readings by name (one when there is only one way to read it), unit and source.

    `relative`: the limit in terms of a call, in place of readings. `probes`: how its real edge is found.
    """

    name: str
    family: str
    readings: Mapping[str, int]
    unit: str
    source: Source
    text: str
    relative: str = ""
    probes: tuple[Recipe, ...] = ()

    @property
    def max(self) -> int:
        """The highest reading."""
        return max(self.readings.values())

    @property
    def min(self) -> int:
        """The lowest reading."""
        return min(self.readings.values())


@dataclass(frozen=True, slots=True)
class DocumentDefect:
    """A fault of the documents themselves."""

    id: str
    text_en: str
    text_zh: str
    source: Source


@dataclass(frozen=True, slots=True)
class Family:
    """One table. `status`: `documented`, or `reserved`: not supported may be answered as expected. `added`: asked for
    besides the tables that are always there. `programs`: cases that no rule derives, by name."""

    name: str
    status: str
    title_en: str
    title_zh: str
    functions: tuple[str, ...]
    added: bool = False
    programs: tuple[tuple[str, Program], ...] = ()


@dataclass(frozen=True, slots=True)
class Floor:
    """At or below all of these a refusal is never a lack of resources: one allocation in bytes, live bytes, live
    objects."""

    allocation: int
    live_bytes: int
    live_objects: int


@dataclass(frozen=True, slots=True)
class Spec:
    """All tables together."""

    families: Mapping[str, Family]
    functions: Mapping[str, Function]
    kinds: Mapping[str, HandleKind]
    collections: Mapping[str, tuple[str, str, Mapping[str, str]]]
    clauses: Mapping[str, Clause]
    limits: Mapping[str, Limit]
    defects: tuple[DocumentDefect, ...]
    interface: Interface
    codes: Mapping[int, tuple[str, str]]
    code_classes: Mapping[str, tuple[tuple[int, int], ...]]
    floor: Floor
    digest: str

    @property
    def not_supported_codes(self) -> frozenset[int]:
        """Codes that say: this function is not supported."""
        return frozenset(code for code, (kind, _) in self.codes.items() if kind == "not-supported")

    @property
    def simplest(self) -> Mapping[str, tuple[Program, ...]]:
        """By function, its simplest valid programs; one that succeeds shows that it is supported."""
        return {name: function.simplest for name, function in self.functions.items()}
