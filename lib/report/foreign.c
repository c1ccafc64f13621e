/* foreign.c: of a profile by another program, such as one of Go: its functions and lines, as if they were Rayfall's.
 *
 * Samples have several values. The time is the one whose unit is one of time, the profile's default if that is; the
 * number of samples is the one that is counted, else each is one. */
#include "foreign.h"
#include "texts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Frames of a stack. A location may have many, and a stack have it many times: a small file could ask for any memory.
 */
enum { PATH_MOST = 1 << 16 };

struct id {
    uint64_t id;
    size_t at;
};

struct foreign {
    const Rfpb__Profile *from;
    struct rf_profile *to;
    struct id *location, *function; /* sorted by id */
    struct rf_frame *path;          /* of one sample */
    size_t n_path, room_path;
    size_t time, count; /* which of the values; SIZE_MAX: none */
    uint64_t scale;     /* nanoseconds */
    const char *wrong;
};

static struct rf_text string(const struct foreign *f, int64_t number)
{
    if (number <= 0 || (uint64_t)number >= f->from->n_string_table)
        return (struct rf_text){"", 0};
    const ProtobufCBinaryData *s = &f->from->string_table[number];
    return (struct rf_text){s->len ? (const char *)s->data : "", s->len};
}

/* Nanoseconds of a unit of time, else 0. */
static uint64_t unit_ns(struct rf_text unit)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"nanoseconds", 1}, {"microseconds", 1000}, {"milliseconds", 1000000}, {"seconds", 1000000000}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (rf_text_is(unit, units[i].name))
            return units[i].ns;
    return 0;
}

static void choose_values(struct foreign *f)
{
    struct rf_text preferred = string(f, f->from->default_sample_type);
    f->time = f->count = SIZE_MAX;
    for (size_t i = 0; i < f->from->n_sample_type; i++) {
        const Rfpb__ValueType *t = f->from->sample_type[i];
        struct rf_text type = string(f, t->type), unit = string(f, t->unit);
        bool default_one = preferred.n && rf_text_same(type, preferred);
        if (unit_ns(unit) && (f->time == SIZE_MAX || default_one)) {
            f->time = i;
            f->scale = unit_ns(unit);
        }
        if (rf_text_is(unit, "count") && f->count == SIZE_MAX)
            f->count = i;
    }
}

static int by_id(const void *va, const void *vb)
{
    const struct id *a = va, *b = vb;
    return (a->id > b->id) - (a->id < b->id);
}

/* SIZE_MAX when there is none. */
static size_t find(const struct id *table, size_t n, uint64_t id)
{
    const struct id key = {.id = id}, *found = n ? bsearch(&key, table, n, sizeof *table, by_id) : NULL;
    return found ? found->at : SIZE_MAX;
}

static bool index_ids(struct foreign *f)
{
    const Rfpb__Profile *p = f->from;
    f->location = calloc(p->n_location + 1, sizeof *f->location);
    f->function = calloc(p->n_function + 1, sizeof *f->function);
    if (!f->location || !f->function)
        return false;
    for (size_t i = 0; i < p->n_location; i++)
        f->location[i] = (struct id){p->location[i]->id, i};
    for (size_t i = 0; i < p->n_function; i++)
        f->function[i] = (struct id){p->function[i]->id, i};
    qsort(f->location, p->n_location, sizeof *f->location, by_id);
    qsort(f->function, p->n_function, sizeof *f->function, by_id);
    return true;
}

/* False when out of memory. */
static bool push(struct foreign *f, struct rf_frame frame)
{
    if (f->n_path == PATH_MOST) {
        f->wrong = "a stack that is too deep";
        return true;
    }
    if (f->n_path == f->room_path) {
        size_t room = f->room_path ? f->room_path * 2 : 64;
        struct rf_frame *more = reallocarray(f->path, room, sizeof *more);
        if (!more)
            return false;
        f->path = more;
        f->room_path = room;
    }
    f->path[f->n_path++] = frame;
    return true;
}

