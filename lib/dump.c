/* dump.c: one look at every thread: opened as a session is, ticked until each thread was seen, and kept as a tree. */
#include "rfprof.h"

#include "calibrate.h"
#include "profile/tids.h"
#include "rayfall/decode.h"
#include "rayfall/native.h"
#include "rayfall/owner.h"
#include "starting.h"
#include "texts.h"

#include <stdlib.h>
#include <time.h>

enum { TRIAL_NS = 300 * 1000000, TICKS_MAX = 512, PAUSE_NS = 5 * 1000000 };

/* Memory that is freed as a whole. */
struct chunk {
    struct chunk *next;
    _Alignas(max_align_t) unsigned char bytes[];
};

struct kept {
    struct rf_dump shown; /* first member */
    struct chunk *chunks;
    struct rf_dump_thread *thread;
};

struct dumping {
    const struct rf_dump_options *options;
    struct kept *kept;
    struct rf_process *process;
    struct rf_images *images;
    struct rf_runtime runtime;
    bool believed; /* the layout is; else there are C functions only */
    struct rf_decoder *decoder;
    struct rf_natives *natives; /* for those */
    struct rf_unwinder *unwinder;
    struct rf_engine *engine;
    struct rf_tids *tids;
    bool no_memory;
};

/* --- keeping -------------------------------------------------------------------------------------------------- */

/* Zeroed. NULL when out of memory, which is noted. */
static void *keep(struct dumping *d, size_t n, size_t size)
{
    struct chunk *c = n < SIZE_MAX / 2 / size ? calloc(1, sizeof *c + n * size) : NULL;
    if (!c) {
        d->no_memory = true;
        return NULL;
    }
    c->next = d->kept->chunks;
    d->kept->chunks = c;
    return c->bytes;
}

static struct rf_text keep_text(struct dumping *d, const char *s, size_t n)
{
    char *to = n ? keep(d, n, 1) : NULL;
    if (!to)
        return (struct rf_text){"", 0};
    memcpy(to, s, n);
    return (struct rf_text){to, n};
}

void rf_dump_free(struct rf_dump *shown)
{
    struct kept *k = (struct kept *)shown;
    if (!k)
        return;
    while (k->chunks) {
        struct chunk *next = k->chunks->next;
        free(k->chunks);
        k->chunks = next;
    }
    free(k);
}

/* --- one thread ----------------------------------------------------------------------------------------------- */

static void keep_value(struct dumping *d, const struct rf_local *from, struct rf_dump_value *to)
{
    const struct rf_shown *v = &from->value;
    to->name = keep_text(d, from->name.s, from->name.n);
    to->argument = from->argument;
    to->length = -1;
    to->changed = from->state == RF_LOCAL_CHANGED;
    if (from->state != RF_LOCAL_SET)
        return;
    to->type = keep_text(d, v->type, strlen(v->type));
    to->length = v->length;
    to->text = keep_text(d, v->text, v->n);
    to->cut = v->cut;
}

static void keep_values(struct dumping *d, const struct rf_snapshot *s, const struct rf_locals *at,
                        struct rf_dump_frame *f)
{
    struct rf_local local[RF_DUMP_VALUES];
    struct rf_overlay view = rf_overlay(s, &d->process->memory);
    struct rf_locals_view v = {.s = s,
                               .m = &view.memory,
                               .live = &d->process->memory,
                               .rt = &d->runtime,
                               .names = rf_decoder_names(d->decoder)};
    size_t n = rf_locals_read(&v, at, local, RF_DUMP_VALUES), shown = n < RF_DUMP_VALUES ? n : RF_DUMP_VALUES;
    struct rf_dump_value *value = n ? keep(d, shown, sizeof *value) : NULL;
    for (size_t i = 0; i < shown; i++) {
        if (value)
            keep_value(d, &local[i], &value[i]);
        free((char *)local[i].name.s);
    }
    f->value = value;
    f->n_values = value ? shown : 0;
    f->n_left_out = n - shown;
}

static void keep_frame(struct dumping *d, const struct rf_frame *from, struct rf_dump_frame *to)
{
    *to = (struct rf_dump_frame){.native = from->kind == RF_KIND_NATIVE || from->kind == RF_KIND_INTERPRETER,
                                 .fn = keep_text(d, from->fn.s, from->fn.n),
                                 .file = keep_text(d, from->file.s, from->file.n),
                                 .line = from->line,
                                 .col = from->col,
                                 .source = keep_text(d, from->source.s, from->source.n)};
}

/* What a sleeping thread waits for is its innermost frame, of file "<runtime>". */
static bool is_runtime(const struct rf_frame *f)
{
    return f->kind == RF_KIND_RAYFALL && rf_text_is(f->file, "<runtime>");
}

