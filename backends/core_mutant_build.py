"""Builds of mutants and planted defects: what differs is compiled, the rest is at hand as objects, equal objects are
told."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acl_cts.backends.backend import HarnessError
from acl_cts.backends.core_backend import FOLDER
from acl_cts.backends.core_defects import Defect, enumerator
from acl_cts.backends.core_mutants import Mutant
from acl_cts.backends.native.build import COMPILE_TIMEOUT, LIBRARY, compile_c, find_compiler, flavour_flags

LEVEL = "-O2"
"""Optimisation of these builds, at which equal object code shows that a mutant is none."""


class NoCodeError(Exception):
    """The mutant does not compile."""


@dataclass(slots=True)
class MutantBuilder:
    """Builds mutants of the core, and the core with one defect, in `place`, a folder of its own that exists already.
    Each library is overwritten by the next one."""

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
        apart. Raises NoCodeError, and HarnessError when the original does not compile."""
        units, original = self._units(), self._original()
        file = self.place / mutant.file
        try:
            file.write_text(mutant.apply(self.sources[mutant.file]), encoding="utf-8")
            concerned = units if mutant.file.endswith(".h") else [mutant.file]
            changed = {unit: self._object(unit) for unit in concerned}
        except HarnessError as error:
            raise NoCodeError(str(error)) from error
        finally:
            file.write_text(self.sources[mutant.file], encoding="utf-8")
        if all(original[unit] == code for unit, code in changed.items()):
            return None
        return self._link(original | changed)

    def build_watched(self, mutant: Mutant) -> Path:
        """The mutant's library under the address sanitizer, where it is seen what memory is lost or misused."""
        sources = self.sources | {mutant.file: mutant.apply(self.sources[mutant.file])}
        flags = (*LIBRARY, "-fvisibility=hidden", "-w", *flavour_flags("asan"))
        return compile_c("libaclcts_core.so", sources, flags)

    def build_defect(self, defect: Defect) -> Path:
        """The library with `defect` built in. Raises HarnessError when it does not compile."""
        word = enumerator(defect.id).removeprefix("CORE_DEFECT_")
        concerned = [name for name, text in self.sources.items() if f"DEFECT({word})" in text or "DEFECTIVE" in text]
        units = self._units()
        if not any(name.endswith(".h") and name != "defects.h" for name in concerned):
            units = [unit for unit in units if unit in concerned]
        flags = [f"-D{define}" for define in defect.defines]
        return self._link(self._original() | {unit: self._object(unit, flags) for unit in units})

    def _units(self) -> list[str]:
        return [name for name in self.sources if name.endswith(".c")]

    def _original(self) -> dict[str, bytes]:
        """The objects of the core as it is, compiled once."""
        if not self._objects:
            self._objects = {unit: self._object(unit) for unit in self._units()}
        return self._objects

    def _object(self, unit: str, defines: Sequence[str] = ()) -> bytes:
        self._run([*_FLAGS, LEVEL, *defines, "-fvisibility=hidden", "-w", "-I.", "-c", unit, "-o", "unit.o"], unit)
        return (self.place / "unit.o").read_bytes()

    def _link(self, objects: dict[str, bytes]) -> Path:
        for unit, code in objects.items():
            (self.place / f"{unit}.o").write_bytes(code)
        self._run([*LIBRARY, *(f"{unit}.o" for unit in objects), "-o", "changed.so.new"], "a changed core")
        # A library that is loaded somewhere must not be written over.
        os.replace(self.place / "changed.so.new", self.place / "changed.so")
        return self.place / "changed.so"

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
