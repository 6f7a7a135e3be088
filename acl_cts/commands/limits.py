"""`acl-cts limits`."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import click

from acl_cts import __version__
from acl_cts.backends.backend import Session
from acl_cts.backends.registry import open_backend
from acl_cts.commands.options import OWN, take_options, targeting
from acl_cts.conformance.limit_probe import Choice, recipes, search_limits
from acl_cts.conformance.selection import SelectionError, suggestion
from acl_cts.conformance.support import SupportProbe
from acl_cts.limit_progress import LimitProgress
from acl_cts.reports.exit_code import ExitCode
from acl_cts.reports.limit_grid import limit_grid
from acl_cts.reports.limit_result import BROKEN, LimitResult, LimitVerdict, limit_to_json
from acl_cts.specs.loader import load_spec
from acl_cts.specs.model import Spec
from acl_cts.stdout import show

EPILOG = """\b
Examples:
  acl-cts limits                                   core and simulator side by side
  acl-cts limits --backend acl --library libascendcl.so
  acl-cts limits --limit data_area --limit chain --format json

\b
Exit codes: 0 as documented, or where the documents leave it open; 1 a limit is
exceeded, refused early or met by a crash; 4 a backend where nothing could be
measured; 2 usage. How each limit is searched: acl-cts spec show LIMIT."""


@click.command("limits", epilog=EPILOG)
@click.option("--backend", "backends", multiple=True, metavar="NAME", help="Repeatable. [default: core, simulator]")
@targeting
@click.option("--limit", "names", multiple=True, metavar="NAME", help="Only this limit, as chain. Repeatable.")
@click.option("--format", "form", default="text", type=click.Choice(["text", "json"]), help="Form of the output.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def limits(backends: tuple[str, ...], names: tuple[str, ...], form: str, quiet: bool, **given: Any) -> int:
    """Search the real edge of every documented limit: documented and measured values of each backend side by side.

    A number, a number in terms of another value, or a number of objects. A refusal that may be a lack of resources is
    no edge: then the largest value accepted is told.
    """
    options = take_options(given)
    spec = load_spec(more=options.tables)
    choice = _choice(spec, names)
    chosen = tuple(dict.fromkeys(backends or OWN))
    if options.library and len(chosen) > 1:
        raise click.UsageError("--library goes with one --backend only, as --backend acl; probe the others apart")
    found: dict[str, tuple[LimitResult, ...]] = {}
    with ExitStack() as stack:
        sessions = {name: stack.enter_context(open_backend(name, options)) for name in chosen}
        for name, session in sessions.items():
            progress = LimitProgress(name, len(recipes(spec, choice)), quiet)
            found[name] = tuple(_probed(spec, session, choice, progress))
        identities = {name: dataclasses.asdict(session.identity) for name, session in sessions.items()}
    code = _code(spec, found)
    if form == "json":
        show(json.dumps(_plain(spec, found, identities, code), ensure_ascii=False, indent=1))
    else:
        show("\n".join((*limit_grid(found), "", *_totals(found))))
    return code


def _choice(spec: Spec, names: tuple[str, ...]) -> Choice:
    """The limits called `names`, all without names. Raises SelectionError."""
    for name in names:
        if name not in spec.limits:
            hint = suggestion(name, spec.limits) or f"; there are: {', '.join(spec.limits)}"
            raise SelectionError(f"--limit: no limit is called {name!r}{hint}")
    return lambda limit, recipe: not names or limit.name in names


def _probed(spec: Spec, session: Session, choice: Choice, progress: LimitProgress) -> Iterator[LimitResult]:
    support = SupportProbe(spec, session.run, session.missing, session.capabilities).table()
    for result in search_limits(spec, session, support, choice=choice):
        progress.watch(result)
        yield result


def _code(spec: Spec, found: Mapping[str, Sequence[LimitResult]]) -> ExitCode:
    results = [result for each in found.values() for result in each]
    if any(result.verdict in BROKEN for result in results):
        return ExitCode.DISCREPANCY
    if any(_nothing_measured(spec, each) for each in found.values()):
        return ExitCode.INCOMPLETE
    return ExitCode.AS_EXPECTED


def _nothing_measured(spec: Spec, results: Sequence[LimitResult]) -> bool:
    """Whether no limit was measured although one should have been: a reserved family may not be supported."""
    if any(result.verdict is LimitVerdict.AS_DOCUMENTED for result in results):
        return False
    return any(
        result.verdict is not LimitVerdict.NOT_SUPPORTED
        or spec.families[spec.functions[result.function].family].status != "reserved"
        for result in results
    )


def _totals(found: Mapping[str, Sequence[LimitResult]]) -> Iterator[str]:
    for backend, results in found.items():
        counted = Counter(result.verdict for result in results)
        told = " · ".join(f"{counted[verdict]} {verdict}" for verdict in LimitVerdict if counted[verdict])
        yield f"{backend}: {told or 'nothing to probe'}"


def _plain(
    spec: Spec,
    found: Mapping[str, Sequence[LimitResult]],
    identities: Mapping[str, dict[str, Any]],
    code: ExitCode,
) -> dict[str, Any]:
    """Everything for machines."""
    runs = [
        {"backend": name, "identity": identities[name], "limits": [limit_to_json(result) for result in results]}
        for name, results in found.items()
    ]
    return {"version": __version__, "spec": spec.digest, "code": int(code), "runs": runs}
