"""--shard: a part of a run."""

from __future__ import annotations

from typing import Any

import click

from acl_cts.reports.shard import Shard


def checked_shard(context: click.Context, option: click.Parameter, text: str) -> str:
    """`text` when it names a shard, or is empty. Raises click.UsageError."""
    try:
        return text and f"{(shard := Shard.parse(text)).number}/{shard.of}"
    except ValueError as error:
        raise click.UsageError(f"--shard: {error}") from error


def taken_shard(given: dict[str, Any]) -> Shard | None:
    """The shard in `given`, None for a whole run. Raises click.UsageError with options that choose cases in ways that
    the other shards would not know of."""
    text = given.get("shard", "")
    for name, option in (("keyword", "-k"), ("rerun_failed", "--rerun-failed"), ("challenge", "--challenge")):
        if text and given.get(name):
            raise click.UsageError(f"--shard does not go with {option}; choose cases by --family, --case and so on")
    return Shard.parse(text) if text else None
