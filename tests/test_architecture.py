"""The arrows of import: acl_cts -> fuzz -> conformance -> {backends, reports} -> specs; none upward, none across."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("acl_cts", "fuzz", "conformance", "backends", "reports", "specs")
ALLOWED = {
    "specs": {"specs"},
    "reports": {"reports", "specs"},
    "backends": {"backends", "specs"},
    "conformance": {"conformance", "backends", "reports", "specs"},
    "fuzz": {"fuzz", "conformance", "backends", "reports", "specs"},
    "acl_cts": {"acl_cts", "fuzz", "conformance", "backends", "reports", "specs"},
}
SIMULATOR = {"acl_cts.specs.program", "acl_cts.specs.trace", "acl_cts.backends.backend"}
PACKAGES = {"acl_cts.specs", "acl_cts.backends"}


def sources(folder: str) -> list[Path]:
    """Python files of a top-level folder; the links inside acl_cts are not followed."""
    links = {link.name for link in (ROOT / "acl_cts").iterdir() if link.is_symlink()}
    files = (ROOT / folder).rglob("*.py")
    return [file for file in files if folder != "acl_cts" or file.relative_to(ROOT / folder).parts[0] not in links]


def imported(file: Path) -> Iterator[str]:
    """Every module that `file` imports, wherever in it, relative names resolved."""
    package = ["acl_cts", *file.relative_to(ROOT).with_suffix("").parts[:-1]]
    if file.is_relative_to(ROOT / "acl_cts"):
        package = package[1:]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def layer(module: str) -> str:
    """The top-level folder that `module` belongs to, '' for anybody else's."""
    parts = module.split(".")
    if parts[0] != "acl_cts":
        return ""
    return parts[1] if len(parts) > 1 and parts[1] in FOLDERS else "acl_cts"


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_point_downward(folder: str) -> None:
    files = sources(folder)
    assert files or folder == "fuzz", f"{folder}/ has no Python files: the check looks in the wrong place"
    wrong = []
    for file in files:
        for module in imported(file):
            # `import acl_cts.specs` names the top package on its way; only what lies below it counts.
            upward = layer(module) not in ALLOWED[folder] and layer(module) and module != "acl_cts"
            if upward:
                wrong.append(f"{file.relative_to(ROOT)} imports {module}")
    assert not wrong, "\n".join(wrong)


def test_folders_are_imported_by_their_installed_names_only() -> None:
    wrong = [
        f"{file.relative_to(ROOT)} imports {module}"
        for folder in FOLDERS
        for file in sources(folder)
        for module in imported(file)
        if module.split(".")[0] in FOLDERS[1:]
    ]
    assert not wrong, "\n".join(wrong)


def test_the_simulator_knows_programs_and_traces_only() -> None:
    files = [file for file in sources("backends") if "simulator" in file.relative_to(ROOT / "backends").parts]
    assert files
    wrong = []
    for file in files:
        for module in imported(file):
            own = module.startswith("acl_cts.backends.simulator")
            # `from acl_cts.specs import trace` is seen as acl_cts.specs and acl_cts.specs.trace; the latter is judged.
            allowed = module in PACKAGES or any(module == name or module.startswith(f"{name}.") for name in SIMULATOR)
            if module.startswith("acl_cts.") and not own and not allowed:
                wrong.append(f"{file.relative_to(ROOT)} imports {module}")
    assert not wrong, "\n".join(wrong)


def test_every_link_of_the_package_leads_to_a_folder_that_is_kept() -> None:
    """An empty folder is not kept by version control; a link to it breaks the wheel of a fresh clone."""
    package = Path(__file__).resolve().parent.parent / "acl_cts"
    links = [path for path in package.iterdir() if path.is_symlink()]
    assert {link.name for link in links} == {"specs", "backends", "reports", "conformance", "fuzz"}
    for link in links:
        assert not Path(os.readlink(link)).is_absolute()
        assert (link / "__init__.py").is_file(), link.name
