"""`acl-cts spec diff`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import click

from acl_cts.reports.exit_code import ExitCode
from acl_cts.reports.words import counted
from acl_cts.specs.edition_diff import Difference, edition_diff
from acl_cts.specs.loader import load_edition, load_spec
from acl_cts.specs.model import Spec
from acl_cts.stdout import show

OWN = "current"
"""What stands for the tables of the suite itself."""

WIDTH = 96
"""Columns of one side after which its text is cut; JSON has all of it."""


@click.command(
    "diff",
    short_help="What two editions of the tables state differently.",
    epilog="""\b
Examples:
  acl-cts spec diff ../older/specs current
  acl-cts spec diff mbuf-8.0.yaml mbuf-8.1.yaml --format json

\b
Exit codes: 0 they state the same, 1 they differ, 2 one of them cannot be read.""",
)
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--format", "form", default="text", type=click.Choice(["text", "json"]), help="Form of the output.")
def diff(first: str, second: str, form: str) -> int:
    """Print what B states differently from A: families, functions, clauses, limits and codes.

    A and B are folders of tables, single tables, or `current`: the tables of this suite.
    """
    before, after = _load(first), _load(second)
    found = edition_diff(before, after)
    if form == "json":
        show(json.dumps(_plain(before, after, found), ensure_ascii=False, indent=1))
    else:
        show(
            "\n".join(
                [f"tables {before.digest[:12]} and {after.digest[:12]}: {_sum(before, after, found)}", *_lines(found)]
            )
        )
    return ExitCode.DISCREPANCY if found else ExitCode.AS_EXPECTED


def _load(name: str) -> Spec:
    return load_spec() if name == OWN and not Path(name).exists() else load_edition(Path(name))


def _sum(before: Spec, after: Spec, found: tuple[Difference, ...]) -> str:
    if not found:
        same = before.digest == after.digest
        return "they state the same" + ("" if same else "; programs, probes or notation differ")
    numbers: dict[tuple[str, str], int] = {}
    for each in found:
        numbers[each.kind, each.change] = numbers.get((each.kind, each.change), 0) + 1
    plural = {"family": "families", "floor": "floor"}
    return ", ".join(
        f"{counted(number, kind, plural.get(kind, ''))} {change}" for (kind, change), number in numbers.items()
    )


def _lines(found: tuple[Difference, ...]) -> Iterator[str]:
    for each in found:
        yield f"{each.kind} {each.name}: {each.change}"
        for part, before, after in each.parts:
            if before:
                yield f"  - {part:<14} {_cut(before)}"
            if after:
                yield f"  + {part:<14} {_cut(after)}"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"


def _plain(before: Spec, after: Spec, found: tuple[Difference, ...]) -> dict[str, object]:
    parts = [
        dataclasses.asdict(each)
        | {"parts": [{"part": part, "before": old, "after": new} for part, old, new in each.parts]}
        for each in found
    ]
    return {"format": 1, "before": before.digest, "after": after.digest, "differences": parts}
