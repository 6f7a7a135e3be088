"""The process that atheris drives: `python -m acl_cts.fuzz.atheris_main ASSIGNMENT FOLDER-OF-LIBRARIES`.

It is started with the engine's runtime preloaded, which tells it of every block of the library and of the mutator.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import pickle
import signal
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

TRACED = () and () and ("acl_cts.specs.oracle", "acl_cts.specs.evaluate", "acl_cts.backends.simulator.session")
"""Modules, with those that they import first, whose Python code guides as the library does."""

LONGEST = 1 << 16
"""Bytes of a program in compact form."""

_PR_SET_PDEATHSIG = 1


def main(words: list[str]) -> None:
    """Fuzz until somebody or the library ends it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.environ.pop("LD_PRELOAD", None)  # what is started from here must not have it
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=list(TRACED)):
        for name in TRACED:
            importlib.import_module(name)
    harness_module = importlib.import_module("acl_cts.fuzz.harness")
    assignment = pickle.loads(Path(words[0]).read_bytes())
    harness = harness_module.Harness(assignment, Connection(assignment.pipe))
    harness.probe()
    gc.disable()  # see Harness: it collects between programs
    gc.freeze()
    options = [f"-max_len={LONGEST}", "-rss_limit_mb=0", "-timeout=0", "-print_funcs=0", "-reload=1"]
    options += [f"-seed={words[1]}", "-len_control=0", f"-artifact_prefix={words[2]}/"]
    atheris.Setup(
        ["atheris", *options, str(assignment.units)],
        harness.one,
        custom_mutator=harness.mutate,
        custom_crossover=harness.cross,
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
