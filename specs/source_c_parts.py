"""The fixed parts of the standalone C form: each piece is emitted only when something uses what it defines."""

from __future__ import annotations

HEAD = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
"""

MAIN = """\
static void enter(int device)
{
    int (*init)(const char *) = NULL;
    int (*set_device)(int32_t) = NULL;
    if (load_if_there("aclInit", &init, sizeof init))
        say("aclInit(NULL) -> %d\\n", init(NULL));
    if (load_if_there("aclrtSetDevice", &set_device, sizeof set_device))
        say("aclrtSetDevice(%d) -> %d\\n", device, set_device(device));
}

static void leave(int device)
{
    int (*reset_device)(int32_t) = NULL;
    int (*finalize)(void) = NULL;
    if (load_if_there("aclrtResetDevice", &reset_device, sizeof reset_device))
        say("aclrtResetDevice(%d) -> %d\\n", device, reset_device(device));
    if (load_if_there("aclFinalize", &finalize, sizeof finalize))
        say("aclFinalize() -> %d\\n", finalize());
}

static void run(void)
{
@STEPS@
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s LIBRARY [DEVICE]\\n", argv[0]);
        return 2;
    }
    dirty_heap();
    library = dlopen(argv[1], RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\\n", dlerror());
        return 2;
    }
@LOAD@
    const int device = argc > 2 ? atoi(argv[2]) : 0;
@FIRST@@OPENING@    enter(device);
    run();
    leave(device);
    say("completed\\n");
@LAST@@CLOSING@    return @RESULT@;
}
"""

RESERVED = frozenset(
    {
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "asm",
        "typeof",
        "bool",
        "true",
        "false",
        "errno",
        "stdin",
        "stdout",
        "stderr",
        "linux",
        "unix",
        "alloca",
        "assert",
        "complex",
        "main",
        "ret",
        "run",
        "enter",
        "leave",
        "same",
        "kept",
        "noted",
        "piece",
        "environ",
        "optarg",
        "optind",
        "opterr",
        "optopt",
        "memcpy",
        "memset",
        "exit",
    }
)
"""Identifiers that are keywords, macros or names of the fixed parts, beside those found in the text of the parts."""

PIECES: tuple[tuple[str, str], ...] = (
    (
        "quiet",
        """\
static bool quiet; /* of turns that only repeat what was said */""",
    ),
    (
        "say",
        """\
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    if (quiet)
        return;
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    fflush(stdout); /* so that the last line names a call that crashed */
}""",
    ),
    (
        "in_loop",
        """\
__attribute__((format(printf, 1, 2))) static const char *in_loop(const char *format, ...)
{
    static char text[65536];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return text;
}""",
    ),
    (
        "library load_if_there load",
        """\
static void *library;

static bool load_if_there(const char *name, void *pointer, size_t size)
{
    void *symbol = dlsym(library, name);
    if (symbol != NULL)
        memcpy(pointer, &symbol, size);
    return symbol != NULL;
}""",
    ),
    (
        "load",
        """\
static void load(const char *name, void *pointer, size_t size)
{
    if (!load_if_there(name, pointer, size)) {
        fprintf(stderr, "the library has no %s\\n", name);
        exit(2);
    }
}""",
    ),
    (
        "dirty_heap",
        """\
/* Fresh memory is dirty, so that what a library forgets to initialise shows. */
static void dirty_heap(void)
{
#ifdef __GLIBC__
    enum { SIZE = 16 << 20 };
    mallopt(M_MMAP_THRESHOLD, 2 * SIZE);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_ARENA_MAX, 1);
    unsigned char *volatile heap = malloc(SIZE);
    if (heap != NULL)
        memset(heap, 0xA5, SIZE);
    free(heap);
#endif
}""",
    ),
    (
        "progress begin_below watch_over child",
        """\
/* What the process that makes the calls tells the one that watches over it. */
struct progress {
    unsigned long calls;
    bool ended;
};
static volatile struct progress *progress;
static pid_t child;

