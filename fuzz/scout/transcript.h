/* What a program did, written down call by call where it outlives this process, and which states it reached. */
#include <setjmp.h>

static uint8_t *shared;
static volatile struct control *control;
static uint64_t *words;        /* the transcript of the program that runs */
static uint64_t noted;         /* of these, how many; told in `control` before each call */
static bool there[FUNCTIONS];  /* functions that the library has */
static bool poisoned;          /* a data area that cannot be used was told */
static jmp_buf stopped;        /* where a broken promise leads to */

static struct {
    const struct function *function;
    const char *clause;
} broke;

static void note(uint64_t word)
{
    if (noted < WORDS)
        words[noted++] = word;
}

/* --------------------------------------------------------------------------------------------------------- states */

/* Cells that the program that runs has set as the first one: states, and buckets of edges. */
enum { NEWS = 256 };
static struct news {
    unsigned count;
    uint8_t *cells[NEWS], bits[NEWS];
} news;

static void note_news(uint8_t *cell, uint8_t bits)
{
    if (news.count < NEWS) {
        news.cells[news.count] = cell;
        news.bits[news.count++] = bits;
    }
}

enum { PENDING = PARAMS * (FIELDS + 1) + 2 };
static uint32_t pending[PENDING];
static unsigned pending_count, new_states;

static unsigned magnitude(uint64_t of)
{
    return of < 4 ? (unsigned)of : 66u - (unsigned)__builtin_clzll(of);
}

static unsigned bucket_of(value v)
{
    switch (v.kind) {
    case NUMBER:
        return 8 + (v.is.number < 0 ? 0 : magnitude((uint64_t)v.is.number));
    case LIST:
    case SET:
        return 80 + magnitude(v.count);
    case TRUTH:
        return 160 + (v.is.number != 0);
    case OBJECT:
        return 170 + (unsigned)v.is.object->life;
    default:
        return (unsigned)v.kind;
    }
}

static uint32_t mixed(uint32_t a, uint32_t b)
{
    uint32_t h = (a ^ 0x9E3779B9u) * 0x85EBCA6Bu ^ (b + 0x7F4A7C15u) * 0xC2B2AE35u;
    return h ^ h >> 15;
}

static void await_state(uint32_t function, uint32_t place, uint32_t bucket)
{
    if (pending_count < PENDING)
        pending[pending_count++] = mixed(mixed(function, place), bucket);
}

/* The arguments before the call, in broad strokes. */
static void look_at_state(const struct function *f, const struct call *call)
{
    const uint32_t number = (uint32_t)(f - functions);
    pending_count = 0;
    for (unsigned p = 0; p < f->count; p++) {
        const value v = call->args[p];
        if (f->parameters[p].passing == INTEGER_IN)
            await_state(number, 1000 + p, bucket_of(v));
        else if (v.kind == NOTHING)
            await_state(number, 2000 + p, 0);
        else if (v.kind == OBJECT)
            for (unsigned n = 0; n < FIELDS; n++)
                await_state(number, FIELDS * p + n, bucket_of(v.is.object->fields[n]));
    }
    await_state(number, 3000, magnitude(model.begun));
}

static void reach_states(bool failed)
{
    for (unsigned k = 0; k < pending_count; k++) {
        uint8_t *cell = shared + STATES_AT + mixed(pending[k], failed) % STATES;
        if (*cell == 0) {
            *cell = 1;
            new_states++;
            note_news(cell, 1);
        }
    }
}

/* ---------------------------------------------------------------------------------------------------------- calls */

static uint64_t at_return;

#define OBJECT_BASE 0x5A5AFACE0000ull

static void note_argument(const struct parameter *q, const struct call *call, unsigned p)
{
    const uint64_t raw = call->raw[p];
    if (q->passing != INTEGER_IN && call->args[p].kind == NOTHING) {
        note(TAG_NULL);
        note(0);
        return;
    }
    switch (q->passing) {
    case HANDLE_IN:
        note(TAG_HANDLE);
        note((uint64_t)(call->args[p].is.object - model.objects));
        return;
    case INTEGER_IN:
        note(TAG_NUMBER);
        note(raw);
        return;
    case DATA_IN:
        note(TAG_DATA);
        note((uint64_t)call->room[p] << 8 | (call->room[p] ? *(uint8_t *)(uintptr_t)raw : 0));
        return;
    case ROOM_OUT:
        note(TAG_ROOM);
        note(call->room[p]);
        return;
    case CALLBACK_IN:
        note(TAG_CALLBACK);
        for (unsigned n = 0; n < 3; n++)
            if (callback_address(q->callback, n) == raw) {
                note(n + 1);
                return;
            }
        note(1);
        return;
    case OBJECT_IN:
        note(TAG_OBJECT);
        note((raw - OBJECT_BASE) / 64);
        return;
    default:
        note(TAG_CELL);
        note(0);
    }
}

static void note_call(const struct function *f, const struct call *call)
{
    note((uint64_t)OP_CALL << 56 | (uint64_t)(f - functions));
    for (unsigned p = 0; p < f->count; p++)
        note_argument(&f->parameters[p], call, p);
    at_return = noted;
    note(0);
    look_at_state(f, call);
    control->length = noted;
    control->progress++;
}

static void note_made(value made)
{
    note(made.kind == OBJECT ? 1 + (uint64_t)(made.is.object - model.objects) : 0);
}

static void note_return(const struct function *f, const struct call *call, bool failed, bool open)
{
    reach_states(failed);
    if (at_return < WORDS)
        words[at_return] = BACK_RETURNED | (failed ? BACK_REFUSED : 0) | (open ? BACK_OPEN : 0);
    for (unsigned p = 0; p < f->count; p++)
        if (f->parameters[p].creates >= 0)
            note_made(call->made[p]);
    if (f->creates >= 0)
        note_made(call->made_ret);
    control->length = noted;
}

extern void *__asan_region_is_poisoned(void *start, size_t size) __attribute__((weak));

static bool is_poisoned(uint8_t *start, size_t size)
{
    return __asan_region_is_poisoned != NULL && __asan_region_is_poisoned(start, size) != NULL;
}

/* An area of which not every byte can be used ends the program; of a large one both ends are looked at. */
static void note_area(value owner, uint8_t *start, size_t size)
{
    enum { END = 1 << 16 };
    note((uint64_t)OP_TOUCH << 56 | size);
    note((uint64_t)(owner.is.object - model.objects));
    control->length = noted;
    const size_t part = size < END ? size : END;
    if (is_poisoned(start, part) || is_poisoned(start + size - part, part)) {
        poisoned = true;
        longjmp(stopped, 1);
    }
}

#define NOTE_RECORD(turns) note((uint64_t)OP_RECORD << 56 | (turns))
#define NOTE_CALL(f, call) note_call(f, call)
#define NOTE_RETURN(f, call, failed, open) note_return(f, call, failed, open)
#define NOTE_CLEAN_UP() note((uint64_t)OP_CLEAN << 56)
#define NOTE_AREA(owner, start, size) note_area(owner, (uint8_t *)(uintptr_t)(start), size)
#define IS_THERE(f) (there[(f) - functions] && !(control->avoided >> ((f) - functions) & 1))
#define MAY_TOUCH (control->touch != 0)
#define ACL_CTS_TOUCH

__attribute__((noreturn)) static void broken(const struct function *f, const struct call *call, const char *clause, int64_t code)
{
    (void)call;
    (void)code;
    broke.function = f;
    broke.clause = clause;
    longjmp(stopped, 1);
}
