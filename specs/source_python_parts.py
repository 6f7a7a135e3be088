"""The fixed part of the standalone Python form: what a script needs to make calls as the C form does."""

from __future__ import annotations

RUNTIME = '''\
import ctypes
import os
import sys
import zlib
from ctypes import c_int, c_int32, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

UNSET = object()
PAGE, GUARD, GUARD_BYTE, CELL_BYTE = 65536, 64, 0x9E, 0xC5
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = c_void_p
LIBC.mmap.argtypes = [c_void_p, c_size_t, c_int, c_int, c_int, c_size_t]
LIBC.munmap.argtypes = [c_void_p, c_size_t]
LIBC.mprotect.argtypes = [c_void_p, c_size_t, c_int]
STATE = {"accepted": None, "hits": [], "quiet": False}
KEPT = {}  # callbacks, so that none is collected while the library holds it


def say(text, end="\\n"):
    if STATE["quiet"]:
        return
    print(text, end=end, flush=True)  # so that the last line names a call that crashed


def mapping(size, rights):
    address = LIBC.mmap(None, size, rights, 0x22, -1, 0)  # private, anonymous
    if address in (None, c_void_p(-1).value):
        raise MemoryError(os.strerror(ctypes.get_errno()))
    return address


def sentinel(size):
    return bytes((0xC5 + 7 * (k % 251)) & 0xFF for k in range(min(size, 251))) * (size // 251 + 1)


class Variable(dict):
    """What a call gave, by output name; empty when it was refused. `area`: base and size of the data area."""

    area = None

    def of(self, field):
        return self.get(field, UNSET)


class Array(dict):
    """Variables by index."""

    def __missing__(self, index):
        self[index] = Variable()
        return self[index]


class Out:
    """An out parameter: a cell that starts as a sentinel, in front of an inaccessible page."""

    def __init__(self, name, ctype, handle=False):
        self.name, self.handle, self.start = name, handle, mapping(2 * PAGE, 3)
        LIBC.mprotect(self.start + PAGE, PAGE, 0)
        self.address = self.start + PAGE - ctypes.sizeof(ctype)
        ctypes.memset(self.address, CELL_BYTE, ctypes.sizeof(ctype))
        self.cell = ctype.from_address(self.address)

    def value(self):
        if bytes(self.cell) == bytes([CELL_BYTE]) * ctypes.sizeof(self.cell):
            return None
        return self.cell.value or 0

    def show(self):
        value = self.value()
        pointer = isinstance(self.cell, c_void_p)
        LIBC.munmap(self.start, 2 * PAGE)
        return f" {self.name}=" + ("untouched" if value is None else f"{value:#x}" if pointer else str(value))


class Memory:
    """Caller memory: ends at an inaccessible page, has guard bytes in front. `data` None: a room to be written."""

    def __init__(self, name, size, data=None):
        self.name, self.size, self.data = name, size, data
        self.mapped = (size + GUARD + PAGE - 1) // PAGE * PAGE + PAGE
        self.start = mapping(self.mapped, 3)
        LIBC.mprotect(self.start + self.mapped - PAGE, PAGE, 0)
        self.address = self.start + self.mapped - PAGE - size
        ctypes.memset(self.address - GUARD, GUARD_BYTE, GUARD)
        self.before = sentinel(size)[:size] if data is None else data
        ctypes.memmove(self.address, self.before, size)

    def show(self):
        now = ctypes.string_at(self.address, self.size)
        text = "" if self.data is not None else f" {self.name}=" + (shown(now) if now != self.before else "untouched")
        front = ctypes.string_at(self.address - GUARD, GUARD)
        if front != bytes([GUARD_BYTE]) * GUARD:
            damaged = max(k for k in range(GUARD) if front[k] != GUARD_BYTE)
            text += f" {self.name}:WRITTEN-IN-FRONT({damaged - GUARD})"
        if self.data is not None and now != self.data:
            text += f" {self.name}:INPUT-CHANGED"
        LIBC.munmap(self.start, self.mapped)
        return text


def shown(data):
    if len(data) <= 128:
        return data.hex()
    return f"{len(data)} bytes, crc32 {zlib.crc32(data):08x}, {data[:128].hex()}..."


def ramp(start, size):
    return (bytes((start + k) & 0xFF for k in range(256)) * (size // 256 + 1))[:size]


def default_room(size):
    return size if size <= 4096 else 256  # a size that no function accepts anyway gets a short piece of memory


def function(name, result, *arguments):
    pointer = getattr(LIBRARY, name, None)
    if pointer is None:
        print(f"the library has no {name}", file=sys.stderr)
        sys.exit(2)
    pointer.restype, pointer.argtypes = result, arguments
    return pointer


def call(text, pointer, arguments, principal="", area=None):
    """Make one call, print it, and return the Variable that it gives. `arguments` is called to make them, so that a
    handle that was never given is found before any memory is lent."""
    values = arguments()
    if any(value is UNSET for value in values):
        say(f"skipped: {text}: a handle was never given")
        return None
    say(text, end="")
    memory = [value for value in values if isinstance(value, (Out, Memory))]
    STATE["hits"].clear()
    result = pointer(*(value.address if isinstance(value, (Out, Memory)) else value for value in values))
    code = pointer.restype is c_int
    result = result or 0
    STATE["accepted"] = (result == 0) == code
    say(f" -> {result}" if code else f" -> {result:#x}", end="")
    outs = {value.name: value.value() for value in memory if isinstance(value, Out)}
    handles = {value.name for value in memory if isinstance(value, Out) and value.handle}
    say("".join(value.show() for value in memory) + "".join(f"\\n    reached {hit}" for hit in STATE["hits"]))
    variable = Variable()
    if STATE["accepted"]:
        if not code:
            variable["return"] = result
        variable.update({k: v for k, v in outs.items() if v is not None and (v or k not in handles)})
        if principal in variable:
            variable[None] = variable[principal]
        if area is not None and outs.get(area[1]) is not None:
            size = outs.get(area[2])
            area[0].area = (outs[area[1]], 2**64 - 1 if size is None else size)
    return variable


def callback(name, number, result, names, types, size, base):
    """Built-in callback `number` of the C type `name`: records its arguments, returns a value of its own."""

    def reached(*arguments):
        shown = ", ".join(
            f"{n}={v or 0:#x}" if t is c_void_p else f"{n}={v}" for n, v, t in zip(names, arguments, types)
        )
        STATE["hits"].append(f"{name} cb({number})({shown})")
        if number == 4 and AGAIN:
            AGAIN[1](AGAIN[0]())
        if result is not None:
            return base + (arguments[names.index(size)] & 0xFFF0 if size else 0)

    if (name, number) not in KEPT:
        KEPT[name, number] = ctypes.CFUNCTYPE(result, *types)(reached)
    return ctypes.cast(KEPT[name, number], c_void_p).value


def object_(number):
    """Address of the user's object: nobody looks into it."""
    if "objects" not in KEPT:
        KEPT["objects"] = mapping(5 * PAGE, 0)
    return KEPT["objects"] + number * PAGE


def mapped(address, rights):
    with open("/proc/self/maps") as maps:
        for line in maps:
            bounds, mode = line.split()[:2]
            low, high = (int(bound, 16) for bound in bounds.split("-"))
            if low <= address < high:
                return all(right in mode for right in rights)
    return False


def invoke(text, result, types, pointer, arguments):
    if pointer is UNSET or any(value is UNSET for value in arguments):
        say(f"skipped: {text}: a handle was never given")
        return
    say(text, end="")
    STATE["hits"].clear()
    if mapped(pointer, "x"):
        answer = ctypes.CFUNCTYPE(result, *types)(pointer)(*arguments)
        say("" if result is None else f" -> {answer or 0:#x}" if result is c_void_p else f" -> {answer}", end="")
    else:
        say(" -> invalid: NULL, or in no executable mapping", end="")
    say("".join(f"\\n    reached {hit}" for hit in STATE["hits"]))


def usable(text, variable, field, offset, length):
    if variable.of(field) is UNSET:
        say(f"skipped: {text}: a handle was never given")
    elif variable.area is None:
        say(f"skipped: {text}: no data area known")
    elif not variable.area[0] or offset + length > variable.area[1]:
        say(f"{text} -> fault: outside of the area of {variable.area[1]} bytes")
    else:
        return True
    return False


def move(to, source, size, area, kind):
    """Copy bytes to or from an area: by aclrtMemcpy where this process cannot reach it. Returns the code."""
    copy = getattr(LIBRARY, "aclrtMemcpy", None)
    if copy is None or mapped(area, "rw"):
        ctypes.memmove(to, source, size)
        return 0
    copy.argtypes = [c_void_p, c_size_t, c_void_p, c_size_t, c_int]
    return copy(to, size, source, size, kind)


def write_area(text, variable, field, offset, length, piece):
    """Write `piece` again and again until `length` bytes are written."""
    if not usable(text, variable, field, offset, length):
        return
    say(text, end="")
    base, code, done = variable.area[0], 0, 0
    while done < length and code == 0:
        size = min(len(piece), length - done)
        code = move(base + offset + done, ctypes.c_char_p(piece), size, base, 1)
        done += size
    say(f" -> copy:{code}" if code else "")


def read_area(text, variable, field, offset, length):
    if not usable(text, variable, field, offset, length):
        return
    say(text, end="")
    room = (c_uint8 * 65536)()
    base, code, done, crc = variable.area[0], 0, 0, 0
    while done < length and code == 0:
        size = min(len(room), length - done)
        code = move(ctypes.addressof(room), base + offset + done, size, base, 2)
        crc = zlib.crc32(bytes(room)[:size], crc)
        done += size
    if code:
        say(f" -> copy:{code}")
    else:
        say(f" content={shown(bytes(room)[:length])}" if length <= 4096 else f" crc32 {crc:08x}")


def fail_allocation(text, nth):
    fail = getattr(LIBRARY, "aclctsFailAllocation", None)
    if fail is None:
        say(f"skipped: {text}: the library cannot inject faults")
    else:
        say(text)
        fail.argtypes, fail.restype = [c_uint64], None
        fail(nth)


def held():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[5]) * os.sysconf("SC_PAGESIZE")


def steady(text, turns):
    """As many turns, of which the first alone is told; then how much memory was not given back since the first ones."""
    warm = turns // 2
    for turn in range(turns):
        if turn == warm:
            before = held()
        yield turn
        STATE["quiet"] = True
    STATE["quiet"] = False
    say(f"{text} -> after {turns - warm} turns {held() - before} bytes more are held")


def live(text):
    count = getattr(LIBRARY, "aclctsLiveCount", None)
    if count is None:
        say(f"skipped: {text}: the library does not count")
    else:
        objects, held = c_uint64(), c_uint64()
        count(ctypes.byref(objects), ctypes.byref(held))
        say(f"{text} -> {objects.value} objects, {held.value} bytes")


def lifecycle(steps, device):
    for name, argument in steps:
        step = getattr(LIBRARY, name, None)
        if step is not None:
            values = {"device": [c_int32(device)], "null": [c_void_p()], "": []}[argument]
            say(f"{name}({ {'device': device, 'null': 'NULL', '': ''}[argument] }) -> {step(*values)}")
'''

