"""`acl-cts executor`."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import click

from acl_cts.backends.backend import HarnessError
from acl_cts.backends.core_backend import build_core
from acl_cts.backends.native.build import FLAVOURS, build_executor, find_compiler
from acl_cts.backends.native.elf import machine
from acl_cts.backends.native.prebuilt import ask, fitting
from acl_cts.backends.native.render import interface_digest, protocol_digest, render_executor
from acl_cts.commands.options import tabled, take_tables
from acl_cts.reports.files import make_folder, write_bytes
from acl_cts.specs.loader import load_spec
from acl_cts.stdout import show

CORE = "libaclcts_core.so"

BUILD_EPILOG = """\b
Examples:
  acl-cts executor build
  acl-cts executor build --cc aarch64-linux-gnu-gcc --out executor-aarch64
  acl-cts executor build --cc 'clang --target=aarch64-linux-gnu' --core --out arm/executor

\b
Copy the result to the other machine and use it there:
  acl-cts run --backend acl --library PATH --executor executor-aarch64
An executor fits the version of acl-cts and the tables that it was built with;
any other says so before anything runs."""


@click.group("executor")
def executor() -> None:
    """Build and look at executors: the small C program that loads the library under test.

    Where there is a C compiler it is built on demand, and nothing of this is needed.
    """


@executor.command("build", short_help="Build an executor, for another machine too.", epilog=BUILD_EPILOG)
@click.option("--cc", default="", metavar="CC", help="Compiler, with its own options. [default: CC, cc, gcc or clang]")
@click.option("--flavour", default="plain", show_default=True, type=click.Choice(list(FLAVOURS)), help="Sanitizers.")
@click.option("--core", "with_core", is_flag=True, help=f"Build the C core too: {CORE}, beside the executor.")
@click.option(
    "--out",
    default="acl-cts-executor",
    show_default=True,
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="File to write.",
)
@tabled
def build(cc: str, flavour: str, with_core: bool, out: Path, **given: Any) -> None:
    """Build an executor from the tables and write it to a file.

    Only the compiler decides which machine it is for. On that machine acl-cts takes it by --executor PATH and needs no
    compiler.
    """
    if out.is_dir():
        raise click.UsageError(f"--out {out}: is a directory; name a file in it")
    if cc:
        _checked(cc)
    source = render_executor(load_spec(more=take_tables(given)).interface, flavour)
    make_folder(out.absolute().parent)
    _place(build_executor(source, flavour, cc), out)
    if with_core:
        _place(build_core(flavour, cc=cc), out.absolute().with_name(CORE))


def _checked(cc: str) -> None:
    """A compiler that was named and does not start is the user's to mend."""
    try:
        find_compiler(cc)
    except (HarnessError, ValueError) as error:
        raise click.UsageError(f"--cc: {error}") from error


def _place(built: Path, out: Path) -> None:
    write_bytes(out, built.read_bytes(), executable=True)
    show(f"{out}: {machine(out) or 'no ELF file'}, {out.stat().st_size} bytes")


@executor.command(
    "show",
    short_help="What an executor is, and whether it fits here.",
    epilog="\b\nExample:\n  acl-cts executor show ./acl-cts-executor",
)
@click.argument("path", type=click.Path(path_type=Path))
@tabled
def show_command(path: Path, **given: Any) -> None:
    """Tell what the executor at PATH is made for, and whether this acl-cts can use it. Exit code 2 when it cannot."""
    interface = load_spec(more=take_tables(given)).interface
    about = ask(path.resolve())
    show(f"machine    {about.machine}, here {platform.machine()}")
    show(f"flavour    {about.flavour}")
    show(f"protocol   {about.protocol}, here {protocol_digest()}")
    show(f"tables     {about.tables}, here {interface_digest(interface)}")
    fitting(path.resolve(), interface, "plain")
    show("fits this acl-cts")
