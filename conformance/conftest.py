"""Makes `pytest conformance` know the plugin, with or without an installed package around it."""

from __future__ import annotations

from acl_cts.conformance.plugin import (
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_pycollect_makeitem,
    pytest_runtest_protocol,
    pytest_unconfigure,
)

__all__ = [
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_pycollect_makeitem",
    "pytest_runtest_protocol",
    "pytest_unconfigure",
]
