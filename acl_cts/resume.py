"""Going on with a run that was cut off: with its own options, on the same library, or not at all."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from acl_cts import __version__
from acl_cts.conformance.case_cache import cached_cases
from acl_cts.conformance.generator import case_list_hash
from acl_cts.conformance.journal import JournalError, Past, Story
from acl_cts.reports.results import BackendRun
from acl_cts.specs.model import Spec

FREE = frozenset({"resume", "out", "max_time", "quiet", "verbose", "form"})
"""Options that may be given anew."""

SAME = ("sha256", "build_id")
"""What tells one build of a library from another."""


def options_of(past: Past, context: click.Context) -> dict[str, Any]:
    """The options with which the run goes on. Raises JournalError or click.UsageError when it cannot."""
    if past.finished:
        raise JournalError("that run is finished, there is nothing to go on with; start anew without --resume")
    for option in context.command.params:
        name = option.name or ""
        if name not in FREE and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--resume goes on with the options of that run; leave out {option.opts[0]}")
    return {name: value for name, value in past.given.items() if name not in FREE}


def check_same(past: Past, spec: Spec) -> None:
    """Raise JournalError when the run was begun by another version, or with other tables or cases."""
    if (past.begun.version, past.begun.spec) != (__version__, spec.digest):
        raise JournalError(
            f"that run was begun by version {past.begun.version} with tables {past.begun.spec[:12]}, this is version "
            f"{__version__} with tables {spec.digest[:12]}; start anew without --resume"
        )
    hashes = {story.collected.case_list for story in past.stories.values() if story.collected}
    if hashes - {case_list_hash(cached_cases(spec))}:
        raise JournalError("that run has other cases than this version makes; start anew without --resume")


def check_opened(story: Story, looked: BackendRun) -> None:
    """Raise JournalError when `looked` is not the library that was being judged."""
    if story.opened is None or looked.trouble:
        return
    for name in SAME:
        before, now = story.opened.identity.get(name, ""), looked.identity.get(name, "")
        if before != now:
            raise JournalError(
                f"{looked.backend}: the library has {name} {str(now)[:12]}, that run judged {str(before)[:12]}; "
                "start anew without --resume"
            )
