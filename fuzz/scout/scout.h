/* The scout: makes programs of records, runs and checks them as fast as it can, and tells of those that are worth a
 * closer look: what reached something new, broke a promise or may have lost memory. What it keeps lies in shared memory,
 * so that nothing of it is lost when the library ends this process. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>

struct entry {
    uint32_t count, calls, turns, paid, told, prime; /* prime: given, or reached edges */
    uint8_t records[MOST * RECORD];
};
_Static_assert(sizeof(struct entry) == ENTRY_BYTES, "entries are laid out as the parent expects");

static struct entry *entries;
static void *library;

static uint64_t dice(void)
{
    uint64_t x = control->dice0, y = control->dice1;
    control->dice0 = y;
    x ^= x << 23;
    x ^= x >> 17 ^ y ^ y >> 26;
    control->dice1 = x;
    return x + y;
}

static unsigned below(unsigned most)
{
    return most ? (unsigned)((dice() >> 32) * most >> 32) : 0;
}

/* ------------------------------------------------------------------------------------------------------- coverage */

static uint8_t hits[EDGE_CELLS];
static uint32_t touched[EDGE_CELLS];
static unsigned touched_count;
static bool covering;
static uint32_t block_before;
static uint64_t library_start;
static uint8_t *counters, *counters_end;

static inline void cover(uint64_t pc)
{
    if (!covering)
        return;
    uint32_t block = (uint32_t)((pc - library_start) * 0x9E3779B97F4A7C15ull >> 40) % EDGE_CELLS;
    uint32_t edge = block ^ block_before;
    block_before = block >> 1;
    if (hits[edge] == 0 && touched_count < EDGE_CELLS)
        touched[touched_count++] = edge;
    if (hits[edge] != 255)
        hits[edge]++;
}

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    cover((uint64_t)(uintptr_t)__builtin_return_address(0));
}

void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop);
void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop)
{
    (void)start;
    (void)stop;
}

void __sanitizer_cov_trace_pc_guard(uint32_t *guard);
void __sanitizer_cov_trace_pc_guard(uint32_t *guard)
{
    (void)guard;
    cover((uint64_t)(uintptr_t)__builtin_return_address(0));
}

void __sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop);
void __sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop)
{
    counters = start;
    counters_end = stop - start > EDGE_CELLS ? start + EDGE_CELLS : stop;
}

/* One bit for 1, 2, 3, 4 to 7, 8 to 15, 16 to 31, 32 to 127 and more. */
static uint8_t hit_bucket(uint8_t count)
{
    static const uint8_t least[] = {1, 2, 3, 4, 8, 16, 32, 128};
    unsigned bucket = 0;
    while (bucket < 7 && count >= least[bucket + 1])
        bucket++;
    return (uint8_t)(1u << bucket);
}

static unsigned seen_edge(uint32_t edge, uint8_t count)
{
    uint8_t *cell = shared + SEEN_AT + edge, bucket = hit_bucket(count);
    const unsigned is_new = (*cell & bucket) == 0;
    *cell |= bucket;
    if (is_new)
        note_news(cell, bucket);
    return is_new;
}

static void cover_start(void)
{
    block_before = 0;
    if (counters != NULL)
        memset(counters, 0, (size_t)(counters_end - counters));
    covering = true;
}

/* How many edges were passed that never were, or as often as never before. */
static unsigned cover_end(bool counts)
{
    unsigned found = 0;
    covering = false;
    for (unsigned n = 0; n < touched_count; n++) {
        if (counts)
            found += seen_edge(touched[n], hits[touched[n]]);
        hits[touched[n]] = 0;
    }
    touched_count = 0;
    for (uint8_t *at = counters; counts && at < counters_end; at++)
        if (*at != 0)
            found += seen_edge((uint32_t)(at - counters), *at);
    return found;
}

