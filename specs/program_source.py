"""Standalone forms of programs: a C file and a Python script that need nothing of the suite."""

from __future__ import annotations

from acl_cts.specs.source_c import to_c
from acl_cts.specs.source_python import to_python

__all__ = ["to_c", "to_python"]