static void keep_stack(struct dumping *d, const struct rf_snapshot *s, const struct rf_decoded *decoded,
                       struct rf_dump_thread *t)
{
    size_t n = decoded->n, deep = 0;
    if (s->asleep && n && is_runtime(&decoded->frame[n - 1])) {
        n--;
        t->wait = keep_text(d, decoded->frame[n].fn.s, decoded->frame[n].fn.n);
    }
    t->idle = decoded->worker && n == 1 && rf_text_is(decoded->frame[0].fn, "<pool idle>");
    if (t->idle)
        n = 0;
    /* Under no line, the name of a C function is what option native is for. */
    if (n && is_runtime(&decoded->frame[n - 1]) && decoded->frame[n - 1].fn.n && decoded->frame[n - 1].fn.s[0] != '<')
        n--;
    struct rf_dump_frame *frame = n ? keep(d, n, sizeof *frame) : NULL;
    t->frame = frame;
    for (size_t i = frame ? n : 0; i-- > 0;) {
        const struct rf_frame *from = &decoded->frame[i];
        if (from->kind == RF_KIND_INTERPRETER) /* the Rayfall frames stand for it */
            continue;
        struct rf_dump_frame *f = &frame[t->n_frames++];
        struct rf_locals at = rf_decoder_locals(d->decoder, decoded, i);
        keep_frame(d, from, f);
        t->dispatched |= decoded->worker && !f->native;
        if (!d->options->locals || !at.fn)
            continue;
        if (!at.at)
            f->no_values = at.fn->code_addr ? "the function begins: they are not there yet"
                                            : "they are kept by the walk over the tree, which is not read";
        else if (deep++ >= RF_DUMP_DEPTH)
            f->no_values = "too deep in the stack";
        else
            keep_values(d, s, &at, f);
    }
}

static void keep_native(struct dumping *d, const struct rf_native_stack *native, struct rf_dump_thread *t)
{
    const struct rf_frame *f;
    size_t n = 0, at = 0;
    for (size_t i = 0; i < native->n; i++)
        n += rf_natives_frames(d->natives, native, i, &f);
    struct rf_dump_frame *frame = n ? keep(d, n, sizeof *frame) : NULL;
    t->frame = frame;
    t->n_frames = frame ? n : 0;
    for (size_t i = 0; frame && i < native->n; i++)
        for (size_t k = rf_natives_frames(d->natives, native, i, &f); k-- > 0 && at < n;)
            keep_frame(d, &f[k], &frame[at++]);
}

static struct rf_dump_thread *thread_of(struct dumping *d, pid_t tid)
{
    for (size_t i = 0; i < d->kept->shown.n_threads; i++)
        if (d->kept->thread[i].tid == tid)
            return &d->kept->thread[i];
    return NULL;
}

static void name_thread(struct dumping *d, struct rf_dump_thread *t, bool worker)
{
    char comm[32];
    const struct rf_tid *named = rf_tids_add(d->tids, t->tid, rf_process_comm(d->process, t->tid, comm), worker);
    d->no_memory |= !named;
    if (named)
        t->name = keep_text(d, named->name.s, named->name.n);
}

static void see(struct dumping *d, const struct rf_snapshot *s)
{
    struct rf_native_stack native;
    struct rf_dump_thread *t = thread_of(d, s->tid);
    if (!t)
        return;
    rf_unwind(d->unwinder, s, &native);
    t->missing = NULL;
    if (d->believed) {
        struct rf_decoded decoded = rf_decode(d->decoder, s, &native);
        keep_stack(d, s, &decoded, t);
        if (decoded.worker && decoded.n == 0) {
            t->missing = "it works for the main thread, which was elsewhere when looked at: the line is not known";
            if (d->options->native)
                keep_native(d, &native, t);
        }
        name_thread(d, t, decoded.worker);
    } else {
        keep_native(d, &native, t); /* only C functions are sure */
        t->missing = "the layout of this build is not confirmed: C functions only";
        name_thread(d, t, false);
    }
}

/* --- all of them ---------------------------------------------------------------------------------------------- */

static enum rf_status open_all(struct dumping *d, struct rf_error *err)
{
    enum rf_verdict verdict;
    enum rf_status status = rf_process_open(&d->process, d->options->pid, err);
    if (status == RF_OK) {
        status = rf_starting_find(&d->images, &d->runtime, d->process, &d->options->layout, err);
        if (status == RF_TARGET && d->images && rf_starting_later(d->images, d->process))
            rf_hint(err, "it may get a runtime yet: rfprof -p %d waits until it does", (int)d->process->pid);
    }
    if (status == RF_OK)
        status = rf_calibrate_once(&d->runtime, d->process, d->images, TRIAL_NS, &verdict, err);
    if (status != RF_OK)
        return status;
    d->believed = verdict == RF_BELIEVED;
    d->decoder = rf_decoder_new(&d->runtime, &d->process->memory);
    d->natives = rf_natives_new(&d->runtime);
    d->tids = rf_tids_new(d->process->pid);
    struct rf_session_options want = {.want_native = d->options->native, .want_source = true};
    if (!d->decoder || !d->natives || !d->tids || !rf_decoder_want(d->decoder, &want) ||
        (d->options->locals && !rf_decoder_want_locals(d->decoder)))
        return rf_fail(err, RF_FAILURE, 0, "out of memory");
    rf_decoder_find_spans(d->decoder, d->images);
    struct rf_selector selector = {rf_probe_select, rf_decoder_probe(d->decoder)};
    status = rf_unwinder_open(&d->unwinder, d->images, err);
    if (status == RF_OK)
        status = rf_engine_open(&d->engine, d->process, &selector, err);
    return status;
}