static int find_range(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    const uint64_t wanted = *(const uint64_t *)data, base = (uint64_t)info->dlpi_addr;
    for (int k = 0; k < info->dlpi_phnum; k++) {
        const uint64_t start = base + info->dlpi_phdr[k].p_vaddr;
        if (info->dlpi_phdr[k].p_type == PT_LOAD && start <= wanted && wanted < start + info->dlpi_phdr[k].p_memsz) {
            library_start = base;
            return 1;
        }
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------------- making programs */

static struct input {
    unsigned count;
    struct entry *parent;
    bool used[MOST];
    uint8_t records[MOST][RECORD];
} input;

static uint64_t some_integer(void)
{
    return dice() >> below(64);
}

static void make_number(uint8_t *to, const struct parameter *q)
{
    enum { TYPICAL = 3, OWN = 6, SMALL = 8, WIDTH = 12, ANY = 13, HANDLES = 15, WAYS = 16 };
    static const uint8_t widths[] = {8, 16, 31, 32, 63};
    const unsigned way = below(WAYS);
    uint64_t raw = some_integer();
    if (way < OWN && q != NULL && q->owned)
        raw = q->own[way < TYPICAL ? 0 : below(q->owned)];
    else if (way < SMALL)
        raw = below(1u << below(10));
    else if (way < WIDTH)
        raw = (1ull << widths[below(sizeof widths)]) + below(3) - 1;
    *to = way < ANY ? 0 : (uint8_t)(way < HANDLES ? KNOWN + below(KNOWN_WAYS) : 1 + below(255));
    memcpy(to + 1, &raw, sizeof raw);
}

/* The integer parameter with that number, NULL where there is none. */
static const struct parameter *integer_parameter(const struct function *f, unsigned number)
{
    for (unsigned p = 0; p < f->count; p++)
        if (f->parameters[p].passing == INTEGER_IN && number-- == 0)
            return &f->parameters[p];
    return NULL;
}

static int focus; /* the family that functions are taken from most often */

static unsigned some_function(bool observing)
{
    unsigned number = 0;
    const bool any = below(6) == 0;
    for (unsigned tries = 0; tries < 64; tries++) {
        number = below(FUNCTIONS);
        const struct function *f = &functions[number];
        if ((any || f->family < 0 || f->family == focus) && (!observing || f->observes) && IS_THERE(f))
            break;
    }
    return number;
}

/* One of the oldest, one of the newest, or any. */
static uint8_t some_handle(void)
{
    const unsigned way = below(8);
    return (uint8_t)(way < 4 ? below(4) : way < 7 ? 255 - below(4) : below(256));
}

/* The third byte of a record whose call is repeated, most often a few times. */
static uint8_t some_turns(void)
{
    return (uint8_t)(256 - TURNS + below(below(2) ? 4 : TURNS));
}

static void make_record(uint8_t *to, bool observing)
{
    memset(to, 0, RECORD);
    to[0] = (uint8_t)some_function(observing);
    to[1] = (uint8_t)(below(16) ? below(2) : 200 + below(PARAMS));
    if (below(32) == 0)
        to[2] = some_turns();
    else if (control->faults && below(48) == 0)
        to[2] = ARMED;
    for (unsigned k = 3; k < 6; k++)
        to[k] = some_handle();
    make_number(to + 6, integer_parameter(&functions[to[0]], 0));
    make_number(to + 15, integer_parameter(&functions[to[0]], 1));
}

static void insert(unsigned at, const uint8_t *record)
{
    if (input.count == MOST)
        return;
    memmove(input.records[at + 1], input.records[at], (size_t)(input.count - at) * RECORD);
    memcpy(input.records[at], record, RECORD);
    input.count++;
}

static void erase(unsigned at)
{
    memmove(input.records[at], input.records[at + 1], (size_t)(input.count - at - 1) * RECORD);
    input.count--;
}

static void change_field(uint8_t *record)
{
    uint8_t other[RECORD];
    make_record(other, false);
    uint8_t *number = record + (below(3) ? 6 : 15);
    uint64_t raw;
    switch (below(8)) {
    case 0:
        record[0] = other[0];
        break;
    case 1:
        record[1] = (uint8_t)(record[1] < 200 && below(2) ? 200 + below(PARAMS) : below(2));
        break;
    case 2:
        record[2] = record[2] ? 0 : some_turns();
        break;
    case 3:
    case 4:
        record[3 + below(3)] = other[3];
        break;
    case 5:
        make_number(number, integer_parameter(&functions[record[0] % FUNCTIONS], number != record + 6));
        break;
    default:
        memcpy(&raw, number + 1, sizeof raw);
        raw = below(2) ? raw + below(9) - 4 : raw ^ 1ull << below(64);
        memcpy(number + 1, &raw, sizeof raw);
        *number = below(4) ? *number : 0;
    }
}

/* A function that makes a handle of that kind from nothing, FUNCTIONS where there is none. */
static unsigned maker_of(int kind)
{
    const unsigned start = below(FUNCTIONS);
    for (unsigned k = 0; k < FUNCTIONS; k++) {
        const unsigned number = (start + k) % FUNCTIONS;
        const struct function *f = &functions[number];
        bool makes = f->creates == kind, free = IS_THERE(f);
        for (unsigned p = 0; p < f->count; p++) {
            makes |= f->parameters[p].creates == kind;
            free &= f->parameters[p].passing != HANDLE_IN;
        }
        if (makes && free)
            return number;
    }
    return FUNCTIONS;
}

/* Inserts a call, and before it what makes some of the handles that it takes. */
static void insert_call(unsigned at, uint8_t *record)
{
    const struct function *f = &functions[record[0] % FUNCTIONS];
    unsigned small = 0;
    for (unsigned p = 0; p < f->count; p++) {
        const struct parameter *q = &f->parameters[p];
        if (q->passing == INTEGER_IN)
            continue;
        uint8_t *chosen = record + 3 + small++ % 3;
        const unsigned maker = q->passing == HANDLE_IN && below(4) == 0 ? maker_of(q->handle) : FUNCTIONS;
        if (maker == FUNCTIONS || input.count + 1 >= MOST)
            continue;
        uint8_t first[RECORD];
        make_record(first, false);
        first[0] = (uint8_t)maker;
        first[1] = 0;
        make_number(first + 6, integer_parameter(&functions[maker], 0));
        insert(at++, first);
        *chosen = 255;
    }
    insert(at, record);
}

/* The most promising of a few: what paid, little used, and cheap. */
static struct entry *pick(void)
{
    struct entry *best = NULL;
    double most = -1;
    const bool any = below(2);
    for (unsigned k = 0; k < 4; k++) {
        struct entry *e = &entries[below((unsigned)control->entries)];
        for (unsigned tries = 0; !any && !e->prime && tries < 16; tries++)
            e = &entries[below((unsigned)control->entries)];
        const double cost = 10.0 + e->calls;
        const double promise = (1.0 + 4.0 * e->paid) / (1.0 + e->turns) / (any ? cost : __builtin_sqrt(cost));
        if (promise > most) {
            most = promise;
            best = e;
        }
    }
    best->turns++;
    return best;
}

static void take_from(const struct entry *other)
{
    if (other->count == 0)
        return;
    const unsigned start = below(other->count), length = 1 + below(other->count - start);
    const unsigned at = below(input.count + 1);
    for (unsigned k = 0; k < length; k++)
        insert(at + k <= input.count ? at + k : input.count, other->records + (start + k) * RECORD);
}

static void mutate_once(void)
{
    uint8_t record[RECORD];
    make_record(record, false);
    const unsigned at = below(input.count);
    switch (input.count ? below(12) : 0) {
    case 0:
    case 1:
    case 2:
        insert_call(input.count, record);
        break;
    case 3:
        insert_call(below(input.count + 1), record);
        break;
    case 4:
        erase(at);
        break;
    case 5:
        memcpy(record, input.records[at], RECORD);
        insert(below(input.count + 1), record);
        break;
    case 6:
        memcpy(record, input.records[at], RECORD);
        erase(at);
        insert(below(input.count + 1), record);
        break;
    case 7:
        input.count = below(input.count + 1);
        take_from(pick());
        break;
    case 8:
        take_from(pick());
        break;
    default:
        change_field(input.records[at]);
    }
}

static void load(const struct entry *from)
{
    input.count = from->count;
    memcpy(input.records, from->records, (size_t)from->count * RECORD);
}

/* Looks at what there is, so that what went wrong without a sign gives one. */
static void look_around(void)
{
    for (unsigned n = below(2) ? 1 + below(6) : 0; n > 0; n--) {
        uint8_t record[RECORD];
        make_record(record, true);
        insert(input.count, record);
    }
}

static void make_input(void)
{
    input.parent = NULL;
    input.count = 0;
    focus = functions[some_function(false)].family;
    if (control->entries == 0 || below(8) == 0) {
        for (unsigned n = 2 + below(20); n > 0; n--) {
            uint8_t record[RECORD];
            make_record(record, false);
            insert_call(input.count, record);
        }
    } else {
        input.parent = pick();
        load(input.parent);
        if (input.count)
            focus = functions[input.records[below(input.count)][0] % FUNCTIONS].family;
        do
            mutate_once();
        while (below(3) == 0);
    }
    look_around();
}

/* ---------------------------------------------------------------------------------------------- running and telling */

typedef void (*fail_function)(uint64_t);
typedef uint64_t (*fired_function)(void);
typedef void (*live_function)(uint64_t *, uint64_t *);
typedef uint64_t (*capabilities_function)(void);
typedef int (*init_function)(const char *);
typedef int (*device_function)(int32_t);
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static fail_function fail_allocation;
static fired_function faults_fired;
static uint64_t fired_before;
static live_function live_count;

struct balance {
    uint64_t objects, bytes, memory;
};

static struct balance weigh(void)
{
    struct balance now = {0, 0, 0};
    if (live_count != NULL)
        live_count(&now.objects, &now.bytes);
    if (__sanitizer_get_current_allocated_bytes != NULL && control->watched)
        now.memory = __sanitizer_get_current_allocated_bytes();
    return now;
}

/* What an input reached that none before it had. */
struct reached {
    unsigned edges, states;
};

enum result { FINE, BROKEN_PROMISE, BAD_AREA };

static uint64_t armed_at; /* where the transcript tells of it */

/* A fault that never came is not told of: a program that waits for one in vain is not judged. */
static void disarm(void)
{
    fail_allocation(0);
    if (faults_fired != NULL && faults_fired() == fired_before && armed_at < noted)
        words[armed_at] = (uint64_t)OP_RECORD << 56;
}

static void run_records(void)
{
    for (unsigned k = 0; k < input.count; k++) {
        const unsigned before = program.calls;
        if (input.records[k][2] == ARMED && fail_allocation != NULL && !program.armed) {
            const uint64_t nth = 1 + input.records[k][3] % 4u;
            armed_at = noted;
            fired_before = faults_fired != NULL ? faults_fired() : 0;
            note((uint64_t)OP_FAIL << 56 | nth);
            fail_allocation(nth);
            program.armed = true;
        }
        run_record(input.records[k]);
        input.used[k] = program.calls > before;
    }
    if (program.armed)
        disarm();
    clean_up();
}

static unsigned still_there(void)
{
    unsigned count = 0;
    for (unsigned k = 0; k < model.object_count; k++)
        count += model.objects[k].life != DEAD && model.objects[k].address_count > 0;
    return count;
}

/* Keeps what the last program did: a failure may need it. */
static void keep_passed(void)
{
    if (noted == 0 || noted >= PASSED_WORDS)
        return;
    uint64_t *slot = (uint64_t *)(void *)(shared + PASSED_AT) + control->passed % PASSED * PASSED_WORDS;
    slot[0] = noted;
    memcpy(slot + 1, words, (size_t)noted * 8);
    control->passed++;
}

/* Runs the input; afterwards its transcript is in `words`. `reached`: how much is new, NULL where that is not asked. */
static enum result run(struct reached *reached)
{
    keep_passed();
    noted = 0;
    control->length = 0;
    new_states = news.count = 0;
    poisoned = false;
    memset(input.used, 0, sizeof input.used);
    start_program();
    enum result result = FINE;
    cover_start();
    if (setjmp(stopped) == 0)
        run_records();
    else {
        result = poisoned ? BAD_AREA : BROKEN_PROMISE;
        if (program.armed)
            disarm();
        left += still_there();
    }
    control->programs++;
    control->calls += program.calls;
    const unsigned edges_found = cover_end(reached != NULL && result == FINE);
    if (reached != NULL)
        *reached = (struct reached){edges_found, new_states};
    return result;
}

/* Puts words behind those of the report that is being written. */
static void add_words(const uint64_t *from, uint64_t count)
{
    memcpy(shared + REPORT_WORDS_AT + 8 * control->report_length, from, (size_t)count * 8);
    control->report_length += count;
}

/* The programs before: how many, then of each how many words, and these. */
static void add_passed(void)
{
    const uint64_t count = control->passed < PASSED ? control->passed : PASSED;
    add_words(&count, 1);
    for (uint64_t n = control->passed - count; n < control->passed; n++) {
        const uint64_t *slot = (uint64_t *)(void *)(shared + PASSED_AT) + n % PASSED * PASSED_WORDS;
        add_words(slot, slot[0] + 1);
    }
}

static bool tell(enum report kind, uint64_t where)
{
    uint64_t *heads = (uint64_t *)(void *)(shared + REPORTS_AT);
    const uint64_t most = kind == REPORT_NEW ? control->reports_wanted : REPORTS;
    if (control->reports >= most || control->report_length + noted + PASSED * PASSED_WORDS > REPORT_WORDS || noted == WORDS)
        return false;
    uint64_t *head = heads + 4 * control->reports;
    head[0] = kind;
    head[1] = where;
    head[2] = control->report_length;
    if (kind == REPORT_BROKEN)
        add_passed();
    add_words(words, noted);
    head[3] = control->report_length - head[2];
    control->reports++;
    return true;
}

static unsigned place_of(const struct function *f, const char *clause)
{
    unsigned place = 0;
    for (const struct rule *r = f->rules; r->clause != NULL; r++, place++)
        if (r->clause == clause)
            return place;
    for (const struct promise *p = f->promises; p->clause != NULL; p++, place++)
        if (p->clause == clause)
            return place;
    return PLACES - 1;
}

/* Each kind of failure is told a few times. */
static void tell_broken(enum result result)
{
    unsigned number = 0, place = PLACES - 2;
    if (result == BROKEN_PROMISE) {
        number = (unsigned)(broke.function - functions);
        place = place_of(broke.function, broke.clause);
        place = place < PLACES ? place : PLACES - 1;
    }
    uint8_t *told = shared + TOLD_AT + number * PLACES + place;
    if (*told < LOOKS && tell(REPORT_BROKEN, (uint64_t)number << 16 | place))
        ++*told;
}

/* Whether the input reaches all of this once more. */
static bool reaches(const struct news *wanted)
{
    struct reached reached;
    for (unsigned k = 0; k < wanted->count; k++)
        *wanted->cells[k] &= (uint8_t)~wanted->bits[k];
    const enum result result = run(&reached);
    if (result != FINE)
        tell_broken(result);
    bool all = result == FINE;
    for (unsigned k = 0; k < wanted->count; k++) {
        all &= (*wanted->cells[k] & wanted->bits[k]) != 0;
        *wanted->cells[k] |= wanted->bits[k];
    }
    return all;
}

/* Leaves out what the input does not need to reach what it reached: what is built on it stays short. */
static void shorten(void)
{
    static struct news wanted;
    wanted = news;
    if (wanted.count == NEWS)
        return;
    for (unsigned k = input.count; k-- > 0 && !control->stop;) {
        const struct input before = input;
        erase(k);
        if (before.used[k] && !reaches(&wanted)) {
            input = before;
            input.records[k][2] = 0;
            if (before.records[k][2] < 256 - TURNS || !reaches(&wanted))
                input = before;
        }
    }
    if (!reaches(&wanted))
        memset(input.used, 1, sizeof input.used);
}

static void keep_input(bool urgent)
{
    shorten();
    struct entry *e = &entries[control->entries < ENTRIES ? control->entries : below(ENTRIES)];
    memset(e, 0, sizeof *e);
    for (unsigned k = 0; k < input.count; k++)
        if (input.used[k])
            memcpy(e->records + e->count++ * RECORD, input.records[k], RECORD);
    e->calls = program.calls;
    if (control->entries < ENTRIES)
        control->entries++;
    e->prime = urgent;
    e->told = urgent && tell(REPORT_NEW, 0);
    if (input.parent != NULL)
        input.parent->paid++;
}

/* Whether a program that gave everything back made counts or memory grow, every time it is run. */
static void suspect(struct balance before)
{
    enum { TIMES = 3 };
    struct balance after = weigh();
    for (unsigned k = 0; k < TIMES; k++) {
        const bool counted = after.objects > before.objects || after.bytes > before.bytes;
        if (!counted && after.memory <= before.memory)
            return;
        before = weigh();
        if (run(NULL) != FINE)
            return;
        after = weigh();
    }
    const bool counted = after.objects > before.objects || after.bytes > before.bytes;
    uint8_t *told = shared + TOLD_AT + FUNCTIONS_MOST * PLACES + counted;
    if (*told < SUSPECTS && tell(REPORT_LOST, counted) && ++*told == SUSPECTS && !counted)
        control->watched = 0;
}

static void one(void)
{
    struct reached reached;
    make_input();
    const unsigned left_before = left;
    const struct balance before = weigh();
    const enum result result = run(&reached);
    if (result != FINE) {
        tell_broken(result);
        return;
    }
    if (reached.edges || reached.states)
        keep_input(reached.edges > 0);
    else if (below((unsigned)control->audit_every) == 0)
        tell(REPORT_AUDIT, 0);
    if (left == left_before && !program.over && !model.full)
        suspect(before);
    if (live_count != NULL)
        left = (unsigned)weigh().objects; /* what was in doubt is mostly gone */
}

/* Entries that were put here by the parent, and a few of those that were not told of when they were new: what only
 * reached other states can wait. */
static void catch_up(void)
{
    enum { AT_ONCE = 1 };
    for (unsigned k = 0; k < control->entries && control->reports < AT_ONCE && !control->stop; k++) {
        struct entry *e = &entries[k];
        if (e->told == TOLD)
            continue;
        const bool given = e->told == GIVEN;
        e->told = TOLD; /* first: it may end this process */
        load(e);
        struct reached reached;
        const enum result result = run(&reached);
        if (result != FINE)
            tell_broken(result);
        else if (!given && !tell(REPORT_NEW, 0))
            e->told = UNTOLD;
        e->calls = program.calls;
    }
}

static void slice(void)
{
    control->reports = control->report_length = control->renew = 0;
    if (control->entries > ENTRIES)
        control->entries = 0; /* somebody wrote where he should not */
    const uint64_t until = control->calls + control->calls_wanted, most = control->programs + control->programs_wanted;
    catch_up();
    while (control->calls < until && control->programs < most && !control->renew && !control->stop) {
        one();
        control->renew = left > FLOOR_OBJECTS / 2;
    }
    control->length = 0;
}

/* ---------------------------------------------------------------------------------------------------------- process */

__attribute__((noreturn)) static void give_up(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why != NULL ? why : "failed");
    _exit(72);
}

/* A library whose start fails is left alone: what it does then is for the worker to tell. */
static void expect(const char *function, int code)
{
    enum { REPEATED_INITIALIZE = 100002 };
    if (code != 0 && code != REPEATED_INITIALIZE)
        give_up(function, "refused");
}

static void *find(const char *name)
{
    return dlsym(library, name);
}

#define AS(type, pointer) (((union { void *object; type function; }){.object = (pointer)}).function)

static void open_library(const char *path, int device)
{
    library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL)
        give_up(path, dlerror());
    find_functions();
    for (unsigned k = 0; k < FUNCTIONS && library_start == 0; k++)
        if (there[k]) {
            uint64_t place = (uint64_t)(uintptr_t)find(functions[k].name);
            dl_iterate_phdr(find_range, &place);
        }
    init_function init = AS(init_function, find("aclInit"));
    device_function set_device = AS(device_function, find("aclrtSetDevice"));
    expect("aclInit", init != NULL ? init(NULL) : 0);
    expect("aclrtSetDevice", set_device != NULL ? set_device(device) : 0);
    enum { FAULTS = 4, LIVE = 8 };
    capabilities_function capabilities = AS(capabilities_function, find("aclctsCapabilities"));
    const uint64_t bits = capabilities != NULL ? capabilities() : 0;
    if (bits & FAULTS)
        fail_allocation = AS(fail_function, find("aclctsFailAllocation"));
    faults_fired = AS(fired_function, find("aclctsFaultsFired"));
    if (bits & LIVE)
        live_count = AS(live_function, find("aclctsLiveCount"));
    control->faults = fail_allocation != NULL;
}

int main(int count, char **given)
{
    if (count != 7)
        give_up("scout", "it is started by acl-cts, not by hand");
    const int memory = atoi(given[3]), commands = atoi(given[4]), replies = atoi(given[5]);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != (pid_t)atol(given[6]))
        _exit(71);
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(SIGPIPE, SIG_IGN);
    shared = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory, 0);
    if (shared == MAP_FAILED)
        give_up("scout", strerror(errno));
    control = (volatile struct control *)(volatile void *)shared;
    words = (uint64_t *)(void *)(shared + WORDS_AT);
    entries = (struct entry *)(void *)(shared + ENTRIES_AT);
    open_library(given[1], atoi(given[2]));
    for (char bell = 'r';;) {
        if (write(replies, &bell, 1) != 1)
            _exit(71);
        ssize_t got = read(commands, &bell, 1);
        if (got != 1)
            _exit(0);
        slice();
        bell = 'r';
    }
}
