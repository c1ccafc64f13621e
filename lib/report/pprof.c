/* pprof.c: a file for `go tool pprof`, Pyroscope and whatever else reads its format, and for `rfprof report`.
 *
 * What pprof shows is the view that was asked for: its frames are locations, functions and lines, the thread and the
 * client's text are labels of the samples. Behind that stands the whole profile, in fields that others skip (save.c).
 * A protobuf message is the concatenation of its pieces, so each stack is written as soon as it is put together. */
#include "escape.h"
#include "formats.h"
#include "redact.h"
#include "report/profile.pb-c.h"
#include "saved.h"
#include "view.h"

#include <stdlib.h>
#include <string.h>

struct writer {
    struct rf_gzip to;
    const struct rf_profile *profile; /* what may be seen of it */
    const struct rf_render *how;
    struct rf_profile *shown;
    uint32_t *node; /* of profile -> of shown */
    /* Each a frame of a profile of its own: so they are numbered. */
    struct rf_profile *strings;   /* fn: the text */
    struct rf_profile *functions; /* kind, fn and file */
    struct rf_profile *objects;   /* file: a program or library */
    bool failed;                  /* out of memory */
};

static uint32_t intern(struct writer *w, struct rf_profile *in, struct rf_frame f)
{
    uint32_t id = rf_profile_intern(in, &f);
    w->failed |= id == UINT32_MAX;
    return id;
}

/* The number of a string that any reader takes. */
static int64_t string(struct writer *w, struct rf_text t)
{
    char *copy = rf_readable_copy(t);
    w->failed |= !copy;
    uint32_t id = copy ? intern(w, w->strings, (struct rf_frame){.fn = {copy, strlen(copy)}}) : 0;
    free(copy);
    return id;
}

static int64_t word(struct writer *w, const char *s)
{
    return string(w, (struct rf_text){s, strlen(s)});
}

static void put(struct writer *w, const Rfpb__Profile *piece)
{
    rfpb__profile__pack_to_buffer(piece, &w->to.base);
}

/* --- what was measured -------------------------------------------------------------------------------- */

static const struct rf_about *about(const struct writer *w)
{
    static const struct rf_about nothing;
    return w->how->about ? w->how->about : &nothing;
}

/* The program: the last part of the first word of its command. */
static struct rf_text program(const struct writer *w)
{
    const char *s = about(w)->command;
    if (!s || !*s)
        return (struct rf_text){"rayforce", 8};
    size_t n = strcspn(s, " "), begin = n;
    while (begin && s[begin - 1] != '/')
        begin--;
    return begin < n ? (struct rf_text){s + begin, n - begin} : (struct rf_text){"rayforce", 8};
}

static void put_comment(struct writer *w, const char *line, size_t n)
{
    Rfpb__Profile piece = RFPB__PROFILE__INIT;
    int64_t id = string(w, (struct rf_text){line, n});
    piece.n_comment = 1;
    piece.comment = &id;
    put(w, &piece);
}

