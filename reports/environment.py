"""Environment: the machine and the interpreter that judged, for whoever compares two runs."""

from __future__ import annotations

import os
import platform


def environment() -> dict[str, str]:
    """What is known of this process and its machine, by name."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": platform.platform(),
        "machine": platform.machine(),
        "processors": str(os.cpu_count() or 1),
    }