enum { PATIENCE = 20 }; /* seconds for a call */""",
    ),
    (
        "begin_below",
        """\
static pid_t begin_below(void)
{
    void *shared = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    progress = shared;
    fflush(stdout);
    pid_t below = shared == MAP_FAILED ? -1 : fork();
    if (below < 0) {
        perror("fork");
        exit(2);
    }
    return below;
}""",
    ),
    (
        "watch_over",
        """\
static int watch_over(pid_t below, unsigned patience)
{
    int status = 0;
    unsigned idle = 0;
    unsigned long calls = 0;
    while (waitpid(below, &status, WNOHANG) == 0) {
        usleep(100000);
        idle = progress->calls == calls ? idle + 1 : 0;
        calls = progress->calls;
        if (patience > 0 && idle > 10 * patience) {
            kill(below, SIGKILL);
            waitpid(below, &status, 0);
            puts("\\nshown here: it does not return");
            return 1;
        }
    }
    if (WIFSIGNALED(status)) {
        printf("\\nended by signal %d\\n", WTERMSIG(status));
        return 128 + WTERMSIG(status);
    }
    if (progress->ended)
        return WEXITSTATUS(status);
    puts("\\nshown here: the process ends");
    return 1;
}""",
    ),
    (
        "hits",
        """\
/* What the callbacks saw; printed below the call during which they were reached. */
static char hits[65536];""",
    ),
    (
        "reached",
        """\
__attribute__((format(printf, 1, 2))) static void reached(const char *format, ...)
{
    size_t used = strlen(hits);
    va_list args;
    used += (size_t)snprintf(hits + used, sizeof hits - used, "    reached ");
    va_start(args, format);
    if (used < sizeof hits)
        vsnprintf(hits + used, sizeof hits - used, format, args);
    va_end(args);
    used = strlen(hits);
    if (used + 1 < sizeof hits)
        strcpy(hits + used, "\\n");
}""",
    ),
    (
        "hits_reached",
        """\
/* Callbacks that were reached during this call. */
static unsigned hits_reached(void)
{
    unsigned lines = 0;
    for (const char *at = hits; *at != 0; at++)
        lines += *at == '\\n';
    return lines;
}""",
    ),
    (
        "begin",
        """\
static void begin(const char *text)
{
    say("%s", text);
}""",
    ),
    (
        "finish",
        """\
static void finish(void)
{
    say("\\n%s", hits);
    hits[0] = 0;
}""",
    ),
    (
        "last_call ACCEPTED REFUSED NO_CALL answer_code answer_pointer bound",
        """\
static enum { NO_CALL, REFUSED, ACCEPTED } last_call = NO_CALL;""",
    ),
    (
        "answer_code",
        """\
static void answer_code(int code)
{
    last_call = code == 0 ? ACCEPTED : REFUSED;
    say(" -> %d", code);
}""",
    ),
    (
        "answer_pointer",
        """\
static void answer_pointer(uintptr_t pointer)
{
    last_call = pointer != 0 ? ACCEPTED : REFUSED;
    say(" -> 0x%lx", (unsigned long)pointer);
}""",
    ),
    (
        "watched watch OPEN OTHERWISE SHOWN",
        """\
/* Whether the fault shows in what the watched call answered; open as long as that call has not come. */
static enum answer { OPEN, OTHERWISE, SHOWN } watched = OPEN;""",
    ),
    (
        "all_as_seen as_seen",
        """\
/* Whether all came as the suite saw it: after other answers the watched one may be as it should be. */
static bool all_as_seen = true;""",
    ),
    (
        "as_seen",
        """\
static void as_seen(bool same)
{
    all_as_seen &= same;
}""",
    ),
    (
        "watch",
        """\
static void watch(enum answer now)
{
    if (now == SHOWN && !all_as_seen)
        now = OPEN;
    if (now > watched)
        watched = now;
}""",
    ),
    (
        "cell_written",
        """\
static bool cell_written(const void *cell, size_t size)
{
    for (size_t k = 0; k < size; k++)
        if (((const unsigned char *)cell)[k] != 0xC5)
            return true;
    return false;
}""",
    ),
    (
        "cell_value",
        """\