static void put_comments(struct writer *w)
{
    const struct rf_about *a = about(w);
    char line[512];
    int n = snprintf(line, sizeof line, "%s, pid %d, rayforce %s", a->command ? a->command : "", (int)a->pid,
                     a->release ? a->release : "");
    if (a->pid && n > 0)
        put_comment(w, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
    for (const char *s = a->account; s && *s;) {
        size_t len = strcspn(s, "\n");
        put_comment(w, s, len);
        s += len + (s[len] == '\n');
    }
}

static void put_about(struct writer *w)
{
    const struct rf_about *a = about(w);
    Rfpb__Profile piece = RFPB__PROFILE__INIT;
    Rfpb__ValueType samples = RFPB__VALUE_TYPE__INIT, time = RFPB__VALUE_TYPE__INIT, *types[] = {&samples, &time};
    samples.type = word(w, "samples");
    samples.unit = word(w, "count");
    time.type = word(w, a->idle ? "wall" : "cpu");
    time.unit = word(w, "nanoseconds");
    piece.n_sample_type = 2;
    piece.sample_type = types;
    piece.default_sample_type = time.type;
    piece.period_type = &time;
    piece.period = a->rate_hz > 0 ? (int64_t)(1e9 / a->rate_hz) : 0;
    piece.time_nanos = (int64_t)a->began_ns;
    piece.duration_nanos = (int64_t)a->wall_ns;
    put(w, &piece);
    put_comments(w);
}

/* --- frames ------------------------------------------------------------------------------------------- */

/* A C function without debug information is known by the object that it is in, everything else by its file. */
static bool in_object(const struct rf_frame *f)
{
    return (f->kind == RF_KIND_NATIVE || f->kind == RF_KIND_INTERPRETER) && !f->line;
}

static void put_locations(struct writer *w)
{
    for (size_t i = 0; i < rf_profile_frames(w->shown) && !w->failed; i++) {
        struct rf_frame f = rf_profile_frame(w->shown, i);
        bool object = in_object(&f);
        struct rf_frame key = {
            .kind = f.kind, .fn = f.fn.n ? f.fn : f.file, .file = object ? (struct rf_text){"", 0} : f.file};
        Rfpb__Line line = RFPB__LINE__INIT, *lines = &line;
        Rfpb__Location location = RFPB__LOCATION__INIT, *locations = &location;
        Rfpb__Profile piece = RFPB__PROFILE__INIT;
        line.function_id = (uint64_t)intern(w, w->functions, key) + 1;
        line.line = f.line;
        line.column = f.col;
        location.id = i + 1;
        location.mapping_id =
            (uint64_t)intern(w, w->objects, (struct rf_frame){.file = object ? f.file : program(w)}) + 1;
        location.n_line = 1;
        location.line = &lines;
        piece.n_location = 1;
        piece.location = &locations;
        put(w, &piece);
    }
}

/* A function with a system name may be called by something else than that: pprof demangles C++, and takes what is
 * between angle brackets for parameters of templates. Names of Rayfall, such as <top>, are as they are. */
static void put_functions(struct writer *w)
{
    for (size_t i = 0; i < rf_profile_frames(w->functions) && !w->failed; i++) {
        struct rf_frame f = rf_profile_frame(w->functions, i);
        Rfpb__Function function = RFPB__FUNCTION__INIT, *functions = &function;
        Rfpb__Profile piece = RFPB__PROFILE__INIT;
        function.id = i + 1;
        function.name = string(w, f.fn);
        function.system_name = f.kind == RF_KIND_NATIVE ? function.name : 0;
        function.filename = string(w, f.file);
        piece.n_function = 1;
        piece.function = &functions;
        put(w, &piece);
    }
}

/* They say that names and lines are known, so that nobody looks for the program. */
static void put_mappings(struct writer *w)
{
    for (size_t i = 0; i < rf_profile_frames(w->objects) && !w->failed; i++) {
        Rfpb__Mapping mapping = RFPB__MAPPING__INIT, *mappings = &mapping;
        Rfpb__Profile piece = RFPB__PROFILE__INIT;
        mapping.id = i + 1;
        mapping.filename = string(w, rf_profile_frame(w->objects, i).file);
        mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = true;
        piece.n_mapping = 1;
        piece.mapping = &mappings;
        put(w, &piece);
    }
}

static void put_strings(struct writer *w)
{
    for (size_t i = 0; i < rf_profile_frames(w->strings) && !w->failed; i++) {
        struct rf_text t = rf_profile_frame(w->strings, i).fn;
        ProtobufCBinaryData one = {t.n, (uint8_t *)t.s};
        Rfpb__Profile piece = RFPB__PROFILE__INIT;
        piece.n_string_table = 1;
        piece.string_table = &one;
        put(w, &piece);
    }
}

/* --- samples ------------------------------------------------------------------------------------------ */

/* What is one sample for pprof: a stack as it is shown, with its labels, which are strings, 0 for none. */
struct stack {
    uint32_t node, thread, query;
    uint64_t samples, ns;
};

static int compare_stacks(const void *va, const void *vb)
{
    const struct stack *a = va, *b = vb;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->query > b->query) - (a->query < b->query);
}

/* One for each node, what has been charged to it. Returns their number once equal ones are added up. */
static size_t stacks_of(struct writer *w, struct stack *stack)
{
    size_t n = rf_profile_nodes(w->profile), kept = 0;
    for (size_t i = 1; i < n; i++) {
        struct rf_node node = rf_profile_node(w->profile, i);
        struct rf_frame f = rf_profile_frame(w->profile, node.frame);
        const struct stack *above = &stack[node.parent];
        stack[i] = (struct stack){w->node[i], above->thread, above->query, node.self_samples, node.self_ns};
        if (f.kind == RF_KIND_THREAD)
            stack[i].thread = (uint32_t)string(w, f.fn);
        if (f.query.n)
            stack[i].query = (uint32_t)string(w, f.query);
    }
    qsort(stack, n, sizeof *stack, compare_stacks);
    for (size_t i = 0; i < n; i++) {
        if (kept && compare_stacks(&stack[kept - 1], &stack[i]) == 0) {
            stack[kept - 1].samples += stack[i].samples;
            stack[kept - 1].ns += stack[i].ns;
        } else {
            stack[kept++] = stack[i];
        }
    }
    return kept;
}

