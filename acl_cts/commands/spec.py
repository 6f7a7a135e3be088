"""`acl-cts spec`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import click

from acl_cts.backends.backend import Options
from acl_cts.backends.registry import open_backend
from acl_cts.commands.options import tabled, take_tables
from acl_cts.commands.profiles import mustpass, profiles
from acl_cts.commands.spec_diff import diff
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.conformance.coverage import check, unexercised
from acl_cts.conformance.coverage import coverage as cases_of_clauses
from acl_cts.conformance.limit_check import limit_problems
from acl_cts.conformance.selection import SelectionError, suggestion
from acl_cts.reports.exit_code import ExitCode
from acl_cts.reports.words import counted
from acl_cts.specs.faults import SpecError
from acl_cts.specs.loader import check_tables, load_spec, seal_tables
from acl_cts.specs.model import Clause, Family, Limit, Spec
from acl_cts.specs.program_text import format_program
from acl_cts.stdout import show

LANGUAGE = click.option("--lang", default="en", show_default=True, type=click.Choice(["en", "zh"]), help="Language.")


@click.group("spec")
def spec() -> None:
    """Read the tables that state the documented contract."""


for command in (profiles, mustpass, diff):
    spec.add_command(command)


@spec.command(
    "show",
    short_help="Print what the tables say of a family, function, clause or limit.",
    epilog="""\b
Examples:
  acl-cts spec show                        every function
  acl-cts spec show mbuf                   one family and its functions
  acl-cts spec show aclrtSetBufUserData    its clauses
  acl-cts spec show mbuf.alloc.limit --lang zh
  acl-cts spec show data_area              a limit, and how its edge is found""",
)
@click.argument("name", required=False)
@LANGUAGE
@tabled
def show_command(name: str | None, lang: str, **given: Any) -> None:
    """Print what the tables say of a family, function, clause or limit; without a NAME, which functions there are."""
    tables = load_spec(more=take_tables(given))
    if name is None:
        _overview(tables)
        return
    if name in tables.clauses:
        show("\n".join(_clause(tables.clauses[name], lang)))
        return
    if name in tables.families:
        show("\n".join(_family(tables, tables.families[name], lang)))
        return
    if name in tables.limits:
        show("\n".join(_limit(tables.limits[name])))
        return
    found = [clause for clause in tables.clauses.values() if clause.function == name]
    if not found and name not in tables.interface.functions:
        known = [*tables.families, *tables.interface.functions, *tables.clauses, *tables.limits]
        hint = suggestion(name, known) or "; see `acl-cts spec show`"
        raise SelectionError(f"no family, function, clause or limit is called {name!r}{hint}")
    show("\n\n".join("\n".join(_clause(clause, lang)) for clause in found) or f"{name}: no clause")


@spec.command(
    "check",
    short_help="Check the tables and their cases (minutes).",
    epilog="""\b