static uintptr_t cell_value(const void *cell, size_t size)
{
    uintptr_t value = 0;
    memcpy(&value, cell, size);
    return value;
}""",
    ),
    (
        "show_cell",
        """\
static void show_cell(const char *name, const void *cell, size_t size, bool pointer)
{
    if (!cell_written(cell, size))
        say(" %s=untouched", name);
    else
        say(pointer ? " %s=0x%lx" : " %s=%lu", name, (unsigned long)cell_value(cell, size));
}""",
    ),
    (
        "slot unset bound",
        """\
/* What a call gave: a handle or another output. */
struct slot {
    bool set;
    uintptr_t value;
};""",
    ),
    ("unset", "static const struct slot unset = {false, 0};"),
    (
        "bound",
        """\
/* A refused call gives nothing, nor does an output that was not written or a NULL handle. */
static struct slot bound(const void *cell, size_t size, bool handle)
{
    struct slot slot = {false, cell_value(cell, size)};
    slot.set = last_call == ACCEPTED && cell_written(cell, size) && (!handle || slot.value != 0);
    return slot;
}""",
    ),
    (
        "memory lend keep give_back lend_cell unlend",
        """\
/* Caller memory: ends at an inaccessible page, has guard bytes in front. */
enum { PAGE = 65536, GUARD = 64, GUARD_BYTE = 0x9E };

struct memory {
    unsigned char *at;
    size_t size;
    unsigned char *was; /* what it held, when the call must not change it */
};

static size_t mapped_for(size_t size)
{
    return (size + GUARD + PAGE - 1) / PAGE * PAGE + PAGE;
}""",
    ),
    (
        "lend",
        """\
static struct memory lend(size_t size)
{
    size_t mapped = mapped_for(size);
    unsigned char *start = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED || mprotect(start + mapped - PAGE, PAGE, PROT_NONE) != 0) {
        perror("mmap");
        exit(2);
    }
    struct memory memory = {start + mapped - PAGE - size, size, NULL};
    memset(memory.at - GUARD, GUARD_BYTE, GUARD);
    for (size_t k = 0; k < size; k++)
        memory.at[k] = (unsigned char)(0xC5 + 7 * (k % 251));
    return memory;
}""",
    ),
    (
        "unlend",
        """\
static void unlend(void *at, size_t size)
{
    size_t mapped = mapped_for(size);
    munmap((unsigned char *)at + size + PAGE - mapped, mapped);
}""",
    ),
    (
        "lend_cell",
        """\
/* Out parameters start as a sentinel, so that an untouched one is told apart. */
static void *lend_cell(size_t size)
{
    return memset(lend(size).at, 0xC5, size);
}""",
    ),
    (
        "default_room",
        """\
/* A size that no function accepts anyway gets a short piece of memory. */
static size_t default_room(size_t size)
{
    return size <= 4096 ? size : 256;
}""",
    ),
    (
        "keep",
        """\
static void keep(struct memory *memory)
{
    memory->was = malloc(memory->size + 1);
    if (memory->was != NULL)
        memcpy(memory->was, memory->at, memory->size);
}""",
    ),
    (
        "give_back",
        """\
/* Whether it is whole. */
static bool give_back(const char *name, struct memory *memory)
{
    bool whole = true;
    for (int k = 1; k <= GUARD && whole; k++)
        if (memory->at[-k] != GUARD_BYTE) {
            say(" %s:WRITTEN-IN-FRONT(%d)", name, -k);
            whole = false;
        }
    if (memory->was != NULL && memcmp(memory->was, memory->at, memory->size) != 0) {
        say(" %s:INPUT-CHANGED", name);
        whole = false;
    }
    free(memory->was);
    unlend(memory->at, memory->size);
    return whole;
}""",
    ),
    (
        "ramp",
        """\
static void ramp(unsigned char *at, unsigned start, size_t size)
{
    for (size_t k = 0; k < size; k++)
        at[k] = (unsigned char)(start + k);
}""",
    ),
    (
        "checksum",
        """\
