"""The wheel and the source distribution: what is in them, and that an installed one needs nothing beside it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from acl_cts import __version__

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist of this tree, and in `direct` its wheel, in `again` the one made from the sdist."""
    folder = tmp_path_factory.mktemp("distributions")
    _build(ROOT, folder, "--sdist")
    _build(ROOT, folder / "direct", "--wheel")
    with tarfile.open(_only(folder, "*.tar.gz")) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    _build(_only(folder / "unpacked", "*"), folder / "again", "--wheel")
    return folder


def _build(source: Path, out: Path, what: str) -> None:
    words = [sys.executable, "-m", "build", "--no-isolation", what, "--outdir", str(out), str(source)]
    subprocess.run(words, check=True, capture_output=True)


def _only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def _contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_of_the_sdist_is_the_wheel_of_the_tree(distributions: Path) -> None:
    direct = _contents(_only(distributions / "direct", "*.whl"))
    again = _contents(_only(distributions / "again", "*.whl"))
    assert direct.keys() == again.keys()
    assert [name for name in direct if direct[name] != again[name]] == []


def test_the_wheel_holds_all_that_a_run_reads_and_nothing_else(distributions: Path) -> None:
    names = set(_contents(_only(distributions / "direct", "*.whl")))
    wanted = {"specs": ("yaml", "json"), "reports": ("json", "j2", "css", "js"), "conformance": ("yaml", "json", "txt")}
    wanted |= {"backends": ("c", "h", "j2"), "fuzz": ("c", "h", "j2", "sh", "yaml"), "acl_cts": ("typed",)}
    for folder, endings in wanted.items():
        inside = folder if folder == "acl_cts" else f"acl_cts/{folder}"
        for path in (p for ending in endings for p in sorted((ROOT / folder).rglob(f"*.{ending}"))):
            assert f"{inside}/{path.relative_to(ROOT / folder)}" in names
    assert "acl_cts/specs/more/acltdt.yaml" in names
    known = re.compile(r"acl_cts(-[^/]+\.dist-info)?/")
    assert [name for name in names if not known.match(name)] == []
    litter = re.compile(r"__pycache__|\.pyc$|\.so$|(^|/)tests/|/\.")
    assert [name for name in names if litter.search(name)] == []


def test_the_sdist_holds_what_its_readers_look_for(distributions: Path) -> None:
    with tarfile.open(_only(distributions, "*.tar.gz")) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {"README.md", "LICENSE", "pyproject.toml", "Makefile", "tests/test_packaging.py"} <= names
    assert [name for name in names if re.search(r"__pycache__|\.pyc$|\.so$|^\.venv|^out/|^dist/", name)] == []


# -------------------------------------------------------------------------------------------------------- installed


def _needed(name: str, seen: dict[str, Distribution]) -> dict[str, Distribution]:
    """The distributions that `name` needs here, those that they need among them."""
    for text in distribution(name).requires or ():
        requirement = Requirement(text)
        if requirement.name in seen or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        seen[requirement.name] = distribution(requirement.name)
        _needed(requirement.name, seen)
    return seen


def _top(needed: Distribution) -> Iterator[Path]:
    """What a distribution put into its site-packages."""
    site = Path(str(needed.locate_file("")))
    names = {file.parts[0] for file in needed.files or () if file.parts[0] not in ("..", "__pycache__")}
    return (site / name for name in sorted(names))


