/* The model that calls are checked against: values with three-valued logic, objects, keyed records.
 *
 * What a value is not known to be is UNKNOWN, and no check fails because of it: this checker may miss a fault, and must
 * never see one where there is none. */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum kind { UNKNOWN, NOTHING, UNWRITTEN, TRUTH, NUMBER, POINTER, OBJECT, LIST, SET };

typedef struct value {
    enum kind kind;
    uint32_t count; /* of a list or set */
    union {
        __int128 number; /* also 0 or 1 of a truth, and an address */
        struct object *object;
        struct value *items;
    } is;
} value;

enum life { DEAD, ALIVE, DOUBTFUL };
enum { ADDRESSES = 4 };

struct object {
    int kind; /* of handle, region or record */
    enum life life;
    value fields[FIELDS];
    uint64_t addresses[ADDRESSES];
    unsigned address_count;
    struct object *earlier;
};

struct record {
    struct object *key;
    value value;
};

enum { OBJECTS = 4096, RECORDS = 1024, ARENA_BYTES = 24 << 20 };

static struct {
    struct object objects[OBJECTS];
    unsigned object_count, begun;
    struct record records[COLLECTIONS][RECORDS];
    unsigned record_count[COLLECTIONS];
    uint8_t *arena;
    size_t used;
    bool inapplicable; /* a guard asked for a field of NULL: it does not apply */
    bool full;         /* too much for this model: nothing more is checked */
} model;

static const value unknown = {UNKNOWN, 0, {0}}, nothing = {NOTHING, 0, {0}}, unwritten = {UNWRITTEN, 0, {0}};

static inline value truth(bool is)
{
    return (value){TRUTH, 0, {.number = is}};
}

static inline value number(__int128 is)
{
    return (value){NUMBER, 0, {.number = is}};
}

static inline value pointer(uint64_t address)
{
    return address == 0 ? nothing : (value){POINTER, 0, {.number = address}};
}

static inline value object_value(struct object *object)
{
    return object == NULL ? nothing : (value){OBJECT, 0, {.object = object}};
}

static inline bool is_true(value v)
{
    return v.kind == TRUTH && v.is.number != 0;
}

static inline bool is_false(value v)
{
    return v.kind == TRUTH && v.is.number == 0;
}

static value many(enum kind kind, size_t count)
{
    size_t bytes = (count * sizeof(value) + 15) / 16 * 16;
    if (bytes > ARENA_BYTES - model.used) {
        model.full = true;
        return unknown;
    }
    value made = {kind, (uint32_t)count, {.items = (value *)(void *)(model.arena + model.used)}};
    model.used += bytes;
    return made;
}

static value same(value a, value b)
{
    if (a.kind == UNWRITTEN || b.kind == UNWRITTEN)
        return truth(false);
    if (a.kind == UNKNOWN || b.kind == UNKNOWN)
        return unknown;
    if (a.kind == POINTER && b.kind == OBJECT)
        return same(b, a);
    if (a.kind == OBJECT && b.kind == POINTER) {
        for (unsigned k = 0; k < a.is.object->address_count; k++)
            if (a.is.object->addresses[k] == (uint64_t)b.is.number)
                return truth(true);
        return truth(false);
    }
    if (a.kind != b.kind)
        return truth(false);
    if (a.kind == OBJECT)
        return truth(a.is.object == b.is.object);
    if (a.kind == LIST) {
        bool known = true;
        if (a.count != b.count)
            return truth(false);
        for (uint32_t k = 0; k < a.count; k++) {
            if (a.is.items[k].kind == NOTHING || b.is.items[k].kind == NOTHING)
                known = false;
            else if (is_false(same(a.is.items[k], b.is.items[k])))
                return truth(false);
        }
        return known ? truth(true) : unknown;
    }
    if (a.kind == SET)
        return unknown;
    return truth(a.kind == NOTHING || a.is.number == b.is.number);
}

static value negated(value v)
{
    return v.kind == TRUTH ? truth(v.is.number == 0) : unknown;
}

static value differ(value a, value b)
{
    return a.kind == UNWRITTEN || b.kind == UNWRITTEN ? truth(false) : negated(same(a, b));
}