/* CRC-32 as zlib has it. */
static uint32_t checksum(uint32_t crc, const unsigned char *data, size_t size)
{
    static uint32_t table[256];
    for (uint32_t n = 0; n < 256 && table[255] == 0; n++) {
        uint32_t c = n;
        for (int k = 0; k < 8; k++)
            c = (c & 1 ? 0xEDB88320u : 0) ^ c >> 1;
        table[n] = c;
    }
    crc = ~crc;
    for (size_t k = 0; k < size; k++)
        crc = table[(crc ^ data[k]) & 0xFF] ^ crc >> 8;
    return ~crc;
}""",
    ),
    (
        "show_bytes",
        """\
static void show_bytes(const char *name, const unsigned char *data, size_t size)
{
    say(" %s=", name);
    if (size > 128)
        say("%lu bytes, crc32 %08x, ", (unsigned long)size, checksum(0, data, size));
    for (size_t k = 0; k < size && k < 128; k++)
        say("%02x", data[k]);
    say(size > 128 ? "..." : "");
}""",
    ),
    (
        "show_room",
        """\
static void show_room(const char *name, const unsigned char *data, size_t size)
{
    size_t k = 0;
    while (k < size && data[k] == (unsigned char)(0xC5 + 7 * (k % 251)))
        k++;
    if (k < size)
        show_bytes(name, data, size);
    else
        say(" %s=untouched", name);
}""",
    ),
    (
        "object",
        """\
/* The user's objects: addresses that nobody looks into. */
static void *object(int number)
{
    static char *pages;
    if (pages == NULL)
        pages = mmap(NULL, 5 * 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages + number * 65536;
}""",
    ),
    (
        "mapped",
        """\
/* Whether `address` lies in a mapping with all of `rights`. */
static bool mapped(uintptr_t address, const char *rights)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096], mode[5];
    unsigned long from, to;
    bool found = false;
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL)
        found = sscanf(line, "%lx-%lx %4s", &from, &to, mode) == 3 && address >= from && address < to;
    if (maps != NULL)
        fclose(maps);
    for (; found && *rights != 0; rights++)
        found = strchr(mode, *rights) != NULL;
    return found;
}""",
    ),
    (
        "area locate",
        """\
/* Where a data area lies, as the library told. */
struct area {
    bool known;
    unsigned char *base;
    size_t size;
};""",
    ),
    (
        "locate",
        """\
static void locate(struct area *area, const void *base, const size_t *size)
{
    if (last_call != ACCEPTED || !cell_written(base, sizeof area->base))
        return;
    memcpy(&area->base, base, sizeof area->base);
    area->size = size != NULL && cell_written(size, sizeof *size) ? *size : SIZE_MAX;
    area->known = true;
}""",
    ),
    (
        "usable move",
        """\
typedef int (*copy_function)(void *, size_t, const void *, size_t, int);

/* Whether the range may be touched; `copy` tells how: by aclrtMemcpy where this process cannot reach the area. */
static bool usable(const char *text, const struct area *area, size_t offset, size_t length, copy_function *copy)
{
    if (!area->known)
        say("skipped: %s: no data area known\\n", text);
    else if (area->base == NULL || offset > area->size || length > area->size - offset)
        say("%s -> fault: outside of the area of %lu bytes\\n", text, (unsigned long)area->size);
    else {
        if (mapped((uintptr_t)area->base, "rw") || !load_if_there("aclrtMemcpy", copy, sizeof *copy))
            *copy = NULL;
        return true;
    }
    return false;
}

static int move(copy_function copy, void *to, const void *from, size_t size, int kind)
{
    if (copy != NULL)
        return copy(to, size, from, size, kind);
    memcpy(to, from, size);
    return 0;
}""",
    ),
    (
        "write_area",
        """\
