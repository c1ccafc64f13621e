/* speedscope.c: a file for speedscope (https://www.speedscope.app/file-format-schema.json): frames by number, and
 * profiles of weighted stacks, one for each thread where those are kept apart.
 *
 * Where it is known when each sample was taken the stacks stand in that order, for speedscope's view by time; its axis
 * is the time that was charged. Else each stack stands there once. Written piece by piece: as one JSON value it would
 * take some twenty times the file's size. */
#include "escape.h"
#include "formats.h"
#include "view.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct stack {
    uint32_t node;   /* as it is shown */
    uint32_t thread; /* its frame, plus one; 0: all in one profile */
    size_t order;
    uint64_t ns;
};

struct scope {
    FILE *to;
    const struct rf_profile *profile;
    const struct rf_render *how;
    struct rf_profile *shown;
    uint32_t *node; /* of profile -> of shown */
    struct stack *stack;
    size_t n;
    uint32_t *path;
    bool failed; /* out of memory */
};

/* Takes the value over. */
static void put(struct scope *s, json_t *value)
{
    s->failed |= !value || json_dumpf(value, s->to, JSON_COMPACT | JSON_ENCODE_ANY) != 0;
    json_decref(value);
}

static json_t *string(struct rf_text t)
{
    char *copy = rf_readable_copy(t);
    json_t *value = copy ? json_string(copy) : NULL;
    free(copy);
    return value;
}

/* "command, pid N", as far as it is known. */
static json_t *title(const struct scope *s)
{
    const struct rf_about *a = s->how->about;
    char text[400];
    if (!a || !a->pid)
        return json_string("rfprof");
    int n = snprintf(text, sizeof text, "%s, pid %d", a->command ? a->command : "", (int)a->pid);
    return string((struct rf_text){text, n < (int)sizeof text ? (size_t)n : sizeof text - 1});
}

static void put_frames(struct scope *s)
{
    for (size_t i = 0; i < rf_profile_frames(s->shown) && !s->failed; i++) {
        struct rf_frame f = rf_profile_frame(s->shown, i);
        json_t *frame = json_object();
        s->failed |= json_object_set_new(frame, "name", string(f.fn.n ? f.fn : f.file)) != 0;
        if (f.file.n)
            s->failed |= json_object_set_new(frame, "file", string(f.file)) != 0;
        if (f.line)
            s->failed |= json_object_set_new(frame, "line", json_integer(f.line)) != 0;
        if (f.col)
            s->failed |= json_object_set_new(frame, "col", json_integer(f.col)) != 0;
        fputs(i ? ",\n" : "", s->to);
        put(s, frame);
    }
}

/* --- stacks ------------------------------------------------------------------------------------------- */

/* The thread of each node; NULL when out of memory. */
static uint32_t *threads_of(const struct scope *s)
{
    size_t n = rf_profile_nodes(s->profile);
    uint32_t *thread = calloc(n, sizeof *thread);
    for (size_t i = 1; thread && s->how->threads && i < n; i++) {
        struct rf_node node = rf_profile_node(s->profile, i);
        bool is_thread = rf_profile_frame(s->profile, node.frame).kind == RF_KIND_THREAD;
        thread[i] = is_thread ? node.frame + 1 : thread[node.parent];
    }
    return thread;
}

static int by_thread(const void *va, const void *vb)
{
    const struct stack *a = va, *b = vb;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* Stacks in the order in which they are written, those of a thread together; what follows itself is one. */
static bool collect(struct scope *s)
{
    const struct rf_log *log = rf_profile_log(s->profile);
    bool timed = log && !log->missed;
    size_t n = timed ? log->n : rf_profile_nodes(s->profile), kept = 0;
    uint32_t *thread = threads_of(s);
    s->stack = calloc(n + 1, sizeof *s->stack);
    s->path = calloc(rf_profile_nodes(s->shown), sizeof *s->path);
    if (!thread || !s->stack || !s->path) {
        free(thread);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t node = timed ? log->event[i].node : (uint32_t)i;
        uint64_t ns = timed ? log->event[i].weight_ns : rf_profile_node(s->profile, i).self_ns;
        s->stack[i] = (struct stack){s->node[node], thread[node], i, ns};
    }
    free(thread);
    qsort(s->stack, n, sizeof *s->stack, by_thread);
    for (size_t i = 0; i < n; i++) {
        struct stack *last = kept ? &s->stack[kept - 1] : NULL;
        if (last && last->node == s->stack[i].node && last->thread == s->stack[i].thread)
            last->ns += s->stack[i].ns;
        else if (s->stack[i].ns)
            s->stack[kept++] = s->stack[i];
    }
    s->n = kept;
    return true;
}

static void put_stack(struct scope *s, uint32_t node)
{
    json_t *frames = json_array();
    size_t depth = 0;
    for (; node; node = rf_profile_node(s->shown, node).parent)
        s->path[depth++] = rf_profile_node(s->shown, node).frame;
    while (depth--)
        s->failed |= json_array_append_new(frames, json_integer(s->path[depth])) != 0;
    put(s, frames);
}

static void put_profile(struct scope *s, const struct stack *stack, size_t n)
{
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++)
        all += stack[i].ns;
    fputs("{\"type\":\"sampled\",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":", s->to);
    put(s, json_integer((json_int_t)all));
    fputs(",\"name\":", s->to);
    put(s, n && stack->thread ? string(rf_profile_frame(s->profile, stack->thread - 1).fn) : title(s));
    fputs(",\n\"samples\":[", s->to);
    for (size_t i = 0; i < n && !s->failed; i++) {
        fputs(i ? ",\n" : "", s->to);
        put_stack(s, stack[i].node);
    }
    fputs("],\n\"weights\":[", s->to);
    for (size_t i = 0; i < n && !s->failed; i++) {
        fputs(i ? ",\n" : "", s->to);
        put(s, json_integer((json_int_t)stack[i].ns));
    }
    fputs("]}", s->to);
}

static void put_profiles(struct scope *s)
{
    if (s->n == 0)
        put_profile(s, NULL, 0);
    for (size_t i = 0, end; i < s->n && !s->failed; i = end) {
        for (end = i; end < s->n && s->stack[end].thread == s->stack[i].thread;)
            end++;
        fputs(i ? ",\n" : "", s->to);
        put_profile(s, s->stack + i, end - i);
    }
}

enum rf_status rf_write_speedscope(const struct rf_profile *p, const struct rf_render *how, FILE *to,
                                   struct rf_error *err)
{
    struct scope s = {.to = to, .profile = p, .how = how};
    struct rf_render merged = *how;
    unsigned apart = RF_UNESCAPED | (how->view == RF_VIEW_EXPR ? RF_APART_FORMS : 0);
    merged.threads = false; /* they are profiles, not frames */
    enum rf_status status = rf_printable_nodes(p, &merged, apart, &s.shown, &s.node, err);
    if (status != RF_OK)
        return status;
    s.failed = !collect(&s);
    fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"rfprof\",\"name\":", to);
    put(&s, title(&s));
    fputs(",\n\"shared\":{\"frames\":[", to);
    put_frames(&s);
    fputs("]},\n\"profiles\":[", to);
    put_profiles(&s);
    fputs("]}\n", to);
    free(s.stack);
    free(s.path);
    free(s.node);
    rf_profile_free(s.shown);
    return s.failed ? rf_fail(err, RF_FAILURE, 0, "out of memory while writing format speedscope") : RF_OK;
}
