"""Terms: under which tables, for which abilities the programs of a corpus were made free of undefined calls.

Where they are those of the campaign, programs are taken as they lie there. Otherwise each is mended first, which may
change it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from acl_cts.reports.files import ReportError, read_json, write_json

FILE = "terms.json"

MAKER = 2
"""Raised when programs that were made before may not be free of undefined calls. 1: a loop could bear the name of a
variable."""


@dataclass(frozen=True, slots=True)
class Terms:
    """`tables`: their digest. `capabilities`: of all backends. `missing`: functions that one of them does not have."""

    tables: str
    capabilities: frozenset[str]
    missing: frozenset[str]

    def hold(self, folder: Path) -> bool:
        """Whether the corpus in `folder` was made under these terms, or is empty. Where nothing tells, it was not."""
        path = folder / FILE
        if not path.exists():
            return not any(folder.glob("programs/*.txt"))
        try:
            return bool(read_json(path) == self._json())
        except ReportError:
            return False

    def note(self, folder: Path) -> None:
        """From here on the corpus in `folder` is made under these terms. Raises ReportError."""
        if not (folder / FILE).exists() or not self.hold(folder):
            write_json(folder / FILE, self._json())

    def _json(self) -> dict[str, object]:
        return {
            "maker": MAKER,
            "tables": self.tables,
            "capabilities": sorted(self.capabilities),
            "missing": sorted(self.missing),
        }