static void put_stack(struct writer *w, const struct stack *s, uint64_t *path)
{
    Rfpb__Sample sample = RFPB__SAMPLE__INIT, *samples = &sample;
    Rfpb__Label label[] = {RFPB__LABEL__INIT, RFPB__LABEL__INIT}, *labels[2];
    Rfpb__Profile piece = RFPB__PROFILE__INIT;
    int64_t value[] = {(int64_t)s->samples, (int64_t)s->ns};
    const struct {
        const char *key;
        uint32_t string;
    } wanted[] = {{"thread", s->thread}, {"query", s->query}};
    for (size_t i = 0; i < 2; i++) {
        if (!wanted[i].string)
            continue;
        label[i].key = word(w, wanted[i].key);
        label[i].str = wanted[i].string;
        labels[sample.n_label++] = &label[i];
    }
    sample.label = labels;
    sample.n_value = 2;
    sample.value = value;
    sample.location_id = path;
    for (uint32_t at = s->node; at; at = rf_profile_node(w->shown, at).parent)
        path[sample.n_location_id++] = (uint64_t)rf_profile_node(w->shown, at).frame + 1;
    piece.n_sample = 1;
    piece.sample = &samples;
    put(w, &piece);
}

static void put_samples(struct writer *w)
{
    struct stack *stack = calloc(rf_profile_nodes(w->profile), sizeof *stack);
    uint64_t *path = calloc(rf_profile_nodes(w->shown), sizeof *path); /* no path is longer than the tree is large */
    w->failed |= !stack || !path;
    size_t n = w->failed ? 0 : stacks_of(w, stack);
    for (size_t i = 0; i < n && !w->failed; i++)
        if (stack[i].samples || stack[i].ns)
            put_stack(w, &stack[i], path);
    free(stack);
    free(path);
}

/* --- the file ----------------------------------------------------------------------------------------- */

static bool put_all(struct writer *w, const struct rf_log *log, const uint32_t *redacted)
{
    w->strings = rf_profile_new();
    w->functions = rf_profile_new();
    w->objects = rf_profile_new();
    w->failed = !w->strings || !w->functions || !w->objects || word(w, "") != 0;
    if (w->failed)
        return false;
    intern(w, w->objects, (struct rf_frame){.file = program(w)}); /* the main one is the first */
    put_about(w);
    put_samples(w);
    put_locations(w);
    put_functions(w);
    put_mappings(w);
    put_strings(w);
    return !w->failed && rf_save_parts(&w->to, w->profile, log, redacted, w->how->about, w->how->no_text);
}

static enum rf_status write_file(struct writer *w, const struct rf_log *log, const uint32_t *redacted, FILE *to,
                                 struct rf_error *err)
{
    struct rf_render how = *w->how;
    unsigned apart = RF_UNESCAPED | (how.view == RF_VIEW_EXPR ? RF_APART_FORMS : 0);
    how.no_text = false; /* there is none left in it, and its numbers are those of the labels */
    enum rf_status status = rf_printable_nodes(w->profile, &how, apart, &w->shown, &w->node, err);
    if (status != RF_OK)
        return status;
    bool done = rf_gzip_begin(&w->to, to);
    if (done) {
        done = put_all(w, log, redacted);
        done = rf_gzip_end(&w->to) && done;
    }
    rf_profile_free(w->strings);
    rf_profile_free(w->functions);
    rf_profile_free(w->objects);
    rf_profile_free(w->shown);
    free(w->node);
    return done ? RF_OK : rf_fail(err, RF_FAILURE, 0, "out of memory while writing format pprof");
}

enum rf_status rf_write_pprof(const struct rf_profile *p, const struct rf_render *how, FILE *to, struct rf_error *err)
{
    struct writer w = {.profile = p, .how = how};
    struct rf_profile *redacted = NULL;
    uint32_t *nodes = NULL;
    enum rf_status status = RF_OK;
    if (how->no_text) {
        status = rf_redacted(p, &redacted, &nodes, err);
        w.profile = redacted;
    }
    if (status == RF_OK)
        status = write_file(&w, rf_profile_log(p), nodes, to, err);
    rf_profile_free(redacted);
    free(nodes);
    return status;
}
