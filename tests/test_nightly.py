"""What the document about nightly runs shows works: the script as it stands there, the files of code hosts by their
published schemas."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from planted import build_planted

from acl_cts.backends.core_backend import build_core

TEXT = (Path(__file__).resolve().parent.parent / "docs" / "nightly.md").read_text(encoding="utf-8")
SCRIPT = next(iter(re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)))
GITHUB, GITLAB, FUZZING = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)

HOSTED = [("github-workflows", GITHUB), ("github-workflows", FUZZING), ("gitlab-ci", GITLAB)]

FEW = ("--case", "mbuf/limit/aclrtSetBufUserData/set-user.sum/fresh/*")


@pytest.mark.parametrize(("schema", "text"), HOSTED)
def test_files_of_code_hosts_keep_to_their_schemas(tmp_path: Path, schema: str, text: str) -> None:
    path = tmp_path / "ci.yml"
    path.write_text(text)
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def shell() -> list[str]:
    """Every piece of shell that the files hold, without what the host puts in."""
    jobs = [job for text in (GITHUB, FUZZING) for job in yaml.safe_load(text)["jobs"].values()]
    pieces = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    pieces += ["\n".join(job["script"]) for job in yaml.safe_load(GITLAB).values()]
    return [re.sub(r"\$\{\{.*?\}\}", "1", piece) for piece in (*pieces, SCRIPT)]


@pytest.mark.parametrize("piece", shell())
def test_their_shell_is_shell(piece: str) -> None:
    assert subprocess.run(["bash", "-n"], input=piece, text=True, capture_output=True, check=False).stderr == ""


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A search path with this acl-cts in front, and the script."""
    folder = tmp_path / "bin"
    folder.mkdir()
    programs = {"acl-cts": f'#!/bin/sh\nexec {sys.executable} -m acl_cts.main "$@"\n', "nightly.sh": SCRIPT}
    for name, text in programs.items():
        (folder / name).write_text(text)
        (folder / name).chmod(stat.S_IRWXU)
    return f"{folder}:{os.environ['PATH']}"


def test_the_script_tells_only_news(tmp_path: Path, path: str) -> None:
    history = tmp_path / "history"

    def night(library: Path) -> tuple[int, str]:
        words = ["nightly.sh", str(library), *FEW]
        environment = os.environ | {"PATH": path, "ACL_CTS_HISTORY": str(history)}
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)
        assert done.stderr == ""
        return done.returncode, done.stdout

    good = build_core()
    assert night(good) == (0, "")
    code, told = night(build_core("plain", ("CORE_DEFECT=CORE_DEFECT_set_user_last_byte_refused",)))
    assert code == 1
    assert "newly failing: pass → fail" in told
    # The night after, the same failures are no news.
    assert night(build_core("plain", ("CORE_DEFECT=CORE_DEFECT_set_user_last_byte_refused",)))[0] == 0
    assert night(tmp_path / "missing.so")[0] == 2
    points = json.loads((history / "trend.json").read_text(encoding="utf-8"))["points"]
    failed = [point["backends"]["acl"]["failed"] for point in points]
    assert failed[0] == 0
    assert failed[1] == failed[2] > 0
    assert len(failed) == 3


def test_the_fuzzing_of_a_night_runs_as_it_stands_there(path: str, tmp_path: Path) -> None:
    (line,) = re.findall(r"\* \* \* +(told=.*acl-cts fuzz .*)", TEXT)
    conforming = line.replace("/path/to/libascendcl.so", str(build_core("cover", ()))).replace("1h", "3s")
    faulty = line.replace("/path/to/libascendcl.so", str(build_planted("alloc-of-64-kib-refused"))).replace("1h", "9s")
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    environment = {**os.environ, "PATH": path, "HOME": str(tmp_path), "XDG_CACHE_HOME": cache}
    done = subprocess.run(["sh", "-c", conforming], capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert any((tmp_path / "acl-cts-corpus" / "programs").iterdir())
    done = subprocess.run(["sh", "-c", faulty], capture_output=True, text=True, check=False, env=environment)
    assert "exit code 1: 1 new finding" in done.stdout
