"""Running again what failed: the cases of an earlier run, on the backends and in the way in which they failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from acl_cts.conformance.case import Case
from acl_cts.conformance.selection import Selection, SelectionError
from acl_cts.reports.results import RED
from acl_cts.reports.stored import read_results
from acl_cts.reports.words import counted

WAY = ("library", "device", "data_access", "executor", "call_timeout", "tables")
"""Options by which a backend is reached."""


def failed_in(folder: Path, context: click.Context) -> dict[str, Any]:
    """Options of a run of what failed in the report `folder`, those on the command line aside: `only` has the ids by
    backend. Raises ReportError when there is no report, SelectionError when nothing failed."""
    results = read_results(folder)
    failed = {run.backend: [case.id for case in run.cases if case.verdict in RED] for run in results.runs}

    def typed(name: str) -> bool:
        return context.get_parameter_source(name) is ParameterSource.COMMANDLINE

    wanted = context.params["backends"] if typed("backends") else tuple(failed)
    only = {backend: failed[backend] for backend in wanted if failed.get(backend)}
    if not only:
        where = f" on {', '.join(wanted)}" if typed("backends") else ""
        raise SelectionError(f"{folder}: no case failed there{where}, so there is nothing to run again")
    way = {name: results.options[name] for name in WAY if name in results.options and not typed(name)}
    return {**way, "backends": tuple(only), "only": only}


def narrowed(selection: Selection, only: Mapping[str, list[str]], cases: Iterable[Case]) -> Selection:
    """`selection` within the ids of `only`, where there are any; those that are no `cases` any more are told. Raises
    SelectionError when none is."""
    ids = dict.fromkeys(id for listed in only.values() for id in listed)
    gone = ids.keys() - {case.id for case in cases}
    if gone and len(gone) == len(ids):
        raise SelectionError("none of the cases that failed there is a case of this version")
    if gone:
        number = counted(len(gone), "case that failed is", "cases that failed are")
        click.echo(f"acl-cts: {number} no case of this version, as {min(gone)}", err=True)
    return replace(selection, ids=tuple(ids))
