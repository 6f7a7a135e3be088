"""`acl-cts backends`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from acl_cts.backends.backend import BackendError, HarnessError
from acl_cts.backends.registry import backends, open_backend
from acl_cts.commands.options import OWN, take_options, targeting
from acl_cts.stdout import show

EPILOG = """\b
Examples:
  acl-cts backends
  acl-cts backends --library /usr/local/Ascend/latest/lib64/libascendcl.so"""


@click.command("backends", epilog=EPILOG)
@targeting
def backends_command(**given: Any) -> None:
    """What can be judged: each backend's name, what it is, whether it can be used here, and what it can do."""
    options = take_options(given)
    for name, backend in backends().items():
        show(f"{name:<12} {backend.summary}")
        try:
            with open_backend(name, replace(options, library="") if name in OWN else options) as session:
                capabilities = ", ".join(sorted(session.capabilities)) or "none"
        except (BackendError, HarnessError) as error:
            show(f"{'':<12} not usable here: {error}")
        else:
            show(f"{'':<12} usable; capabilities: {capabilities}")