static value contains(value items, value v)
{
    if (v.kind == UNWRITTEN)
        return truth(false);
    if (items.kind != LIST && items.kind != SET)
        return unknown;
    value answer = truth(false);
    for (uint32_t k = 0; k < items.count; k++) {
        value equal = same(items.is.items[k], v);
        if (is_true(equal))
            return equal;
        if (equal.kind == UNKNOWN)
            answer = unknown;
    }
    return answer;
}

/* `soft`: what is asked of NULL is unknown; otherwise the guard that asks does not apply. */
static value absent(bool soft)
{
    if (!soft)
        model.inapplicable = true;
    return unknown;
}

/* -1: below, 0: equal, 1: above are the orders that `below`, `level` and `above` accept. */
static value ordered(value a, value b, bool below, bool level, bool above, bool soft)
{
    if (a.kind == UNWRITTEN || b.kind == UNWRITTEN)
        return truth(false);
    if (a.kind == UNKNOWN || b.kind == UNKNOWN)
        return unknown;
    if (a.kind != NUMBER || b.kind != NUMBER)
        return absent(soft);
    return truth(a.is.number < b.is.number ? below : a.is.number == b.is.number ? level : above);
}

static value field(value owner, int name, bool soft)
{
    if (owner.kind == OBJECT)
        return owner.is.object->fields[name];
    return owner.kind == NOTHING ? absent(soft) : unknown;
}

static value joined(value a, value b, enum kind kind)
{
    value made = many(kind, (size_t)a.count + b.count);
    if (made.kind != kind)
        return unknown;
    memcpy(made.is.items, a.is.items, a.count * sizeof(value));
    memcpy(made.is.items + a.count, b.is.items, b.count * sizeof(value));
    return made;
}

static value computed(char op, value a, value b)
{
    if (a.kind == SET && b.kind == SET && op == '|')
        return joined(a, b, SET);
    if (a.kind == LIST && b.kind == LIST && op == '+')
        return joined(a, b, LIST);
    if (a.kind != NUMBER || b.kind != NUMBER)
        return unknown;
    switch (op) {
    case '+':
        return number(a.is.number + b.is.number);
    case '-':
        return number(a.is.number - b.is.number);
    case '*': {
        __int128 product;
        return __builtin_mul_overflow(a.is.number, b.is.number, &product) ? unknown : number(product);
    }
    default:
        return unknown;
    }
}

static value group(enum kind kind, const value *items, size_t count)
{
    value made = many(kind, count);
    if (made.kind == kind)
        for (size_t k = 0; k < count; k++)
            made.is.items[k] = items[k];
    return made;
}

static value item(value items, value at)
{
    bool inside = items.kind == LIST && at.kind == NUMBER && at.is.number >= 0 && at.is.number < items.count;
    return inside ? items.is.items[(size_t)at.is.number] : unknown;
}

static __int128 bounded(value v, __int128 otherwise, __int128 most)
{
    __int128 is = v.kind == NUMBER ? v.is.number : otherwise;
    return is < 0 ? 0 : is > most ? most : is;
}

static value range(value items, value start, value stop)
{
    if (items.kind != LIST || start.kind == UNKNOWN || stop.kind == UNKNOWN)
        return unknown;
    __int128 first = bounded(start, 0, items.count), last = bounded(stop, items.count, items.count);
    value part = items;
    part.is.items = items.is.items + (size_t)first;
    part.count = last > first ? (uint32_t)(last - first) : 0;
    return part;
}

static value length(value items, bool soft)
{
    if (items.kind == NOTHING)
        return absent(soft);
    if (items.kind != LIST)
        return unknown; /* a set may name a member twice here */
    return number(items.count);
}

static struct object *new_object(int kind)
{
    if (model.object_count == OBJECTS) {
        model.full = true;
        return &model.objects[0];
    }
    struct object *made = &model.objects[model.object_count++];
    memset(made, 0, sizeof *made);
    made->kind = kind;
    made->life = ALIVE;
    return made;
}

