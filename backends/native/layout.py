"""Layout: the numbers that the Python side and the generated C agree on.

Commands and replies are sequences of little-endian 64-bit words. The first word of a statement or record holds its
code in bits 0..7, the number of enclosing loops in bits 8..15, a function or callback type in bits 16..31 and the step
in bits 32..63. The templates get every name below as a constant; nothing is written down twice.
"""

from __future__ import annotations

from enum import IntEnum

from acl_cts.specs import growth

VERSION = 1
"""Version of everything in this module; part of what an executor tells of itself."""

MAGIC = 0x6163_6C63_7473_0001
"""First word of a lowered program."""

MAX_LOOPS = 10
"""Loops inside loops, `until` among them."""

MAX_PARAMS = 16
"""Parameters of one function or callback."""

MAX_SLOTS = 1 << 24
"""Handles and outputs that one program may hold."""

MAX_THREADS = 3
"""Threads of one parallel block."""

THREAD_REPLY = 16 << 20
"""Bytes that one thread of a block may answer."""

MAX_HITS = 64
"""Callback hits kept for one call; further ones are dropped."""

ROOM_LIMIT = 1 << 20
"""Bytes of caller memory that one parameter may take."""

CANARY = 64
"""Guard bytes in front of caller memory."""

CANARY_BYTE = 0x9E
CELL_BYTE = 0xC5
READ_LIMIT = 4096
CHUNK = 1 << 16
"""Bytes that are touched or copied between two signs of progress."""

DIRTY_LIMIT = 1024
"""Bytes at the start of fresh heap memory that the plain executor makes dirty."""

STEADY_WARM_UP = 16
"""Iterations of a steady block before memory is measured first; from there on their number doubles between samples."""

STEADY_SAMPLES = 32
"""Samples of one steady block at most."""

STEADY_SECONDS = 10
STEADY_WAIT = 30
"""A steady block whose memory goes on growing is left after so many seconds of its thread's own work, or of waiting:
what a slow library keeps may be a pool."""

STEADY_POOL = growth.STEADY_POOL
GROWTH_IN_A_ROW = growth.IN_A_ROW

MAX_BATCH = 1024
"""Programs of one command."""

HEADER_WORDS = 7
"""Words of a lowered program in front of its statements: magic, words of all, slots, words of the body, words of the
clean-up, flags, place of the literals in bytes."""

FLAG_FAULTS = 1
"""Header flag: the program injects faults."""

FLAG_THREADS = 2
"""Header flag: the program has parallel blocks."""

STATUS_AT = 0
STATUS_SIZE = 4096
ENDS_AT = STATUS_AT + STATUS_SIZE
ENDS_SIZE = MAX_BATCH * 8
COMMAND_AT = ENDS_AT + ENDS_SIZE
COMMAND_SIZE = 32 << 20
REPLY_AT = COMMAND_AT + COMMAND_SIZE
REPLY_SIZE = 256 << 20
REPLY_KEEP = 8 << 20
"""Bytes of a reply that stay in memory; what a larger one took is given back."""

COVER_EDGES = 1 << 18
"""Edges that are told apart; a power of two."""

COVER_LISTED = 1 << 20
"""New edges that one command may tell of."""

FRAMES = 4
"""Calls inside the library that are noted of a crash, innermost first."""

COVER_SEEN_AT = REPLY_AT + REPLY_SIZE
COVER_ENDS_AT = COVER_SEEN_AT + COVER_EDGES
COVER_LIST_AT = COVER_ENDS_AT + MAX_BATCH * 16
"""A byte an edge with the buckets of hits that were seen; then for each program of a command how much of the list is
filled and how many edges it touched; then the list of what was new, edge in bits 8..31 and bucket in bits 0..7."""

SHARED_SIZE = COVER_LIST_AT + COVER_LISTED * 4

WHERE = ("progress", "step", "phase", "function", "depth")
"""Words that tell where a thread of the executor is."""

STATUS = (
    *WHERE,
    "state",
    "program",
    "reply_end",
    "signal",
    "address",
    "guard",
    "access",
    "threads",
    "failed",
    *(f"loop{k}" for k in range(MAX_LOOPS)),
    *(f"frame{k}" for k in range(FRAMES)),
)
"""Words of the status page, in order; the words above are those of the executor's own thread, or of one that a fatal
signal or an exit came in. `threads`: of the block that runs, 0 outside of one; `failed`: number of that one, from 1.
Behind them stand, for each thread of a block, the words of `WHERE` and one that says whether it has ended."""


