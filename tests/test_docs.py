"""The documents: their links lead somewhere, and their examples do what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

from acl_cts.fuzz.figures import Figures
from acl_cts.main import COMMANDS
from acl_cts.specs.loader import load_spec

ROOT = Path(__file__).resolve().parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))


def command(*words: str, cwd: Path, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """`acl-cts` with these words, with packages of `path` installed."""
    environment = {**os.environ, "PYTHONPATH": str(path or "")}
    words = (sys.executable, "-m", "acl_cts.main", *words)
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=cwd, env=environment)


@cache
def help_of(*words: str) -> str:
    """The help page of a command."""
    return command(*words, "--help", cwd=ROOT).stdout


def block(name: str, language: str) -> str:
    """The example in `language` of a document."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    (found,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return str(found)


@pytest.mark.parametrize("path", [ROOT / "README.md", *DOCS], ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (path.parent / target).exists(), target


def test_the_readme_leads_to_every_document() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in DOCS if f"(docs/{path.name})" not in text] == []


def test_the_log_of_a_campaign_is_described_whole() -> None:
    text = (ROOT / "docs" / "fuzzing.md").read_text(encoding="utf-8")
    _, _, described = text.partition("## The log\n")
    described, _, _ = described.partition("\n## ")
    told = set(re.findall(r"^\| `(\w+)` \|", described, re.MULTILINE))
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "fuzz").glob("*.py"))
    assert told == {kind for source in sources for kind in re.findall(r'\b_?[Ee]vent\(\s*"(\w+)"', source)}
    missing = {field.name for field in fields(Figures)} - set(re.findall(r"`?\b([a-z_]+)\b`?", described))
    assert missing == set()


@pytest.mark.parametrize("path", [ROOT / "README.md", *DOCS], ids=lambda path: path.name)
def test_commands_and_options_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for line in re.findall(r"^acl-cts (.*)$", text, re.MULTILINE):
        words = line.partition("#")[0].split()
        if words[0] not in COMMANDS:
            assert re.match(r"[\d.]+ ·|[\d.]+$", line), line
            continue
        grouped = words[0] in ("spec", "executor", "baseline", "report")
        grouped = grouped or words[:2] in (["qualify", "verify"], ["fuzz", "target"])
        asked = words[: 2 if grouped else 1]
        helped = help_of(*asked)
        for option in re.findall(r"--[a-z-]+", line.partition("#")[0].partition("'")[0]):
            assert option in helped, line


def test_the_python_backend_works(tmp_path: Path) -> None:
    (tmp_path / "desk.py").write_text(block("add-a-python-backend.md", "python"))
    announced = re.search(r'\[project\.entry-points\."(.+)"\]\n(.+ = ".+")', block("add-a-python-backend.md", "toml"))
    assert announced is not None
    info = tmp_path / "desk_backend-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: desk-backend\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{announced[1]}]\n{announced[2].replace(chr(34), '')}\n")
    listed = command("backends", cwd=tmp_path, path=tmp_path)
    assert re.search(r"desk +descriptions on a desk\n +usable; capabilities: none", listed.stdout)
    text = (ROOT / "docs" / "add-a-python-backend.md").read_text(encoding="utf-8")
    line = re.search(r"^acl-cts (run --backend desk .*)$", text, re.MULTILINE)
    assert line is not None
    words = [word.strip("'") for word in line[1].split()]
    judged = command(*words, "--out", "out", cwd=tmp_path, path=tmp_path)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    assert "1 pass" in judged.stdout
    other = command("run", "--backend", "desk", "--group", "simple", "--family", "mbuf", cwd=tmp_path, path=tmp_path)
    assert other.returncode == 0, other.stdout + other.stderr  # a reserved family that it does not have
    assert "mbuf (11 of 11, reserved by the documents)" in other.stdout


def test_the_tests_with_hypothesis_work(tmp_path: Path) -> None:
    (tmp_path / "test_library.py").write_text(block("test-with-hypothesis.md", "python"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_library.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


JAR = """
#include <stdint.h>
#include <stdlib.h>
struct jar { uint32_t size, level; };
int jarNew(uint32_t size, struct jar **jar)
{
    if (jar == NULL || size > 100) return 100000;
    *jar = calloc(1, sizeof **jar);
    (*jar)->size = size;
    return 0;
}
int jarDrop(struct jar *jar) { free(jar); return 0; }
int jarFill(struct jar *jar, uint32_t level)
{
    if (jar == NULL || level > jar->size) return 100000;
    jar->level = level;
    return 0;
}
int jarLevel(struct jar *jar, uint32_t *level)
{
    if (jar == NULL || level == NULL) return 100000;
    *level = jar->level;
    return 0;
}
"""


def test_the_family_in_small_works(tmp_path: Path) -> None:
    table = tmp_path / "jar.yaml"
    table.write_text(block("add-a-family.md", "yaml"), encoding="utf-8")
    assert set(load_spec(more=(str(table),)).families) == {"mbuf", "allocator", "jar"}
    (tmp_path / "jar.c").write_text(JAR)
    library = tmp_path / "libjar.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "jar.c")], check=True)
    checked = command("spec", "check", "--table", "jar.yaml", "--library", str(library), cwd=tmp_path)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, checked.stdout, "")
    judged = command(
        *("run", "--table", "jar.yaml", "--family", "jar", "--backend", "acl", "--library", str(library)),
        cwd=tmp_path,
    )
    assert judged.returncode == 0, judged.stdout + judged.stderr
