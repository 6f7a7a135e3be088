"""Templates of C, with what jinja2 makes of them kept: each start of a run renders hundreds of kilobytes."""

from __future__ import annotations

import contextlib
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket, FileSystemBytecodeCache

from acl_cts.backends.native.build import cache_folder


class _Kept(FileSystemBytecodeCache):
    """Where nothing can be kept, templates are compiled each time."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            super().dump_bytecode(bucket)


def c_templates(folder: Path) -> jinja2.Environment:
    """The templates in `folder`; a name that they use and do not get is an error."""
    kept = cache_folder() / "templates"
    with contextlib.suppress(OSError):
        kept.mkdir(parents=True, exist_ok=True)
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
        bytecode_cache=_Kept(str(kept)),
    )
