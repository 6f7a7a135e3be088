"""The memory that a campaign shares with a scout: what both sides call the same."""

from __future__ import annotations

from acl_cts.fuzz.standalone_seed import RECORD

CONTROL = (
    "calls_wanted",
    "stop",
    "programs_wanted",
    "reports_wanted",
    "avoided",
    "touch",
    "watched",
    "audit_every",
    "dice0",
    "dice1",
    "progress",
    "programs",
    "calls",
    "entries",
    "length",
    "reports",
    "report_length",
    "renew",
    "passed",
    "faults",
)
"""Words of the control page: what is asked for, the state of the dice, then what was done. `stop`: time is up;
`avoided`: functions that are not called, a bit each; `touch`: data areas may be reached; `watched`: memory is looked at
after each program; `audit_every`: one program in so many is told of although nothing is remarkable about it; `length`:
words of the transcript of the program that runs, 0 when none does; `renew`: too much was left behind in the process;
`passed`: programs of this process that are over."""

MOST = 40
"""Records of an input at most."""

FUNCTIONS_MOST, PLACES = 64, 64
"""Functions, and rules and promises of each, that are told apart."""

WORDS = 1 << 16
PASSED, PASSED_WORDS = 3, 4096
"""Programs before the one that runs whose transcripts are kept, and words of each; the first says how many follow."""

REPORTS = 256
REPORT_WORDS = 1 << 19
EDGE_CELLS = 1 << 16
STATES = 1 << 16
ENTRIES = 4096
ENTRY_HEAD = 24
ENTRY_BYTES = ENTRY_HEAD + MOST * RECORD

WORDS_AT = 4096
REPORTS_AT = WORDS_AT + 8 * WORDS
REPORT_WORDS_AT = REPORTS_AT + 32 * REPORTS
SEEN_AT = REPORT_WORDS_AT + 8 * REPORT_WORDS
STATES_AT = SEEN_AT + EDGE_CELLS
TOLD_AT = STATES_AT + STATES
PASSED_AT = TOLD_AT + (FUNCTIONS_MOST + 1) * PLACES
ENTRIES_AT = PASSED_AT + 8 * PASSED * PASSED_WORDS
SHARED_BYTES = ENTRIES_AT + ENTRIES * ENTRY_BYTES

LOOKS = 6
"""Failures of one promise of one function that are told of."""

SUSPECTS = 12
"""Programs that may have lost memory that are told of."""

AUDIT_EVERY = 4096
"""Programs of which one is judged by the oracle too, although nothing is remarkable about it."""

ARMED = 200
"""Value of a record's third byte that lets an inner allocation fail first."""

UNTOLD, TOLD, GIVEN = 0, 1, 2
"""What is known of an entry."""

REPORT_NEW, REPORT_BROKEN, REPORT_LOST, REPORT_AUDIT = range(4)
OP_CALL, OP_RECORD, OP_FAIL, OP_CLEAN, OP_TOUCH = range(1, 6)
BACK_RETURNED, BACK_REFUSED, BACK_OPEN = 1, 2, 4
"""What a transcript says behind the arguments of a call: it came back; with a refusal; either answer was right."""

TAG_NULL, TAG_HANDLE, TAG_NUMBER, TAG_DATA, TAG_ROOM, TAG_CALLBACK, TAG_OBJECT, TAG_CELL = range(8)


def render_layout() -> str:
    """The same as C."""
    names = [name for name, value in globals().items() if name.isupper() and isinstance(value, int)]
    reports = [name for name in names if name.startswith("REPORT_") and name not in ("REPORT_WORDS", "REPORT_WORDS_AT")]
    names = [name for name in names if name not in reports and name != "RECORD"]
    lines = [f"enum {{ {name} = {globals()[name]} }};" for name in names]
    lines.append(f"enum report {{ {', '.join(f'{name} = {globals()[name]}' for name in reports)} }};")
    lines += ["struct control {", *(f"    uint64_t {name};" for name in CONTROL), "};"]
    return "\n".join(lines) + "\n"