static void close_all(struct dumping *d)
{
    rf_engine_close(d->engine);
    rf_unwinder_close(d->unwinder);
    rf_decoder_free(d->decoder);
    rf_natives_free(d->natives);
    rf_tids_free(d->tids);
    rf_images_close(d->images);
    rf_process_close(d->process);
}

/* The threads that there are; what a look at them says comes later. */
static bool list_threads(struct dumping *d)
{
    struct rf_looked looked;
    size_t n = 0;
    while (rf_engine_looked(d->engine, n, &looked))
        n++;
    d->kept->thread = keep(d, n ? n : 1, sizeof *d->kept->thread);
    if (!d->kept->thread)
        return false;
    for (size_t i = 0; i < n && rf_engine_looked(d->engine, i, &looked); i++)
        d->kept->thread[i] = (struct rf_dump_thread){.tid = looked.tid, .missing = "it did not stop in time"};
    d->kept->shown.thread = d->kept->thread;
    d->kept->shown.n_threads = n;
    return true;
}

/* The thread that owns the VM first: workers stand on its stack. */
static void see_all(struct dumping *d, struct rf_snapshot *const *v, size_t n)
{
    struct rf_owner owner = {0};
    size_t first = 0;
    for (size_t i = 0; i < n; i++)
        if (rf_owns_vm(&owner, &d->runtime, &d->process->memory, v[i]))
            first = i;
    for (size_t i = 0; i < n; i++)
        see(d, v[i == 0 ? first : i == first ? 0 : i]);
}

static enum rf_status look_at_all(struct dumping *d, struct rf_error *err)
{
    struct rf_snapshot *const *v;
    struct rf_looked looked;
    size_t n;
    enum rf_status status = RF_OK;
    rf_engine_once(d->engine);
    if (!list_threads(d))
        return rf_fail(err, RF_FAILURE, 0, "out of memory");
    for (unsigned i = 0; i < TICKS_MAX && status == RF_OK && rf_engine_left(d->engine); i++) {
        if (i)
            nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
        status = rf_engine_tick(d->engine, &v, &n, err);
        if (status == RF_OK)
            see_all(d, v, n);
        if (!rf_process_alive(d->process))
            return rf_fail_ended(d->process, err);
    }
    for (size_t i = 0; rf_engine_looked(d->engine, i, &looked); i++) {
        struct rf_dump_thread *t = thread_of(d, looked.tid);
        if (!t)
            continue;
        t->state = looked.state == 'R' && t->wait.n ? 'S' : looked.state; /* it was about to */
        if (looked.sampled)
            continue;
        name_thread(d, t, false);
        if (looked.state == 't')
            t->missing = "another tracer holds it";
        else if (looked.state == 'Z')
            t->missing = "it has ended";
    }
    return status;
}

static void drop_ended(struct rf_dump *d, struct rf_dump_thread *thread)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->n_threads; i++)
        if (thread[i].state && thread[i].state != 'X')
            thread[kept++] = thread[i];
    d->n_threads = kept;
}

enum rf_status rf_dump_take(struct rf_dump **out, const struct rf_dump_options *options, struct rf_error *err)
{
    struct dumping d = {.options = options, .kept = calloc(1, sizeof *d.kept)};
    char layout[256];
    *out = NULL;
    if (!d.kept)
        return rf_fail(err, RF_FAILURE, 0, "out of memory");
    enum rf_status status = open_all(&d, err);
    if (status == RF_OK)
        status = look_at_all(&d, err);
    if (status == RF_OK && d.no_memory)
        status = rf_fail(err, RF_FAILURE, 0, "out of memory");
    if (status == RF_OK) {
        struct rf_dump *shown = &d.kept->shown;
        drop_ended(shown, d.kept->thread);
        rf_calibration_describe(&d.runtime, layout, sizeof layout);
        snprintf(shown->describe, sizeof shown->describe, "rayforce %s, core %s (layout: %s), %zu thread%s",
                 d.runtime.layout.release, d.runtime.version, layout, shown->n_threads,
                 shown->n_threads == 1 ? "" : "s");
        shown->pid = d.process->pid;
        snprintf(shown->release, sizeof shown->release, "%s", d.runtime.layout.release);
        snprintf(shown->core, sizeof shown->core, "%s", d.runtime.version);
        snprintf(shown->layout, sizeof shown->layout, "%s", layout);
        shown->origin = rf_layout_origin(&d.runtime.layout);
        shown->believed = d.believed;
        shown->hold_max_ns = rf_engine_stats(d.engine)->hold.max;
        *out = shown;
    } else {
        rf_dump_free(&d.kept->shown);
    }
    close_all(&d);
    return status;
}
