"""Templates of C that stay compiled: kept bytes are used when they are whole, and never otherwise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from acl_cts.backends.native import c_templates as module
from acl_cts.backends.native.render import TEMPLATES, render_executor
from acl_cts.specs.loader import load_spec


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which they are kept, for a user who has none yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "acl-cts" / "templates"


def rendered() -> str:
    return render_executor(load_spec().interface, "plain")


def test_what_is_kept_is_used(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = rendered()
    assert len([*kept.iterdir()]) == len([*TEMPLATES.glob("*.j2")])

    def compiling(*_: object, **__: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(module.jinja2.Environment, "compile", compiling)
    assert rendered() == first


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize(
    "damage", [lambda data: b"", lambda data: data[:40], lambda data: data[:-1], lambda data: data[32:], flipped]
)
def test_damaged_bytes_are_not_used_and_made_anew(kept: Path, damage: Callable[[bytes], bytes]) -> None:
    first = rendered()
    whole = {path: path.read_bytes() for path in kept.iterdir()}
    for path, data in whole.items():
        path.write_bytes(damage(data))
    assert rendered() == first
    assert {path: path.read_bytes() for path in kept.iterdir()} == whole


def test_where_nothing_can_be_kept_they_are_compiled_each_time(kept: Path) -> None:
    kept.parent.mkdir(parents=True)
    kept.write_text("in the way")
    assert rendered() == rendered()
    kept.unlink()
    first = rendered()
    for path in [*kept.iterdir()]:
        path.unlink()
        path.symlink_to(path)
    assert rendered() == first
