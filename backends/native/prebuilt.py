"""Prebuilt executors: what a program at a path says of itself, and whether it fits the suite that is to start it."""

from __future__ import annotations

import errno
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

from acl_cts.backends.backend import BackendError
from acl_cts.backends.native.elf import foreign
from acl_cts.backends.native.render import interface_digest, protocol_digest
from acl_cts.specs.interface import Interface

ANSWER_TIMEOUT = 60.0
"""Seconds that an executor gets to tell what it is; an emulator takes its time."""

_FIRST = "acl-cts executor"
_ANEW = "make it anew: acl-cts executor build"


@dataclass(frozen=True, slots=True)
class About:
    """What an executor says of itself. `protocol` and `tables` are digests, `machine` is as `uname -m` calls it."""

    protocol: str
    tables: str
    flavour: str
    machine: str


def ask(path: Path) -> About:
    """What the executor at `path` says of itself. Raises BackendError when it is none, or does not run here."""
    if not path.is_file():
        raise BackendError(f"no executor at {path}; check --executor PATH")
    try:
        done = subprocess.run(
            [str(path), "--about"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWER_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BackendError(f"{path} is no executor: it does not answer within {ANSWER_TIMEOUT:.0f} s") from None
    except OSError as error:
        raise BackendError(_unstartable(path, error)) from error
    lines = done.stdout.splitlines()
    if done.returncode != 0 or lines[:1] != [_FIRST]:
        said = next(iter([*done.stderr.splitlines(), *lines]), f"exit status {done.returncode}")[:200]
        raise BackendError(f"{path} is no executor of this version of acl-cts (it said: {said}); {_ANEW}")
    told = dict(line.split(" ", 1) for line in lines[1:] if " " in line)
    try:
        return About(told["protocol"], told["tables"], told["flavour"], told["machine"])
    except KeyError as error:
        raise BackendError(f"{path} was made by another version of acl-cts (it tells no {error}); {_ANEW}") from None


def fitting(path: Path, interface: Interface, flavour: str) -> About:
    """What the executor at `path` says of itself, when it can be used for these tables and with this flavour ('plain'
    takes any). Raises BackendError otherwise."""
    about = ask(path)
    if about.protocol != protocol_digest():
        raise BackendError(
            f"the executor {path} was made by another version of acl-cts "
            f"(protocol {about.protocol}, here {protocol_digest()}); {_ANEW}"
        )
    tables = interface_digest(interface)
    if about.tables != tables:
        raise BackendError(
            f"the executor {path} was made for other tables ({about.tables}, here {tables}); "
            f"{_ANEW}, with the same --table"
        )
    if flavour not in ("plain", about.flavour):
        raise BackendError(f"the executor {path} is of flavour {about.flavour}; {_ANEW} --flavour {flavour}")
    return about


def _unstartable(path: Path, error: OSError) -> str:
    if other := foreign(path):
        return (
            f"the executor {path} {other}; build one for {platform.machine()}, "
            "or pass a script that starts it in an emulator"
        )
    if error.errno == errno.EACCES:
        return f"{path} is not executable; use chmod +x, or check --executor PATH"
    if error.errno == errno.ENOENT:
        return f"the executor {path} does not start: what loads it is not on this machine; build it for this system"
    return f"{path} is no executor ({error.strerror}); check --executor PATH"