Examples:
  acl-cts spec check
  acl-cts spec check --table family.yaml                      the table itself
  acl-cts spec check --table family.yaml --library PATH       and its cases""",
)
@tabled
@click.option(
    "--library",
    "libraries",
    multiple=True,
    metavar="PATH",
    help="A library that keeps the tables given with --table; further ones may answer open points otherwise.",
)
def check_command(libraries: tuple[str, ...], **given: Any) -> int:
    """Check the tables, and that the cases put every clause to the test.

    A guard needs a case on each side, a postcondition a trace that holds and a falsified one that is flagged, an open
    clause an observation, a limit a probe that its clauses agree with. Exit code 2 when something is wrong.

    With --table only those tables are checked: that they can be read and that every clause has a case; with --library
    the cases are executed too, on a library that keeps to them.
    """
    names = take_tables(given)
    check_tables(more=names)
    tables = load_spec(more=names)
    generated = cached_cases(tables)
    families = frozenset(family.name for family in tables.families.values() if family.added)
    if libraries:
        if not families:
            raise click.UsageError("--library goes with --table only; the built-in tables are checked on the simulator")
        with ExitStack() as stack:
            opened = [Options(library=library, tables=names) for library in libraries]
            first, *others = [stack.enter_context(open_backend("acl", options)) for options in opened]
            problems = check(tables, generated, first, others, families)
    elif families:
        problems = unexercised(tables, generated, families)
    else:
        with open_backend("simulator", Options()) as session, open_backend("simulator:lenient", Options()) as lenient:
            problems = check(tables, generated, session, (lenient,))
    problems = (*limit_problems(tables), *problems)
    for problem in problems:
        show(str(problem))
    if problems:
        click.echo(
            f"acl-cts: {counted(len(problems), 'problem')} in the tables or their cases",
            err=True,
        )
        return ExitCode.USAGE
    clauses = sum(not families or clause.family in families for clause in tables.clauses.values())
    number = sum(not families or case.family in families for case in generated)
    looked = "; no case was executed, --library PATH does that" if families and not libraries else ""
    show(f"tables {tables.digest[:12]}: {clauses} clauses, {number} cases, no problem found{looked}")
    return ExitCode.AS_EXPECTED


@spec.command(epilog="\b\nExample:\n  acl-cts spec coverage | sort -n | head")
@tabled
def coverage(**given: Any) -> None:
    """Print how many cases exercise each clause.

    A clause that shows 0 has no cases of its own: it is judged in every case that it applies to.
    """
    tables = load_spec(more=take_tables(given))
    for clause, number in cases_of_clauses(tables, cached_cases(tables)).items():
        show(f"{number:6}  {clause}")


@spec.command("seal", epilog="\b\nExample:\n  acl-cts spec seal && acl-cts spec check")
def seal_command() -> None:
    """Accept the tables of the suite after a change on purpose.

    Every other command refuses tables that differ from their seal, so that damage never becomes a verdict.
    """
    try:
        number = seal_tables()
    except OSError as error:
        raise SpecError(f"{error.filename}: cannot be written: {error.strerror}") from None
    show(f"{counted(number, 'table')} sealed")


@spec.command("docs-defects", epilog="\b\nExample:\n  acl-cts spec docs-defects --lang zh")
@LANGUAGE
@tabled
def docs_defects(lang: str, **given: Any) -> None:
    """Print the defects of the documents themselves."""
    for defect in load_spec(more=take_tables(given)).defects:
        show(f"{defect.id}\n    {defect.text_zh if lang == 'zh' else defect.text_en}\n    {defect.source}")


def _overview(tables: Spec) -> None:
    for family in tables.families.values():
        show(f"{family.name} ({family.status})")
        for line in _functions(tables, family):
            show(line)


def _family(tables: Spec, family: Family, lang: str) -> Iterator[str]:
    yield f"{family.name}: {family.title_zh if lang == 'zh' else family.title_en}"
    yield f"    status    {family.status}"
    yield "    functions"
    yield from (f"    {line}" for line in _functions(tables, family))
    if any(limit.family == family.name for limit in tables.limits.values()):
        yield "    limits"
    for limit in tables.limits.values():
        if limit.family == family.name:
            yield f"      {limit.name:<48} {_value(limit)}"


def _functions(tables: Spec, family: Family) -> Iterator[str]:
    for function in family.functions:
        number = sum(clause.function == function for clause in tables.clauses.values())
        yield f"  {function:<48} {counted(number, 'clause')}"


def _value(limit: Limit) -> str:
    """The limit's value, its readings, or what it is relative to, with the unit."""
    if limit.relative:
        return f"{limit.relative} ({limit.unit})"
    if len(limit.readings) == 1:
        return counted(limit.max, limit.unit)
    return " or ".join(f"{counted(value, limit.unit)} ({name})" for name, value in limit.readings.items())


def _limit(limit: Limit) -> Iterator[str]:
    yield f"{limit.name} ({limit.family})"
    yield f"    value     {_value(limit)}"
    yield f"    text      {limit.text}"
    yield f"    source    {limit.source}"
    for recipe in limit.probes:
        varied = recipe.param or "number of elements"
        bound = f"{'at least' if recipe.at_least else 'at most'} {recipe.allowed_text}"
        context = f", {recipe.context}" if recipe.context else ""
        yield f"    probe     {recipe.function}, {varied}: {bound}{context}; searched up to {recipe.most}"
        yield from (f"        |  {line}" for line in format_program(recipe.program).splitlines()[1:])


def _clause(clause: Clause, lang: str) -> Iterator[str]:
    yield f"{clause.id} ({clause.strength})"
    yield f"    function  {clause.function or 'every call'}"
    if clause.when_text:
        yield f"    when      {clause.when_text}"
    if clause.outcome:
        yield f"    outcome   {clause.outcome}"
    if clause.ensures_text:
        yield f"    ensures   {clause.ensures_text}"
    yield f"    text      {clause.text_zh if lang == 'zh' else clause.text_en}"
    yield f"    source    {clause.source}"