/* The frames of a location, outermost first. False when out of memory; what makes no sense is said in f->wrong. */
static bool push_location(struct foreign *f, uint64_t id)
{
    const Rfpb__Profile *p = f->from;
    size_t at = find(f->location, p->n_location, id);
    if (at == SIZE_MAX) {
        f->wrong = "a stack of what is not there";
        return true;
    }
    const Rfpb__Location *l = p->location[at];
    if (l->n_line == 0) {
        char address[32];
        int n = snprintf(address, sizeof address, "0x%" PRIx64, l->address);
        uint32_t known =
            rf_profile_intern(f->to, &(struct rf_frame){.file = {"", 0}, .fn = {address, (size_t)n}, .named = true});
        return known != UINT32_MAX && push(f, rf_profile_frame(f->to, known));
    }
    for (size_t i = l->n_line; i-- > 0 && !f->wrong;) {
        size_t k = find(f->function, p->n_function, l->line[i]->function_id);
        if (k == SIZE_MAX) {
            f->wrong = "a line of no function";
            return true;
        }
        int64_t line = l->line[i]->line, col = l->line[i]->column;
        struct rf_frame frame = {.file = string(f, p->function[k]->filename),
                                 .fn = string(f, p->function[k]->name),
                                 .line = line > 0 && line < UINT32_MAX ? (uint32_t)line : 0,
                                 .col = col > 0 && col < UINT32_MAX ? (uint32_t)col : 0,
                                 .named = true};
        if (!push(f, frame))
            return false;
    }
    return true;
}

static bool add_sample(struct foreign *f, const Rfpb__Sample *s)
{
    if (s->n_value != f->from->n_sample_type) {
        f->wrong = "a sample with too few or too many values";
        return true;
    }
    int64_t time = s->value[f->time], count = f->count == SIZE_MAX ? 1 : s->value[f->count];
    f->n_path = 0;
    for (size_t i = s->n_location_id; i-- > 0 && !f->wrong;)
        if (!push_location(f, s->location_id[i]))
            return false;
    if (time < 0 || count < 0 || (uint64_t)time > (uint64_t)INT64_MAX / f->scale)
        f->wrong = "a negative or enormous time";
    if (f->wrong)
        return true;
    uint32_t node = rf_profile_place(f->to, 0, f->path, f->n_path);
    if (node == UINT32_MAX)
        return false;
    rf_profile_charge(f->to, node, (uint64_t)count, (struct rf_charge){.weight_ns = (uint64_t)time * f->scale});
    return true;
}

enum rf_status rf_read_foreign(struct rf_profile *to, struct rf_about *about, const Rfpb__Profile *from,
                               const char *path, struct rf_error *err)
{
    struct foreign f = {.from = from, .to = to};
    choose_values(&f);
    if (f.time == SIZE_MAX)
        return rf_fail(err, RF_FAILURE, 0,
                       from->n_sample_type ? "%s is a profile of something else than time"
                                           : "%s is not a profile, or damaged",
                       path);
    about->began_ns = from->time_nanos > 0 ? (uint64_t)from->time_nanos : 0;
    about->wall_ns = from->duration_nanos > 0 ? (uint64_t)from->duration_nanos : 0;
    about->rate_hz = from->period > 0 ? 1e9 / ((double)from->period * (double)f.scale) : 0;
    bool enough = index_ids(&f);
    for (size_t i = 0; enough && !f.wrong && i < from->n_sample; i++)
        enough = add_sample(&f, from->sample[i]);
    free(f.location);
    free(f.function);
    free(f.path);
    if (!enough)
        return rf_fail(err, RF_FAILURE, 0, "out of memory while reading %s", path);
    return f.wrong ? rf_fail(err, RF_FAILURE, 0, "%s is damaged: there is %s in it", path, f.wrong) : RF_OK;
}
