"""What every test process needs."""

from __future__ import annotations

import signal

# Some tests interrupt what they start. A shell that runs jobs in the background has them, and all that they start,
# ignore that signal.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
