"""Builds of mutants: one file is compiled, the others are at hand as objects, and equal objects are told."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from acl_cts.backends.backend import HarnessError
from acl_cts.backends.core_backend import FOLDER
from acl_cts.backends.core_mutants import Mutant
from acl_cts.backends.native.build import COMPILE_TIMEOUT, LIBRARY, find_compiler

LEVEL = "-O2"
"""Optimisation at which a mutant is built, and at which equal object code shows that it is none."""


class NoCodeError(Exception):
    """The mutant does not compile."""


@dataclass(slots=True)
class MutantBuilder:
    """Builds mutants of the core in `place`, a folder of its own that exists already."""

    place: Path
    sources: dict[str, str] = field(default_factory=dict)
    _objects: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.sources:
            paths = [path for name in ("include", "src") for path in sorted((FOLDER / name).iterdir())]
            self.sources = {path.name: path.read_text(encoding="utf-8") for path in paths}
        for name, text in self.sources.items():
            (self.place / name).write_text(text, encoding="utf-8")

    def build(self, mutant: Mutant) -> Path | None:
        """The mutant's library; None when its object code is that of the original, so that nothing can tell the two
        apart. The next build overwrites it. Raises NoCodeError, and HarnessError when the original does not compile."""
        units = [name for name in self.sources if name.endswith(".c")]
        if not self._objects:
            self._objects = {unit: self._object(unit) for unit in units}
        file = self.place / mutant.file
        try:
            file.write_text(mutant.apply(self.sources[mutant.file]), encoding="utf-8")
            concerned = units if mutant.file.endswith(".h") else [mutant.file]
            changed = {unit: self._object(unit) for unit in concerned}
        except HarnessError as error:
            raise NoCodeError(str(error)) from error
        finally:
            file.write_text(self.sources[mutant.file], encoding="utf-8")
        if all(self._objects[unit] == code for unit, code in changed.items()):
            return None
        return self._link(self._objects | changed)

    def _object(self, unit: str) -> bytes:
        self._run([*_FLAGS, LEVEL, "-fvisibility=hidden", "-w", "-I.", "-c", unit, "-o", "unit.o"], unit)
        return (self.place / "unit.o").read_bytes()

    def _link(self, objects: dict[str, bytes]) -> Path:
        for unit, code in objects.items():
            (self.place / f"{unit}.o").write_bytes(code)
        self._run([*LIBRARY, *(f"{unit}.o" for unit in objects), "-o", "mutant.so.new"], "a mutant")
        # A library that is loaded somewhere must not be written over.
        os.replace(self.place / "mutant.so.new", self.place / "mutant.so")
        return self.place / "mutant.so"

    def _run(self, arguments: list[str], what: str) -> None:
        command = [*find_compiler().command, *arguments]
        environment = {**os.environ, "LC_ALL": "C"}
        environment.pop("LD_PRELOAD", None)
        done = subprocess.run(
            command, cwd=self.place, capture_output=True, text=True, timeout=COMPILE_TIMEOUT, env=environment
        )
        if done.returncode != 0:
            lines = done.stderr.splitlines() or ["no message"]
            first = next((line for line in lines if "error" in line), lines[0])
            raise HarnessError(f"{command[0]} cannot compile {what}: {first.strip()}")


_FLAGS = tuple(flag for flag in LIBRARY if flag != "-shared" and not flag.startswith("-Wl,"))
