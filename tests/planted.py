"""The core with several planted defects at once, instrumented as campaigns want it."""

from __future__ import annotations

from pathlib import Path

from acl_cts.backends.core_backend import FOLDER
from acl_cts.backends.core_defects import enumerator
from acl_cts.backends.native.build import COUNTING, LIBRARY, compile_c, flavour_flags
from acl_cts.backends.native.clang import FUZZER_NO_LINK, Clang


def build_planted(*defects: str, clang: Clang | None = None) -> Path:
    """A library with all of `defects`; not for those that need a count of what they do. `clang`: it has inline
    counters."""
    paths = [path for name in ("include", "src") for path in sorted((FOLDER / name).iterdir())]
    sources = {path.name: path.read_text(encoding="utf-8") for path in paths}
    for defect in defects:
        word = f"DEFECT({enumerator(defect).removeprefix('CORE_DEFECT_')})"
        assert any(word in text for text in sources.values()), defect
        sources = {name: text.replace(word, "1") for name, text in sources.items()}
    counting = COUNTING["cover"] if clang is None else (FUZZER_NO_LINK, *clang.flags)
    flags = (*LIBRARY, "-fvisibility=hidden", "-w", *flavour_flags("cover"), *counting)
    return compile_c("libaclcts_core.so", sources, flags, cc="" if clang is None else clang.command)
