"""Templates of C, with what jinja2 makes of them kept: each start of a run renders hundreds of kilobytes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket, BytecodeCache

from acl_cts.specs.kept import cache_folder

_DIGEST = hashlib.sha256().digest_size


class _Kept(BytecodeCache):
    """One file a template, behind the SHA-256 of the rest: jinja2 would take damaged bytes for what they have become.
    Where nothing can be kept or read, templates are compiled each time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            data = (self.folder / bucket.key).read_bytes()
            if hashlib.sha256(data[_DIGEST:]).digest() == data[:_DIGEST]:
                bucket.bytecode_from_string(data[_DIGEST:])

    def dump_bytecode(self, bucket: Bucket) -> None:
        data = bucket.bytecode_to_string()
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self.folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(hashlib.sha256(data).digest() + data)
                os.replace(name, self.folder / bucket.key)
            except OSError:
                os.unlink(name)
                raise


def c_templates(folder: Path) -> jinja2.Environment:
    """The templates in `folder`; a name that they use and do not get is an error."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
        bytecode_cache=_Kept(cache_folder() / "templates"),
    )
