/* From bytes to calls, and what is checked after each of them. */

#ifndef ACL_CTS_SCOUT
/* What a scout writes down of each call; the target by itself aborts instead. */
#define NOTE_RECORD(turns)
#define NOTE_CALL(f, call)
#define NOTE_RETURN(f, call, failed, open)
#define NOTE_CLEAN_UP()
#define NOTE_AREA(owner, start, size)
#define IS_THERE(f) true
#define MAY_TOUCH true
#endif

static struct {
    struct object *slots[KINDS][SLOTS];
    unsigned counts[KINDS], known[KINDS]; /* handles, and how many there were when the record began */
    uint64_t recent; /* the last integer argument */
    unsigned calls;
    __int128 asked; /* bytes, of everything that was ever asked for in this program */
    bool armed;     /* inner allocations may fail */
    bool over;      /* nothing more can be said of this program */
} program;

static unsigned left; /* objects that programs left behind whose life nobody knows */

static void make_arenas(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (unsigned p = 0; p < PARAMS; p++) {
        uint8_t *start = mmap(NULL, ROOM_LIMIT + 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (start == MAP_FAILED || mprotect(start + page, ROOM_LIMIT + page, PROT_READ | PROT_WRITE) != 0)
            abort();
        arena_end[p] = start + 2 * page + ROOM_LIMIT;
    }
    model.arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (model.arena == MAP_FAILED)
        abort();
}

static void print_value(FILE *to, value v)
{
    if (v.kind == NUMBER)
        fprintf(to, "%" PRIu64, (uint64_t)v.is.number);
    else if (v.kind == OBJECT)
        fprintf(to, "object %u", (unsigned)(v.is.object - model.objects));
    else
        fputs(v.kind == NOTHING ? "NULL" : v.kind == LIST ? "data" : v.kind == UNWRITTEN ? "unwritten" : "address", to);
}

#ifdef ACL_CTS_SCOUT
__attribute__((noreturn)) static void broken(const struct function *f, const struct call *call, const char *clause, int64_t code);
#else
/* A promise was broken: say which, and stop here. */
__attribute__((noreturn)) static void broken(const struct function *f, const struct call *call, const char *clause, int64_t code)
{
    fprintf(stderr, "acl-cts: broken: %s\n  %s(", clause, f->name);
    for (unsigned p = 0; p < f->count; p++) {
        fprintf(stderr, "%s%s=", p ? ", " : "", f->parameters[p].name);
        print_value(stderr, call->args[p]);
    }
    fprintf(stderr, ") returned %" PRId64 "\n", code);
    abort();
}
#endif

static uint8_t *address_to(uint64_t value)
{
    return (uint8_t *)(uintptr_t)value;
}

static uint64_t take64(const uint8_t *from)
{
    uint64_t found = 0;
    for (unsigned k = 0; k < 8; k++)
        found |= (uint64_t)from[k] << 8 * k;
    return found;
}

/* Values of a number's first byte that mean what a handle knows. */
enum { KNOWN = 180, KNOWN_WAYS = 40 };

/* An integer: the bytes as they are, one of the known numbers, what is missing between the last that was passed and a
 * limit, or one close to that last one. */
static uint64_t choose_number(const uint8_t *from, unsigned bits)
{
    enum { NEAR = 243, SUM = 220 };
    uint64_t found = take64(from + 1);
    if (*from >= NEAR - 3)
        found = program.recent + (uint64_t)((int)*from - NEAR);
    else if (*from >= SUM)
        found = edges[(*from - SUM) % EDGES] - program.recent;
    else if (*from != 0)
        found = numbers[(*from - 1) % NUMBERS];
    return bits < 64 ? found & ((1ull << bits) - 1) : found;
}

/* Numbers that an object knows of itself, of what it refers to, and of how long its lists are. */
static unsigned numbers_of(const struct object *o, __int128 *found, unsigned most, bool deeper)
{
    unsigned count = 0;
    for (unsigned n = 0; n < FIELDS && count < most; n++) {
        const value v = o->fields[n];
        if (v.kind == NUMBER)
            found[count++] = v.is.number;
        else if (v.kind == LIST)
            found[count++] = v.count;
        else if (v.kind == OBJECT && deeper)
            count += numbers_of(v.is.object, found + count, most - count, false);
    }
    return count;
}

/* A number that one of the handles before knows, or is close to that. */
static uint64_t choose_known(const struct call *call, unsigned p, unsigned which)
{
    enum { MANY = 64 };
    __int128 found[MANY];
    unsigned count = 0;
    for (unsigned k = 0; k < p; k++)
        if (call->args[k].kind == OBJECT)
            count += numbers_of(call->args[k].is.object, found + count, MANY - count, true);
    const uint64_t known = count ? (uint64_t)found[which / 4 % count] : program.recent;
    const uint64_t near[] = {known, known + 1, known - 1, known - program.recent};
    return near[which % 4];
}

/* The handle that a byte means: that slot, from the end where it is large, or the next one whose object lives, `turn`
 * further on. */
static struct object *choose_handle(int kind, unsigned slot, unsigned turn)
{
    enum { FROM_END = 200 };
    const unsigned count = program.known[kind];
    slot = turn + (slot < FROM_END ? slot : count - (256 - slot) % (count + 1));
    for (unsigned k = 0; k < count; k++) {
        struct object *found = program.slots[kind][(slot + k) % count];
        if (found != NULL && found->life == ALIVE && found->address_count > 0)
            return found;
    }
    return NULL;
}

/* Bytes of data or room at most; the page behind them cannot be reached. */
enum { ROOM_MOST = 256 };

static size_t granted_room(uint64_t size)
{
    return size <= ROOM_MOST ? (size_t)size : ROOM_MOST;
}

static uint8_t *lend(unsigned p, size_t size)
{
    uint8_t *start = arena_end[p] - size;
    memset(start - CANARY, 0x9E, CANARY);
    return start;
}

static value bytes_at(const uint8_t *from, size_t size)
{
    value made = many(LIST, size);
    for (size_t k = 0; made.kind == LIST && k < size; k++)
        made.is.items[k] = number(from[k]);
    return made;
}

/* Addresses that belong to the user: wider than 32 bits, so that one that was cut shows. */
#define OBJECT_BASE 0x5A5AFACE0000ull

/* One input, in the order of the parameters; `turn` counts repetitions, which go from one handle to the next where
 * nothing is made of it. False: there is none, so no call. */
static bool prepare_input(const struct function *f, struct call *call, unsigned p, const uint8_t *from, unsigned turn, unsigned last)
{
    const struct parameter *q = &f->parameters[p];
    switch (q->passing) {
    case HANDLE_IN: {
        struct object *found = choose_handle(q->handle, *from, p == last ? turn : 0);
        if (found == NULL)
            return false;
        call->args[p] = object_value(found);
        call->raw[p] = found->addresses[0];
        return true;
    }
    case INTEGER_IN:
        if (*from >= KNOWN && *from < KNOWN + KNOWN_WAYS)
            call->raw[p] = choose_known(call, p, (unsigned)(*from - KNOWN)) & (q->bits < 64 ? (1ull << q->bits) - 1 : UINT64_MAX);
        else
            call->raw[p] = choose_number(from, q->bits);
        call->args[p] = number(q->is_signed && q->bits == 32 ? (__int128)(int32_t)call->raw[p] : (__int128)call->raw[p]);
        program.recent = call->raw[p];
        return true;
    case CALLBACK_IN:
        call->raw[p] = callback_address(q->callback, *from);
        break;
    case OBJECT_IN:
        call->raw[p] = OBJECT_BASE + 64 * (1 + *from % 3u);
        break;
    default:
        return true;
    }
    call->args[p] = pointer(call->raw[p]);
    return true;
}

/* Memory for outputs and data, once all sizes are known. */
static void prepare_memory(const struct function *f, struct call *call, unsigned p, uint8_t fill)
{
    const struct parameter *q = &f->parameters[p];
    size_t size = 8;
    if (q->passing == CELL_OUT)
        size = q->address ? 8 : q->bits / 8;
    else
        size = q->measure >= 0 ? granted_room(call->raw[q->measure]) : ROOM_MOST;
    uint8_t *start = lend(p, size);
    for (size_t k = 0; k < size; k++)
        start[k] = q->passing == DATA_IN ? (uint8_t)(fill + k) : sentinel(k);
    call->raw[p] = (uint64_t)(uintptr_t)start;
    call->room[p] = size;
    call->args[p] = q->passing == DATA_IN ? bytes_at(start, size) : (value){POINTER, 0, {.number = (__int128)call->raw[p]}};
}

/* The second byte: from 200 on, which argument is NULL; whether repetitions go along the last or the first handles. */
static bool prepare(const struct function *f, struct call *call, const uint8_t *record, unsigned turn)
{
    static const unsigned bytes_of[] = {6, 15};
    unsigned small = 0, numeric = 0, last = PARAMS;
    memset(call, 0, sizeof *call);
    for (unsigned p = 0; p < f->count && !f->makes; p++)
        if (f->parameters[p].passing == HANDLE_IN && (last == PARAMS || record[1] % 2 == 0))
            last = p;
    const unsigned null = record[1] >= 200 && f->count ? (record[1] - 200u) % f->count : PARAMS;
    for (unsigned p = 0; p < f->count; p++) {
        const struct parameter *q = &f->parameters[p];
        const uint8_t *from = q->passing == INTEGER_IN ? record + bytes_of[numeric++ % 2] : record + 3 + small++ % 3;
        if (p == null && q->passing != INTEGER_IN)
            call->args[p] = nothing;
        else if (!prepare_input(f, call, p, from, turn, last))
            return false;
    }
    for (unsigned p = 0; p < f->count; p++) {
        const enum passing passing = f->parameters[p].passing;
        if (p != null && (passing == DATA_IN || passing == ROOM_OUT || passing == CELL_OUT))
            prepare_memory(f, call, p, record[3]);
    }
    return !model.full;
}

static value cell_value(const struct parameter *q, const uint8_t *from)
{
    uint64_t found = 0;
    memcpy(&found, from, q->address ? 8 : q->bits / 8);
    if (q->address)
        return pointer(found);
    return number(q->is_signed && q->bits == 32 ? (__int128)(int32_t)found : (__int128)found);
}

/* What the call has written, and whether it kept to the memory that was lent to it. */
static void read_memory(const struct function *f, struct call *call, int64_t code)
{
    for (unsigned p = 0; p < f->count; p++) {
        const struct parameter *q = &f->parameters[p];
        const bool lent = q->passing == DATA_IN || q->passing == ROOM_OUT || q->passing == CELL_OUT;
        if (!lent || call->args[p].kind == NOTHING)
            continue;
        const uint8_t *start = address_to(call->raw[p]);
        bool written = false;
        for (int k = 1; k <= CANARY; k++)
            if (start[-k] != 0x9E)
                broken(f, call, "common.caller-memory", code);
        for (size_t k = 0; k < call->room[p]; k++)
            written |= start[k] != (q->passing == DATA_IN ? (uint8_t)(start[0] + k) : sentinel(k));
        if (q->passing == DATA_IN) {
            if (written)
                broken(f, call, "common.caller-memory", code);
            continue;
        }
        if (!written)
            call->outs[p] = unwritten;
        else
            call->outs[p] = q->passing == CELL_OUT ? cell_value(q, start) : bytes_at(start, call->room[p]);
    }
}

static bool scarce(const struct function *f, const struct call *call)
{
    if (!f->takes)
        return false;
    const bool much = f->asked >= 0 && call->args[f->asked].kind == NUMBER && call->args[f->asked].is.number > FLOOR_ALLOCATION;
    return much || program.armed || program.asked > FLOOR_BYTES || model.begun > FLOOR_OBJECTS || left > FLOOR_OBJECTS;
}

static const char *classify(const struct function *f, const struct call *call, enum outcome *outcome)
{
    const char *fallback = "must succeed", *open = NULL;
    bool uncertain = false;
    for (const struct rule *r = f->rules; r->clause != NULL; r++) {
        value holds = r->when != NULL ? r->when(call) : truth(true);
        if (r->outcome == MUST_FAIL && is_true(holds)) {
            *outcome = MUST_FAIL;
            return r->clause;
        }
        if (r->outcome == MUST_SUCCEED && is_true(holds))
            fallback = r->clause;
        else if (r->outcome != MUST_SUCCEED && !is_false(holds)) {
            uncertain = true;
            open = r->clause;
        }
    }
    *outcome = uncertain ? OPEN : MUST_SUCCEED;
    return uncertain ? open : fallback;
}

static void check_promises(const struct function *f, const struct call *call, enum after after, int64_t code)
{
    for (const struct promise *p = f->promises; p->clause != NULL; p++)
        if ((p->after & after) && (p->when == NULL || is_true(p->when(call))) && is_false(p->ensures(call)))
            broken(f, call, p->clause, code);
}

static void keep(int kind, value made)
{
    if (program.counts[kind] < SLOTS)
        program.slots[kind][program.counts[kind]++] = made.kind == OBJECT ? made.is.object : NULL;
}

/* Data areas that were just told are touched at both ends. */
static void touch(const struct function *f, const struct call *call)
{
#ifdef ACL_CTS_TOUCH
    if (!MAY_TOUCH || f->base < 0 || call->outs[f->base].kind != POINTER || call->args[f->owner].kind != OBJECT)
        return;
    value region = call->args[f->owner].is.object->fields[f->region];
    value size = region.kind == OBJECT ? region.is.object->fields[f->extent] : unknown;
    if (size.kind != NUMBER || size.is.number <= 0)
        return;
    volatile uint8_t *start = address_to((uint64_t)call->outs[f->base].is.number);
    NOTE_AREA(call->args[f->owner], start, (size_t)size.is.number);
    start[0] = start[0];
    start[(size_t)size.is.number - 1] = start[(size_t)size.is.number - 1];
#else
    (void)f;
    (void)call;
#endif
}

static void execute(const struct function *f, struct call *call)
{
    enum outcome outcome;
    const bool short_of = scarce(f, call);
    const char *clause = classify(f, call, &outcome);
    callback_hits = 0;
    NOTE_CALL(f, call);
    const int64_t code = f->run(call->raw);
    const bool failed = f->by_handle ? code == 0 : code != 0;
    call->hits = callback_hits;
    call->ret = f->by_handle ? pointer((uint64_t)code) : number(code);
    if (f->asked >= 0 && call->args[f->asked].kind == NUMBER && !failed)
        program.asked += call->args[f->asked].is.number;
    read_memory(f, call, code);
    bool lacks = false;
    for (unsigned k = 0; k < sizeof not_supported / sizeof *not_supported; k++)
        lacks |= failed && !f->by_handle && code == not_supported[k];
    if (model.full || lacks) {
        program.over = true;
        return;
    }
    if (!failed && outcome == MUST_FAIL)
        broken(f, call, clause, code);
    if (failed && outcome == MUST_SUCCEED && !short_of)
        broken(f, call, clause, code);
    check_promises(f, call, failed ? REFUSAL : SUCCESS, code);
    if (!failed)
        f->effect(call);
    for (unsigned p = 0; p < f->count; p++)
        if (f->parameters[p].creates >= 0)
            keep(f->parameters[p].creates, call->made[p]);
    if (f->creates >= 0)
        keep(f->creates, call->made_ret);
    NOTE_RETURN(f, call, failed, outcome == OPEN);
    if (!failed)
        touch(f, call);
}

/* Gives back what certainly lives and can certainly be given back. */
static void clean_up(void)
{
    static struct call call;
    NOTE_CLEAN_UP();
    for (unsigned k = model.object_count; k-- > 0 && !model.full && !program.over;)
        for (unsigned n = 0; n < FUNCTIONS; n++) {
            const struct function *f = &functions[n];
            struct object *o = &model.objects[k];
            if (!f->frees || !IS_THERE(f) || f->parameters[0].handle != o->kind || o->life != ALIVE || o->address_count == 0)
                continue;
            enum outcome outcome;
            memset(&call, 0, sizeof call);
            call.args[0] = object_value(o);
            call.raw[0] = o->addresses[0];
            classify(f, &call, &outcome);
            if (outcome == MUST_SUCCEED)
                execute(f, &call);
        }
    for (unsigned k = 0; k < model.object_count; k++)
        left += model.objects[k].life != DEAD && model.objects[k].address_count > 0;
}

static void run_record(const uint8_t *record)
{
    static struct call call;
    const struct function *f = &functions[record[0] % FUNCTIONS];
    const unsigned turns = record[2] < 256 - TURNS ? 1 : turns_of[record[2] - (256 - TURNS)];
    if (!IS_THERE(f))
        return;
    NOTE_RECORD(turns);
    memcpy(program.known, program.counts, sizeof program.known);
    for (unsigned turn = 0; turn < turns && program.calls < CALLS && !program.over && !model.full; turn++) {
        if (!prepare(f, &call, record, turn))
            return;
        program.calls++;
        execute(f, &call);
    }
}

static void start_program(void)
{
    static bool ready;
    if (!ready) {
        make_arenas();
        ready = true;
    }
    memset(&program.counts, 0, sizeof program.counts);
    program.calls = 0;
    program.recent = 0;
    program.asked = 0;
    program.over = program.armed = false;
    forget_everything();
}

#ifndef ACL_CTS_SCOUT
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    start_program();
    for (size_t at = 0; at < size; at += RECORD) {
        uint8_t record[RECORD] = {0};
        memcpy(record, data + at, size - at < RECORD ? size - at : RECORD);
        run_record(record);
    }
    clean_up();
    return 0;
}
#endif