/* The object of that kind that had the address last, living or not. Only objects with addresses are handles. */
static struct object *holder(int kind, uint64_t address)
{
    for (unsigned k = model.object_count; k-- > 0;)
        for (unsigned n = 0; model.objects[k].kind == kind && n < model.objects[k].address_count; n++)
            if (model.objects[k].addresses[n] == address)
                return &model.objects[k];
    return NULL;
}

static void begin(struct object *made, uint64_t address)
{
    model.begun++;
    made->earlier = address == 0 ? NULL : holder(made->kind, address);
    if (address != 0)
        made->addresses[made->address_count++] = address;
}

static void end(value v, enum life life)
{
    if (v.kind == OBJECT && v.is.object->life != DEAD)
        v.is.object->life = life;
}

static void also_known_as(value v, uint64_t address)
{
    if (v.kind != OBJECT || address == 0)
        return;
    struct object *o = v.is.object, *other = holder(o->kind, address);
    if (other == o || (other != NULL && other->life == ALIVE))
        return;
    if (o->address_count == ADDRESSES)
        model.full = true;
    else
        o->addresses[o->address_count++] = address;
}

static void doubt(value items)
{
    for (uint32_t k = 0; items.kind == LIST && k < items.count; k++)
        end(items.is.items[k], DOUBTFUL);
}

static value alive(value v)
{
    return v.kind == OBJECT && v.is.object->life != DOUBTFUL ? truth(v.is.object->life == ALIVE) : unknown;
}

static value fresh(value v, int kind)
{
    if (v.kind == UNKNOWN)
        return unknown;
    if (v.kind != POINTER)
        return truth(false);
    struct object *other = holder(kind, (uint64_t)v.is.number);
    return truth(other == NULL || other->life != ALIVE);
}

static value another(value v, value than)
{
    if (than.kind != OBJECT || v.kind != POINTER)
        return unknown;
    struct object *other = holder(than.is.object->kind, (uint64_t)v.is.number);
    return truth(other != NULL && other != than.is.object && other->life == ALIVE && is_false(same(than, v)));
}

static value extent_of(const struct object *o)
{
    for (size_t k = 0; k < sizeof regions / sizeof *regions; k++)
        if (regions[k].kind == o->kind)
            return o->fields[regions[k].size];
    return unknown;
}

static bool certainly_held(const struct object *region)
{
    for (unsigned k = 0; k < model.object_count; k++)
        for (size_t n = 0; n < sizeof holding / sizeof *holding; n++) {
            const struct object *o = &model.objects[k];
            if (o->kind == holding[n].kind && o->life == ALIVE && o->fields[holding[n].field].is.object == region)
                return true;
        }
    return false;
}

/* Whether a region that begins there shares no byte with another one that certainly lives. */
static value disjoint(value region, value start)
{
    const value size = region.kind == OBJECT ? extent_of(region.is.object) : unknown;
    if (start.kind != POINTER || size.kind != NUMBER)
        return unknown;
    for (unsigned k = 0; k < model.object_count; k++)
        for (size_t n = 0; n < sizeof regions / sizeof *regions; n++) {
            const struct object *o = &model.objects[k];
            if (o->kind != regions[n].kind || o == region.is.object || o->fields[regions[n].base].kind != POINTER)
                continue;
            const value other = o->fields[regions[n].size];
            const __int128 low = o->fields[regions[n].base].is.number;
            const bool meets = other.kind == NUMBER && low < start.is.number + size.is.number && start.is.number < low + other.is.number;
            if (meets && other.is.number > 0 && certainly_held(o))
                return truth(false);
        }
    return truth(true);
}

static value tidy(value out)
{
    return truth(out.kind == UNWRITTEN || out.kind == NOTHING || out.kind == UNKNOWN);
}

static value aligned(value v, value bytes)
{
    bool known = v.kind == POINTER && bytes.kind == NUMBER;
    return known ? truth((uint64_t)v.is.number % (uint64_t)bytes.is.number == 0) : unknown;
}

static value unset(value items)
{
    for (uint32_t k = 0; items.kind == LIST && k < items.count; k++)
        if (items.is.items[k].kind != NOTHING)
            return truth(false);
    return truth(items.kind == LIST);
}

