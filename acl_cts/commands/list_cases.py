"""`acl-cts list`."""

from __future__ import annotations

from typing import Any

import click

from acl_cts.backends.backend import Options
from acl_cts.commands.options import selecting, tabled, take_selection, take_tables
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.conformance.generator import case_list_hash
from acl_cts.conformance.launch import Launch
from acl_cts.conformance.plan import Plan
from acl_cts.specs.loader import load_spec
from acl_cts.stdout import show

EPILOG = """\b
Examples:
  acl-cts list --function aclrtSetBufUserData
  acl-cts list --clause mbuf.alloc.limit
  acl-cts list --case 'allocator/*' | wc -l
  acl-cts list -k 'state and not chain'
  acl-cts list --hash"""


@click.command("list", epilog=EPILOG)
@selecting
@tabled
@click.option("-k", "keyword", default="", metavar="EXPRESSION", help="pytest's expression over item names.")
@click.option("--hash", "as_hash", is_flag=True, help="Print the SHA-256 of the selected list instead.")
def list_cases(as_hash: bool, keyword: str, **given: Any) -> None:
    """Print the ids of the selected cases, one a line, in the order in which they run."""
    tables = take_tables(given)
    spec = load_spec(more=tables)
    selection = take_selection(given)
    selection.check(spec)
    chosen = selection.apply(cached_cases(spec))
    if keyword:
        # Only pytest knows what its expressions mean.
        matching = Launch(Plan(("core",), Options(tables=tables), selection), 1, keyword).collect()
        chosen = tuple(case for case in chosen if case.id in matching)
    if as_hash:
        show(case_list_hash(chosen))
        return
    for case in chosen:
        show(case.id)