/* Writes `piece` again and again until `length` bytes are written. */
static void write_area(const char *text, const struct area *area, size_t offset, const unsigned char *piece,
                       size_t period, size_t length)
{
    copy_function copy = NULL;
    int code = 0;
    if (!usable(text, area, offset, length, &copy))
        return;
    begin(text);
    for (size_t done = 0; done < length && code == 0; done += period)
        code = move(copy, area->base + offset + done, piece, length - done < period ? length - done : period, 1);
    if (code != 0)
        say(" -> copy:%d", code);
    say("\\n");
}""",
    ),
    (
        "read_crc read_area",
        """\
static uint32_t read_crc;""",
    ),
    (
        "read_area",
        """\
static void read_area(const char *text, const struct area *area, size_t offset, size_t length)
{
    static unsigned char piece[65536];
    copy_function copy = NULL;
    uint32_t crc = 0;
    int code = 0;
    read_crc = UINT32_MAX; /* nothing was read */
    if (!usable(text, area, offset, length, &copy))
        return;
    begin(text);
    for (size_t done = 0; done < length && code == 0; done += sizeof piece) {
        size_t size = length - done < sizeof piece ? length - done : sizeof piece;
        code = move(copy, piece, area->base + offset + done, size, 2);
        crc = checksum(crc, piece, size);
    }
    if (code == 0)
        read_crc = crc;
    if (code != 0)
        say(" -> copy:%d", code);
    else if (length <= 4096)
        show_bytes("content", piece, length);
    else
        say(" crc32 %08x", crc);
    say("\\n");
}""",
    ),
    (
        "fail_allocation",
        """\
static void fail_allocation(const char *text, uint64_t nth)
{
    void (*fail)(uint64_t) = NULL;
    if (load_if_there("aclctsFailAllocation", &fail, sizeof fail)) {
        say("%s\\n", text);
        fail(nth);
    } else
        say("skipped: %s: the library cannot inject faults\\n", text);
}""",
    ),
    (
        "held",
        """\
/* Bytes of private writable memory, less what malloc has free where it tells. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static long held(void)
{
    if (__sanitizer_get_current_allocated_bytes != NULL) /* it keeps freed memory back for long */
        return (long)__sanitizer_get_current_allocated_bytes();
    typedef struct { size_t arena[8], free, top; } state;
    state (*allocator)(void) = NULL;
    void *symbol = dlsym(RTLD_DEFAULT, "mallinfo2");
    memcpy(&allocator, &symbol, sizeof symbol);
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file != NULL) {
        if (fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
            pages = 0;
        fclose(file);
    }
    return (long)(pages * (unsigned long)sysconf(_SC_PAGESIZE)) - (long)(allocator != NULL ? allocator().free : 0);
}""",
    ),
    (
        "steady",
        """\
static long grown;
static unsigned long grown_turns;

/* Whether there is another turn; says in the end how much memory was not given back since the first ones. */
static bool steady(const char *text, unsigned long turn, unsigned long turns)
{
    static long before;
    const unsigned long warm = turns < 16 ? turns / 2 : 16;
    if (turn == warm)
        before = held();
    quiet = turn > 0 && turn < turns;
    if (turn == turns) {
        grown = held() - before;
        grown_turns = turns - warm;
        say("%s -> after %lu turns %ld bytes more are held\\n", text, grown_turns, grown);
    }
    return turn < turns;
}""",
    ),
    (
        "growth_shown",
        """\
/* Whether the memory that is held grows about as fast as the suite saw; too few turns tell nothing. */
static enum answer growth_shown(double bytes, double turns)
{
    const double expected = bytes / turns * (double)grown_turns;
    if (expected < 65536)
        return OPEN;
    return (double)grown > expected / 2 ? SHOWN : (double)grown < expected / 8 ? OTHERWISE : OPEN;
}""",
    ),
    (
        "live live_counted live_objects live_bytes",
        """\
/* Objects and bytes that live beyond those of the first count. */
static bool live_counted;
static int64_t live_objects, live_bytes;

