"""Capture: what the child prints, kept apart from everything else and bounded."""

from __future__ import annotations

import fcntl
import os

KEEP = 64 * 1024
"""Bytes of the end that are kept."""

TRIM = 1 << 20
"""Size at which the front is thrown away."""


class Capture:
    """A memory file that the child has as stdout and stderr; writing to it never blocks."""

    def __init__(self) -> None:
        self.fd = os.memfd_create("acl-cts-output", os.MFD_CLOEXEC)
        fcntl.fcntl(self.fd, fcntl.F_SETFL, fcntl.fcntl(self.fd, fcntl.F_GETFL) | os.O_APPEND)
        self._seen = 0

    def mark(self) -> None:
        """What comes from here on is the next `since_mark`."""
        self._seen = os.fstat(self.fd).st_size
        if self._seen > TRIM:
            os.ftruncate(self.fd, 0)
            self._seen = 0

    def since_mark(self, limit: int = 4096) -> str:
        """The first `limit` bytes printed since the mark."""
        size = os.fstat(self.fd).st_size
        if size <= self._seen:
            return ""
        return os.pread(self.fd, min(size - self._seen, limit), self._seen).decode("utf-8", "replace")

    def tail(self) -> str:
        """The end of what was printed since the mark."""
        size = os.fstat(self.fd).st_size
        start = max(self._seen, size - KEEP)
        return os.pread(self.fd, max(size - start, 0), start).decode("utf-8", "replace")

    def trim(self) -> None:
        """Throw away all but the end when it has grown large; to be called now and then."""
        size = os.fstat(self.fd).st_size
        if size > TRIM:
            end = os.pread(self.fd, KEEP, size - KEEP)
            os.ftruncate(self.fd, 0)
            os.write(self.fd, end)
            self._seen = 0

    def close(self) -> None:
        """Give the file back."""
        os.close(self.fd)
