"""Failing examples of Hypothesis, shared through a Redis server: as the documents say, with a real server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from needed import need_redis
from redis import Redis
from test_docs import block

from acl_cts.backends.core_backend import build_core

TEST = """
import os

from hypothesis import Phase, given, settings

from acl_cts.backends.backend import Options
from acl_cts.backends.registry import open_backend
from acl_cts.fuzz.check import check
from acl_cts.fuzz.strategies import programs
from acl_cts.specs.loader import load_spec

spec = load_spec()
session = open_backend("core", Options(library=os.environ["LIBRARY"]))
phases = [Phase.reuse] if os.environ["ONLY"] == "reuse" else [Phase.reuse, Phase.generate]


@settings(deadline=None, max_examples=300, phases=phases)
@given(programs(spec, session.capabilities, without=session.missing))
def test_conforms(program):
    check(spec, session, program)
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a server that only this test knows."""
    socket = tmp_path / "redis.sock"
    command = [need_redis(), "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert any("eady to accept connections" in line for line in process.stdout)
            yield f"unix://{socket}"
        finally:
            process.terminate()


def machine(folder: Path, server: str, only: str) -> subprocess.CompletedProcess[str]:
    """The test on a machine with a folder of its own."""
    folder.mkdir(exist_ok=True)
    (folder / "conftest.py").write_text(block("test-with-hypothesis.md", "py"))
    (folder / "test_library.py").write_text(TEST)
    library = build_core(defines=("CORE_DEFECT=CORE_DEFECT_set_user_last_byte_refused",))
    environment = {**os.environ, "HYPOTHESIS_REDIS": server, "LIBRARY": str(library), "ONLY": only}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_library.py"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_what_fails_on_one_machine_is_tried_first_on_another(tmp_path: Path, server: str) -> None:
    other = machine(tmp_path / "other", server, "reuse")
    assert other.returncode == 0, other.stdout
    first = machine(tmp_path / "first", server, "everything")
    assert "mbuf.set-user.succeeds" in first.stdout, first.stdout
    assert Redis.from_url(server).keys("hypothesis-example:*")
    other = machine(tmp_path / "other", server, "reuse")
    assert "mbuf.set-user.succeeds" in other.stdout, other.stdout