static void live(const char *text)
{
    static uint64_t first_objects, first_bytes;
    void (*count)(uint64_t *, uint64_t *) = NULL;
    uint64_t objects = 0, bytes = 0;
    if (load_if_there("aclctsLiveCount", &count, sizeof count)) {
        count(&objects, &bytes);
        if (!live_counted) {
            live_counted = true;
            first_objects = objects;
            first_bytes = bytes;
        }
        live_objects = (int64_t)(objects - first_objects);
        live_bytes = (int64_t)(bytes - first_bytes);
        say("%s -> %lu objects, %lu bytes\\n", text, (unsigned long)objects, (unsigned long)bytes);
    } else
        say("skipped: %s: the library does not count\\n", text);
}""",
    ),
    (
        "lost",
        """\
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* Whether there is memory that nobody can reach any more: only the address sanitizer sees that. */
static enum answer lost(void)
{
    if (__lsan_do_recoverable_leak_check == NULL)
        return OPEN;
    return __lsan_do_recoverable_leak_check() != 0 ? SHOWN : OTHERWISE;
}""",
    ),
    (
        "live_shown",
        """\
/* Whether so much lives as the suite saw. */
static enum answer live_shown(int64_t objects, int64_t bytes)
{
    if (live_counted && live_objects == objects && live_bytes == bytes)
        return SHOWN;
    return live_counted && live_objects <= 0 && live_bytes <= 0 ? OTHERWISE : OPEN;
}""",
    ),
)

_PARALLEL = (
    "parallel",
    """\
/* Runs these functions at the same time. */
struct thread {
    void (*run)(void);
    pthread_barrier_t *start;
    char told[TOLD];
};

static void *run_thread(void *argument)
{
    struct thread *thread = argument;
    told = thread->told;
    pthread_barrier_wait(thread->start);
    thread->run();
    return NULL;
}

static void parallel(const char *text, unsigned count, void (*const *functions)(void))
{
    static struct thread threads[3];
    pthread_t ids[3];
    pthread_barrier_t start;
    say("%s\\n", text);
    pthread_barrier_init(&start, NULL, count);
    for (unsigned k = 0; k < count; k++) {
        threads[k].run = functions[k];
        threads[k].start = &start;
        threads[k].told[0] = 0;
        if (pthread_create(&ids[k], NULL, run_thread, &threads[k]) != 0) {
            perror("pthread_create");
            exit(2);
        }
    }
    for (unsigned k = 0; k < count; k++)
        pthread_join(ids[k], NULL);
    for (unsigned k = 0; k < count; k++)
        say("thread %u:\\n%s", k + 1, threads[k].told);
    pthread_barrier_destroy(&start);
}""",
)

_SAY = (
    "say told TOLD",
    """\
/* What a thread has to say comes when all have ended: printing would keep them apart. */
enum { TOLD = 1 << 20 };
static _Thread_local char *told;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (told != NULL) {
        const size_t used = strlen(told);
        vsnprintf(told + used, TOLD - used, format, args);
    } else {
        vprintf(format, args);
        fflush(stdout); /* so that the last line names a call, or threads, that crashed */
    }
    va_end(args);
}""",
)


_OBJECT_ONCE = """

static void *object(int number)
{
    static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&first);
    void *found = object_of(number);
    pthread_mutex_unlock(&first);
    return found;
}"""


def threaded(pieces: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """`pieces` for a program with threads: what a call notes, each thread has of its own."""
    own = {
        "static char text[": "static _Thread_local char text[",
        "static char hits[": "static _Thread_local char hits[",
        "static enum { NO_CALL": "static _Thread_local enum { NO_CALL",
    }
    changed: list[tuple[str, str]] = []
    for defines, code in pieces:
        for shared, each in own.items():
            code = code.replace(shared, each)
        if defines == "object":
            code = code.replace("object(int number)", "object_of(int number)") + _OBJECT_ONCE
        changed.append(_SAY if defines == "say" else (defines, code))
    return (*changed, _PARALLEL)


def told_of(pieces: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """`pieces` for a program that another process watches over: each call tells it."""
    started = "static void begin(const char *text)\n{\n"
    return tuple((defines, code.replace(started, f"{started}    progress->calls++;\n")) for defines, code in pieces)
