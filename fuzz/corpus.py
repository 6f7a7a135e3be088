"""The corpus: programs that each reached something that none before them had, in memory and in a folder."""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from acl_cts.reports.files import make_folder, write_text
from acl_cts.specs.interface import Interface
from acl_cts.specs.program import Program
from acl_cts.specs.program_bytes import encode_program
from acl_cts.specs.program_text import format_program, parse_program
from acl_cts.specs.suiting import program_problem

FOLDER = "programs"
"""Folder of the programs' texts inside a corpus."""

LEADING = "leading.txt"
"""File of a corpus with the names of the programs that reached places nothing before them had: they are read first, so
that a campaign that goes on has most of what was reached within seconds."""

QUOTA = 64 * 2**20
"""Bytes that the programs of a corpus may take."""

BLOCK = 4096
"""Bytes that a file takes at the least."""

DRAWN = 4
"""Programs from which the most promising one is taken."""


def name_of(program: Program) -> str:
    """The name of a program's file: by its content, so that the same program has it everywhere."""
    return hashlib.sha256(encode_program(program)).hexdigest()[:20] + ".txt"


@dataclass(slots=True)
class Entry:
    """A program of the corpus. `cost`: records of its trace; `turns`: how often it was built on; `paid`: how often that
    led to something new."""

    program: Program
    cost: int
    turns: int = 0
    paid: int = 0

    @property
    def promise(self) -> float:
        """What building on it once more may bring: successes per turn, less where it takes long."""
        return (1 + 4 * self.paid) / (1 + self.turns) / (20 + self.cost)


@dataclass(slots=True)
class Corpus:
    """Entries, and the folder in which they outlive the campaign. Several processes may share the folder: each file is
    written whole, under a name that follows from its content. `full`: the quota is used up and nothing more is
    written."""

    folder: Path
    quota: int = QUOTA
    entries: list[Entry] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    full: bool = False
    _names: set[str] = field(default_factory=set)
    _bytes: int = 0

    def open(self) -> None:
        """Make sure that the folder is there and takes files. Raises ReportError."""
        make_folder(self.folder / FOLDER)

    def unread(self, interface: Interface) -> Iterator[Program]:
        """The programs in the folder that this process has not seen: leading ones first, then short ones. What cannot
        be read is left out, and listed in `damaged`."""
        leading = {name: place for place, name in enumerate(self._leading())}
        paths = ((leading.get(path.name, len(leading)), _bytes_of(path), path.name, path) for path in self._paths())
        for *_, path in sorted(paths):
            if path.name in self._names:
                continue
            self._names.add(path.name)
            try:
                text = path.read_text(encoding="utf-8")
                program = parse_program(text)
            except (OSError, ValueError) as error:
                what = "is no text" if isinstance(error, UnicodeDecodeError) else str(error)
                self.damaged.append(f"{path.name}: {what}")
                continue
            self._bytes += _size(text)
            problem = program_problem(interface, program)
            if problem:
                self.damaged.append(f"{path.name}: {problem}")
            else:
                yield program

    def own(self, program: Program) -> bool:
        """Whether `program` was read under its own name: what somebody has changed since was made by nobody here."""
        return name_of(program) in self._names

    def _paths(self) -> Iterator[Path]:
        return (self.folder / FOLDER).glob("*.txt")

    def _leading(self) -> list[str]:
        try:
            return (self.folder / LEADING).read_text(encoding="utf-8", errors="replace").split()
        except OSError:
            return []

    def add(self, program: Program, cost: int, leading: bool = False) -> None:
        """Keep `program`; `leading`: it is read before others. Raises ReportError when the folder takes no files any
        more."""
        self.entries.append(Entry(program, cost))
        name = name_of(program)
        if name in self._names:
            return
        self._names.add(name)
        text = format_program(program)
        if self._bytes + _size(text) > self.quota:
            self.full = True
            return
        self._bytes += _size(text)
        write_text(self.folder / FOLDER / name, text)
        if leading:
            with contextlib.suppress(OSError), (self.folder / LEADING).open("a", encoding="utf-8") as file:
                file.write(f"{name}\n")

    def pick(self, dice: random.Random) -> Entry:
        """The most promising of a few. Raises IndexError when there is none."""
        drawn = [self.entries[dice.randrange(len(self.entries))] for _ in range(DRAWN)]
        best = max(drawn, key=lambda entry: entry.promise)
        best.turns += 1
        return best


def _bytes_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _size(text: str) -> int:
    return -(-len(text.encode()) // BLOCK) * BLOCK