class State(IntEnum):
    """What the executor is doing."""

    LOADING = 0
    INITIALISING = 1
    SETTING_DEVICE = 2
    IDLE = 3
    RUNNING = 4
    EXITING = 5
    LEAVING = 6


class PhaseCode(IntEnum):
    """Where in a program it is."""

    CALL = 0
    TOUCH = 1
    CHECK = 2
    CLEAN_UP = 3


class Access(IntEnum):
    """How data areas are reached."""

    UNDECIDED = 0
    DIRECT = 1
    COPY = 2


class Op(IntEnum):
    """Statements."""

    CALL = 1
    REPEAT = 2
    UNTIL = 3
    WRITE = 4
    READ = 5
    INVOKE = 6
    FAIL = 7
    LIVE = 8
    WHEN = 9
    EXIT = 10
    STEADY = 11
    PARALLEL = 12


class Arg(IntEnum):
    """Arguments: two words each, the first with the kind in bits 0..7."""

    CONST = 0
    """Second word: the value."""
    LOOPED = 1
    """Bits 8..15: the loop whose counter is added to the second word."""
    SLOT = 2
    """Bits 8..15: loop, bits 32..63: slots that one turn of it moves on; second word: the first slot."""
    CALLBACK = 3
    """Bits 8..15: number, bits 16..31: type."""
    OBJECT = 4
    """Bits 8..15: number."""
    CELL = 5
    FILL = 6
    """Bits 8..15: byte; second word: length. So for the ramp."""
    RAMP = 7
    LITERAL = 8
    """Bits 32..63: place among the literals, in bytes; second word: length."""
    ROOM = 9
    """Second word: length."""
    ROOM_DEFAULT = 10
    """Bits 8..15: the parameter that states the size. So for the data."""
    DATA_DEFAULT = 11


NO_LOOP = 0xFF
"""In place of a loop: there is none."""

RETURN = 0xFF
"""In place of a parameter: what the call returned."""


class Record(IntEnum):
    """What a reply consists of."""

    CALL = 1
    SKIP = 2
    TOUCH = 3
    INVOKE = 4
    LIVE = 5
    SAME = 6
    TURN = 7
    """The loop at the depth in bits 8..15 goes into the turn that the second word states."""
    MEMORY = 9
    """Second word: number of samples; three words each: iterations, bytes more held by the process, on the device."""
    END = 8
    """The last one: second word ending (bits 0..7), phase (8..15, `NO_PHASE` for none), length of the detail (32..63);
    then the loops, then the detail, padded to words."""


NO_PHASE = 0xFF
NO_STEP = 0xFFFF_FFFF
NO_FUNCTION = 0xFFFF


class EndCode(IntEnum):
    """Endings, as numbers."""

    COMPLETED = 0
    CRASH = 1
    EXIT = 2
    TIMEOUT = 3
    ERROR = 4
    RACE = 5


class Skip(IntEnum):
    """Why a statement was not executed."""

    UNSET = 0
    UNLOCATED = 1
    UNAVAILABLE = 2
    NOT_REPEATED = 3


class TouchError(IntEnum):
    """What went wrong with a touch."""

    NONE = 0
    FAULT = 1
    COPY = 2


class Content(IntEnum):
    """What a touch record holds."""

    NOTHING = 0
    DATA = 1
    CRC = 2


BREACHES = 1
HITS = 2
FIRED = 4
"""Flags of a call record, bits 48..63 of its third word; bits 0..15 say which parameters have an output, bits 16..31
which of those are untouched, bits 32..47 which lie in an executable mapping."""

INVALID = 1
"""Flag of an invoke record."""


def word(code: int, depth: int = 0, function: int = 0, step: int = 0) -> int:
    """The first word of a statement or record."""
    return code | depth << 8 | function << 16 | step << 32


def constants() -> dict[str, int]:
    """Every number of this module under its C name: members of an enumeration as CLASS_MEMBER."""
    found: dict[str, int] = {}
    for name, value in globals().items():
        if isinstance(value, int) and name.isupper():
            found[name] = value
        elif isinstance(value, type) and issubclass(value, IntEnum) and value is not IntEnum:
            prefix = "".join("_" + c if c.isupper() and k else c for k, c in enumerate(name)).upper()
            found.update({f"{prefix}_{member.name}": member.value for member in value})
    return found
