"""What a vendor's installation tells of itself: versions of driver, firmware and toolkit, the state of the devices, and
the logs that its runtime wrote."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from acl_cts.backends.acl.discovery import HOMES

DRIVER = Path("/usr/local/Ascend")
"""Where the vendor's driver and firmware are installed unless somebody chose another place."""

VERSIONS = ("driver/version.info", "firmware/version.info")
TOOLKIT = ("version.cfg", "version.info", "runtime/version.info")
LOGS = "ASCEND_PROCESS_LOG_PATH"
"""Environment variable with the folder of the runtime's logs."""

TOOL = "npu-smi"
TOOL_TIMEOUT = 20.0
"""Seconds that the vendor's tool may take."""

LARGEST = 2**20
"""Bytes that are kept of the start of one version file or listing."""


@dataclass(frozen=True, slots=True)
class Told:
    """One text that the installation gave: a `name` for it, and the bytes."""

    name: str
    content: bytes


def versions(environment: Mapping[str, str], driver: Path = DRIVER) -> Iterator[Told]:
    """The version files that there are."""
    for name in VERSIONS:
        yield from _file(name.replace("/", "-"), driver / name)
    for variable in HOMES:
        if home := environment.get(variable):
            for name in TOOLKIT:
                yield from _file(f"toolkit-{name.replace('/', '-')}", Path(home) / name)
            return


def devices(environment: Mapping[str, str]) -> Iterator[Told]:
    """What the vendor's tool says of the devices, where there is such a tool; why not, where it does not answer."""
    tool = shutil.which(TOOL, path=environment.get("PATH"))
    if tool is None:
        return
    try:
        done = subprocess.run([tool, "info"], capture_output=True, timeout=TOOL_TIMEOUT, check=False)
        content = done.stdout + done.stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        content = f"{tool} info: {error}\n".encode()
    yield Told(f"{TOOL}-info.txt", content[:LARGEST])


def log_folder(environment: Mapping[str, str]) -> Path | None:
    """The folder in which the runtime leaves its logs, when there is one."""
    named = environment.get(LOGS, "")
    home = environment.get("HOME", "")
    folder = Path(named) if named else Path(home) / "ascend" / "log" if home else None
    return folder if folder is not None and folder.is_dir() else None


def logs_since(folder: Path, since: float) -> list[Path]:
    """The files below `folder` that were written at `since`, in seconds of the epoch, or later."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return [path for path in found if path.stat().st_mtime >= since]


def _file(name: str, path: Path) -> Iterator[Told]:
    try:
        with path.open("rb") as file:
            yield Told(name, file.read(LARGEST))
    except OSError:
        return  # nothing of this name is installed, or not for us to read
