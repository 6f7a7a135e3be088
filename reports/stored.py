"""Stored results: reading them back, with everything that can be wrong about them in one line."""

from __future__ import annotations

from pathlib import Path

from acl_cts.reports.exit_code import holding
from acl_cts.reports.files import ReportError, read_json
from acl_cts.reports.results import Results, from_json

RESULTS = "results.json"


def read_results(path: Path) -> Results:
    """The results in the file `path`, or in the report folder of that path. Raises ReportError."""
    path = results_path(path)
    try:
        found = from_json(read_json(path))
        # Somebody may have edited the verdict; more reasons than those may hold, fewer may not.
        for held in holding(found, found.fail_on):
            if held not in found.holds:
                raise ValueError(f"its exit leaves out code {held.code}: {held.reason}")
        return found
    except ValueError as error:
        raise ReportError(f"{path}: is not the {RESULTS} of a run ({error}); run again to get one") from error


def results_path(path: Path) -> Path:
    """The file of results that `path`, itself one or a report folder, stands for."""
    return path / RESULTS if path.is_dir() else path