static value lasts(value v)
{
    return v.kind == UNKNOWN ? unknown : group(SET, &v, v.kind == NOTHING ? 0 : 1);
}

static value unknown_bytes(value count)
{
    value made = many(LIST, count.kind == NUMBER ? (size_t)count.is.number : 0);
    for (uint32_t k = 0; made.kind == LIST && k < made.count; k++)
        made.is.items[k] = nothing;
    return made;
}

static value reach(value items, int links)
{
    static bool seen[OBJECTS];
    static struct object *todo[OBJECTS];
    size_t count = 0, done = 0;
    memset(seen, 0, sizeof seen);
    for (value more = items;; more = todo[done++]->fields[links]) {
        for (uint32_t k = 0; more.kind == LIST && k < more.count; k++) {
            struct object *o = more.is.items[k].kind == OBJECT ? more.is.items[k].is.object : NULL;
            if (o != NULL && !seen[o - model.objects]) {
                seen[o - model.objects] = true;
                todo[count++] = o;
            }
        }
        if (done == count)
            break;
    }
    value made = many(LIST, count);
    for (size_t k = 0; made.kind == LIST && k < count; k++)
        made.is.items[k] = object_value(todo[k]);
    return made;
}

static struct record *record_of(int collection, value key)
{
    for (unsigned k = 0; key.kind == OBJECT && k < model.record_count[collection]; k++)
        if (model.records[collection][k].key == key.is.object)
            return &model.records[collection][k];
    return NULL;
}

static value keyed(int collection, value key, bool soft)
{
    struct record *found = record_of(collection, key);
    if (found != NULL)
        return found->value;
    return soft ? nothing : absent(false);
}

static value holds(int collection, value key)
{
    struct record *found = record_of(collection, key);
    if (key.kind == UNKNOWN || (found != NULL && found->value.kind == UNKNOWN))
        return unknown;
    return truth(found != NULL);
}

static value values_of(int collection)
{
    value made = many(LIST, model.record_count[collection]);
    uint32_t count = 0;
    for (unsigned k = 0; made.kind == LIST && k < model.record_count[collection]; k++)
        if (model.records[collection][k].value.kind == OBJECT)
            made.is.items[count++] = model.records[collection][k].value;
    made.count = made.kind == LIST ? count : 0;
    return made;
}

static void put(value owner, int name, value given)
{
    if (owner.kind == OBJECT)
        owner.is.object->fields[name] = given;
}

/* Bytes that are not given become unknown. */
static void put_range(value owner, int name, value start, value stop, value given)
{
    if (owner.kind != OBJECT || owner.is.object->fields[name].kind != LIST)
        return;
    value old = owner.is.object->fields[name], made = group(LIST, old.is.items, old.count);
    if (made.kind != LIST)
        return;
    const bool known = start.kind != UNKNOWN && stop.kind != UNKNOWN;
    __int128 first = known ? bounded(start, 0, old.count) : 0, last = known ? bounded(stop, old.count, old.count) : old.count;
    for (__int128 k = first; k < last; k++) {
        const bool has = known && given.kind == LIST && k - first < given.count;
        made.is.items[(size_t)k] = has ? given.is.items[(size_t)(k - first)] : nothing;
    }
    owner.is.object->fields[name] = made;
}

static void put_keyed(int collection, value key, value given)
{
    struct record *found = record_of(collection, key);
    if (key.kind != OBJECT)
        return;
    if (found == NULL && model.record_count[collection] == RECORDS) {
        model.full = true;
        return;
    }
    if (found == NULL)
        found = &model.records[collection][model.record_count[collection]++];
    *found = (struct record){key.is.object, given};
}

static void drop(int collection, value key, bool doubtful)
{
    struct record *found = record_of(collection, key);
    if (found != NULL && doubtful)
        found->value = unknown;
    else if (found != NULL)
        *found = model.records[collection][--model.record_count[collection]];
}

static void forget_everything(void)
{
    model.object_count = model.begun = 0;
    model.used = 0;
    model.full = model.inapplicable = false;
    memset(model.record_count, 0, sizeof model.record_count);
}
#endif