@pytest.fixture(scope="module")
def site(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site-packages of an environment of its own: the wheel as pip installs it, and what it needs, lent from here,
    so that no index is asked."""
    folder = tmp_path_factory.mktemp("installed") / "environment"
    venv.create(folder, with_pip=False, symlinks=True)
    site = _only(folder / "lib", "python*") / "site-packages"
    python = folder / "bin" / "python"
    words = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*words, str(_only(distributions / "direct", "*.whl"))], check=True, capture_output=True)
    for needed in _needed("acl-cts", {}).values():
        for path in _top(needed):
            (site / path.name).symlink_to(path)
    return site


class Installed:
    """The installed command, in an empty folder with a home and a cache of its own."""

    def __init__(self, site: Path, folder: Path) -> None:
        self.site = site
        self.bin = site.parent.parent.parent / "bin"
        self.work = folder / "work"
        self.home = folder / "home"
        self.cache = folder / "cache"
        for made in (self.work, self.home, self.cache):
            made.mkdir()

    def run(self, *words: str, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
        """`acl-cts` with these words, and nothing else of this environment."""
        environment = {"PATH": path, "HOME": str(self.home), "XDG_CACHE_HOME": str(self.cache)}
        return subprocess.run(
            [str(self.bin / "acl-cts"), *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.work,
            env=environment | {"PYTHONDONTWRITEBYTECODE": "1"},
        )

    def files(self) -> dict[str, int]:
        """Every file of the installed package, and when it was written."""
        own = [path for path in self.site.glob("acl_cts*") for path in path.rglob("*")]
        return {str(path): path.stat().st_mtime_ns for path in own}


@pytest.fixture(scope="module")
def installed(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """The installed command with a read-only package."""
    folders = [path for path in (site, *site.glob("acl_cts*"), *site.glob("acl_cts/**/")) if path.is_dir()]
    modes = {path: path.stat().st_mode for path in folders}
    for path in folders:
        path.chmod(0o555)
    found = Installed(site, tmp_path_factory.mktemp("somewhere"))
    before = found.files()
    yield found
    for path, mode in modes.items():
        path.chmod(mode)
    # Modes do not bind root: that nothing was written shows here.
    assert found.files() == before


def test_it_is_the_installed_one(installed: Installed) -> None:
    done = installed.run("--version")
    assert (done.returncode, done.stdout) == (0, f"acl-cts {__version__}\n")
    code = "import acl_cts.specs.loader as m; print(m.__file__)"
    words = [str(installed.bin / "python"), "-I", "-c", code]
    told = subprocess.run(words, capture_output=True, text=True, check=True, cwd=installed.work).stdout
    assert Path(told.strip()).is_relative_to(installed.site)


def test_it_reads_its_tables(installed: Installed) -> None:
    assert "mbuf.alloc.limit" in installed.run("spec", "show", "aclrtAllocBuf").stdout
    assert "acltdt.alloc.type" in installed.run("spec", "show", "acltdtAllocBuf", "--table", "acltdt").stdout


def test_it_judges_the_core_and_the_simulator(installed: Installed) -> None:
    for backend in ("core", "simulator"):
        done = installed.run("run", "--backend", backend, "--group", "simple", "--out", backend)
        assert done.returncode == 0, done.stdout + done.stderr
        assert (installed.work / backend / "results.json").is_file()
    assert sorted(path.name for path in installed.cache.iterdir()) == ["acl-cts"]
    assert list(installed.home.iterdir()) == []


def test_it_has_the_same_cases(installed: Installed) -> None:
    known = Path(__file__).with_name("case_list.sha256").read_text(encoding="utf-8")
    done = installed.run("list", "--hash")
    assert (done.returncode, done.stdout, done.stderr) == (0, known, "")


def test_without_a_compiler_it_says_so_and_the_simulator_goes_on(installed: Installed, tmp_path: Path) -> None:
    nowhere = str(installed.bin)
    fresh = Installed(installed.site, tmp_path)
    done = fresh.run("run", "--backend", "core", "--group", "simple", "--out", "core", path=nowhere)
    assert done.returncode == 3
    said = [line for line in done.stderr.splitlines() if "no C compiler found" in line]
    assert len(said) == 1
    assert "--executor PATH" in said[0]
    assert "Traceback" not in done.stderr
    simulator = fresh.run("run", "--backend", "simulator", "--group", "simple", "--out", "simulator", path=nowhere)
    assert simulator.returncode == 0, simulator.stderr