_IMPORT, _THREADED_IMPORT = "import sys\n", "import sys\nimport threading\n"

_STATE = 'STATE = {"accepted": None, "hits": [], "quiet": False}\n'

_SAY = """\
def say(text, end="\\n"):
    if STATE["quiet"]:
        return
    print(text, end=end, flush=True)  # so that the last line names a call that crashed
"""

_THREADED_STATE = '''\
class State(threading.local):
    """What each thread has of its own. `told`: what it has to say, which comes when all have ended: printing would keep
    them apart."""

    def __init__(self):
        self.values = {"accepted": None, "hits": [], "quiet": False, "told": None}

    def __getitem__(self, name):
        return self.values[name]

    def __setitem__(self, name, value):
        self.values[name] = value


STATE = State()
'''

_THREADED_SAY = '''\
def say(text, end="\\n"):
    if STATE["quiet"]:
        return
    if STATE["told"] is None:
        print(text, end=end, flush=True)  # so that the last line names a call, or threads, that crashed
    else:
        STATE["told"].append(text + end)


def parallel(text, *threads):
    """Run these functions at the same time."""
    say(text)
    start = threading.Barrier(len(threads))
    told = [[] for _ in threads]

    def run_thread(number):
        STATE["told"] = told[number]
        start.wait()
        threads[number]()

    running = [threading.Thread(target=run_thread, args=(number,)) for number in range(len(threads))]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    for number, lines in enumerate(told, 1):
        say(f"thread {number}:")
        say("".join(lines), end="")
    STATE["accepted"] = None
'''


def threaded(runtime: str) -> str:
    """`runtime` for a program with threads."""
    for plain, with_threads in ((_IMPORT, _THREADED_IMPORT), (_STATE, _THREADED_STATE), (_SAY, _THREADED_SAY)):
        before, found, after = runtime.partition(plain)
        if not found:
            raise ValueError(f"the runtime has no {plain!r}")
        runtime = before + with_threads + after
    return runtime


MAIN = """\
if len(sys.argv) < 2:
    print(f"usage: {sys.argv[0]} LIBRARY [DEVICE]", file=sys.stderr)
    sys.exit(2)
try:
    LIBRARY = ctypes.CDLL(sys.argv[1])
except OSError as error:
    print(f"{error}; one with sanitizers or hooks for coverage needs repro.c", file=sys.stderr)
    sys.exit(2)

@FUNCTIONS@
AGAIN = @AGAIN@


def run():
@STEPS@


DEVICE = int(sys.argv[2]) if len(sys.argv) > 2 else 0
lifecycle([("aclInit", "null"), ("aclrtSetDevice", "device")], DEVICE)
run()
lifecycle([("aclrtResetDevice", "device"), ("aclFinalize", "")], DEVICE)
say("completed")
"""
