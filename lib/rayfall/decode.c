/* decode.c: puts a thread's Rayfall stack together, from its outermost native frame inwards. */
#include "decode.h"

#include "doing.h"
#include "owner.h"
#include "pool.h"
#include "result.h"
#include "slots/slots.h"
#include "stack.h"
#include "target/pages.h"
#include "variables/variables.h"
#include "wait.h"
#include "waiting.h"

#include <stdlib.h>
#include <sys/syscall.h>

enum { EXPRESSION_BYTES = 256 * 1024 };

struct rf_decoder {
    const struct rf_runtime *rt;
    const struct rf_memory *live;
    struct rf_pages pages; /* of it, for the sample at hand */
    struct rf_names *names;
    struct rf_sources *sources;
    struct rf_lambdas *lambdas;
    struct rf_builtins *builtins;
    struct rf_slots *slots;
    struct rf_variables *variables;
    struct rf_probe probe;
    struct rf_spans spans;
    struct rf_named_span span; /* of the thread at hand */
    struct rf_sites sites;
    struct rf_decode_stats stats;
    uint64_t epoch, handlers;
    struct rf_owner owner;
    bool own;                    /* the thread at hand owns the VM: `main` is its stack, whatever the kernel calls it */
    struct rf_stack main, other; /* of the thread that owns the VM; of the thread at hand where it is another */
    struct rf_expressions expressions;
    bool want_query, want_builtin, want_source;
    struct rf_natives *natives; /* NULL: native frames are not wanted */
    struct rf_waiting *waiting;
    bool due;                /* the sample at hand is the main thread's, inside a window: some may stand on it */
    uint64_t now_ns;         /* of the sample at hand */
    struct rf_result result; /* of the main thread */
    struct rf_window window; /* that the main thread's last sample saw, and who opened it */
    uint64_t dispatcher;
    char wait_name[32]; /* of the thread at hand */
    char *texts;        /* what the frames of main point to, once copied */
    size_t texts_size;
};

struct rf_decoder *rf_decoder_new(const struct rf_runtime *rt, const struct rf_memory *live)
{
    struct rf_decoder *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->rt = rt;
    d->live = live;
    rf_pages_open(&d->pages, live);
    d->handlers = rf_interpreter_handlers(rt, live);
    d->names = rf_names_new(rt);
    d->sources = rf_sources_new();
    d->builtins = rf_builtins_new(rt, live);
    d->slots = rf_slots_new(rt, live);
    d->variables = rf_variables_new(rt);
    d->waiting = rf_waiting_new();
    if (d->names && d->sources && d->builtins && d->slots && d->variables && d->waiting)
        d->lambdas = rf_lambdas_new(rt, live, d->names, d->sources);
    if (!d->lambdas) {
        rf_decoder_free(d);
        return NULL;
    }
    d->probe = (struct rf_probe){.rt = rt, .lambdas = d->lambdas, .spans = &d->spans};
    return d;
}

void rf_decoder_free(struct rf_decoder *d)
{
    if (!d)
        return;
    rf_lambdas_free(d->lambdas);
    rf_sources_free(d->sources);
    rf_names_free(d->names);
    rf_builtins_free(d->builtins);
    rf_slots_free(d->slots);
    rf_variables_free(d->variables);
    free(d->expressions.bytes);
    rf_result_free(&d->result);
    rf_natives_free(d->natives);
    rf_waiting_free(d->waiting);
    free(d->main.locals);
    free(d->other.locals);
    free(d->texts);
    rf_pages_close(&d->pages);
    free(d);
}

bool rf_decoder_want(struct rf_decoder *d, const struct rf_session_options *o)
{
    d->want_query = o->want_query;
    d->want_builtin = o->want_builtin;
    d->want_source = o->want_source;
    if (o->want_native && !d->natives)
        d->natives = rf_natives_new(d->rt);
    if (o->want_expr && !d->expressions.bytes) {
        d->expressions.size = EXPRESSION_BYTES;
        d->expressions.bytes = malloc(EXPRESSION_BYTES);
    }
    d->expressions.wanted = o->want_expr && d->expressions.bytes;
    return d->expressions.wanted == o->want_expr && (!o->want_native || d->natives);
}

void rf_decoder_find_spans(struct rf_decoder *d, const struct rf_images *images)
{
    rf_spans_find(&d->spans, images, d->live);
}

bool rf_decoder_want_locals(struct rf_decoder *d)
{
    d->main.locals = calloc(RF_FRAMES_MAX, sizeof *d->main.locals);
    d->other.locals = calloc(RF_FRAMES_MAX, sizeof *d->other.locals);
    d->probe.locals = true;
    return d->main.locals && d->other.locals;
}

struct rf_locals rf_decoder_locals(const struct rf_decoder *d, const struct rf_decoded *of, size_t i)
{
    bool main = of->frame >= d->main.frame && of->frame < d->main.frame + RF_FRAMES_MAX;
    const struct rf_stack *st = main ? &d->main : &d->other;
    size_t at = i < of->n && !of->worker ? (size_t)(of->frame - st->frame) + i : st->n;
    return st->locals && at < st->n ? st->locals[at] : (struct rf_locals){0};
}

const struct rf_names *rf_decoder_names(const struct rf_decoder *d)
{
    return d->names;
}

struct rf_probe *rf_decoder_probe(struct rf_decoder *d)
{
    return &d->probe;
}

const struct rf_decode_stats *rf_decoder_stats(const struct rf_decoder *d)
{
    return &d->stats;
}

static struct rf_text text(const char *s)
{
    return (struct rf_text){s, strlen(s)};
}

static void rayfall_frames(struct rf_decoder *d, const struct rf_snapshot *s, const struct rf_native_stack *native,
                           struct rf_stack *st)
{
    struct rf_overlay view = rf_overlay(s, &d->pages.memory);
    struct rf_walk w = {.rt = d->rt,
                        .m = &view.memory,
                        .sources = d->sources,
                        .builtins = d->builtins,
                        .sites = &d->sites,
                        .stats = &d->stats,
                        .expressions = &d->expressions,
                        .want_query = d->want_query,
                        .want_builtin = d->want_builtin,
                        .want_source = d->want_source,
                        .natives = d->natives,
                        .out = st,
                        .interpreter = {.rt = d->rt,
                                        .lambdas = d->lambdas,
                                        .names = d->names,
                                        .m = &view.memory,
                                        .s = s,
                                        .epoch = ++d->epoch,
                                        .handlers = d->handlers,
                                        .slots = d->slots,
                                        .variables = d->variables}};
    d->expressions.used = 0;
    rf_forget(&d->pages.memory);
    rf_names_refresh(d->names, d->live, s->time_ns);
    rf_lambdas_hold(d->lambdas, &s->memory);
    rf_walk(&w, s, native);
    rf_lambdas_hold(d->lambdas, NULL);
}

/* The main thread's stack outlives its sample: workers are charged to it. So its texts are copied out of the caches. */
static bool keep_texts(struct rf_decoder *d, struct rf_stack *st)
{
    size_t size = 0, at = 0;
    for (size_t i = 0; i < st->n; i++) {
        const struct rf_frame *f = &st->frame[i];
        size += f->file.n + f->fn.n + f->expr.n + f->query.n + f->source.n;
    }
    if (size > d->texts_size) {
        char *more = realloc(d->texts, size);
        if (!more)
            return false;
        d->texts = more;
        d->texts_size = size;
    }
    for (size_t i = 0; i < st->n; i++) {
        struct rf_frame *f = &st->frame[i];
        struct rf_text *t[] = {&f->file, &f->fn, &f->expr, &f->query, &f->source};
        for (size_t k = 0; k < sizeof t / sizeof *t; k++) {
            if (t[k]->n)
                memcpy(d->texts + at, t[k]->s, t[k]->n);
            t[k]->s = d->texts + at;
            at += t[k]->n;
        }
    }
    return true;
}

static void mark_cut_stack(struct rf_stack *st, const struct rf_native_stack *native)
{
    const char *why = native->end == RF_UNWIND_ROOT        ? "<torn>"
                      : native->end == RF_UNWIND_TRUNCATED ? "<truncated>"
                                                           : "<unwind>";
    rf_stack_push_root(st, &(struct rf_frame){.file = text("<unknown>"), .fn = text(why), .named = true});
}

static void decode_stack(struct rf_decoder *d, const struct rf_snapshot *s, const struct rf_native_stack *native,
                         struct rf_stack *st)
{
    uint64_t bare = d->stats.bare;
    bool whole = native->end == RF_UNWIND_ROOT;
    st->n = st->n_rayfall = 0;
    rayfall_frames(d, s, native, st);
    const struct rf_frame *root = rf_stack_first(st);
    struct rf_frame span;
    if (d->own && root)
        rf_result_remember(&d->result, native, root);
    if (rf_spans_read(&d->spans, s, &d->span, &span)) {
        rf_stack_push_below(st, &span);
        root = rf_stack_first(st);
    }
    if (!root && whole && d->stats.bare == bare) {
        struct rf_frame f = {.file = text("<runtime>"), .fn = rf_doing(d->rt->image, native), .named = true};
        bool result = d->own && rf_result_explains(&d->result, native, &f);
        if (result)
            rf_stack_push_outermost(st, &f);
        else
            rf_stack_push_leaf(st, &f); /* what the C functions above it do */
        st->how = result ? RF_BY_A_LINE : RF_BY_RUNTIME;
    } else if (!root || !whole) {
        if (!root)
            st->how = RF_NOT_EXPLAINED;
        mark_cut_stack(st, native);
    }
}

static struct rf_decoded give(const struct rf_stack *st, const struct rf_snapshot *s)
{
    return (struct rf_decoded){
        .frame = st->frame, .n = st->n, .how = st->how, .tid = s->tid, .samples = 1, .weight_ns = s->weight_ns};
}

/* The stack of another thread is the main thread's, as far as its line and what that calls; behind it come the C
 * functions of its own. Where there is no line, they stand on what the runtime does. */
static void stand_on_main(struct rf_decoder *d, struct rf_stack *st)
{
    size_t n = d->main.n;
    if (n > 0 && d->main.how == RF_BY_RUNTIME) {
        st->frame[0] = d->main.frame[n - 1];
        st->n = st->n_rayfall = 1;
        st->how = RF_BY_RUNTIME;
        return;
    }
    while (n > 0 && (d->main.frame[n - 1].kind == RF_KIND_NATIVE || d->main.frame[n - 1].kind == RF_KIND_INTERPRETER))
        n--;
    memcpy(st->frame, d->main.frame, n * sizeof *st->frame);
    st->n = n;
    st->n_rayfall = d->main.n_rayfall;
    st->how = d->main.how;
}

static void stand_on_pool(struct rf_stack *st)
{
    st->n = st->n_rayfall = 0;
    rf_stack_push(st, &(struct rf_frame){.file = text("<runtime>"), .fn = text("<pool idle>"), .named = true});
    st->how = RF_BY_RUNTIME;
}

static struct rf_decoded joined(struct rf_decoder *d, const struct rf_snapshot *s, const struct rf_native_stack *native)
{
    if (!d->natives)
        return give(&d->main, s);
    stand_on_main(d, &d->other);
    for (size_t i = rf_task_frames(native); i-- > 0;) {
        const struct rf_frame *f;
        size_t n = rf_natives_frames(d->natives, native, i, &f);
        for (size_t k = 0; k < n; k++)
            rf_stack_push(&d->other, &f[k]);
    }
    return give(&d->other, s);
}

static void let_wait(struct rf_decoder *d, const struct rf_snapshot *s, const struct rf_native_stack *native,
                     enum rf_role role)
{
    size_t n = d->natives ? rf_task_frames(native) : 0;
    uint64_t task = role == RF_WORKER_BUSY ? rf_task_of(native) : 0;
    struct rf_wait *w = rf_waiting_add(d->waiting, s->tid, task, d->natives, s->time_ns);
    while (!w->samples && n-- > 0) {
        const struct rf_frame *f;
        size_t frames = rf_natives_frames(d->natives, native, n, &f);
        for (size_t k = 0; k < frames && w->n < RF_TASK_FRAMES_MAX; k++)
            w->frame[w->n++] = f[k];
    }
    w->ns += s->weight_ns;
    w->samples++;
}

/* A worker's sample: the main thread's stack where both saw the same window; else its time waits for one. */
static struct rf_decoded decode_worker(struct rf_decoder *d, const struct rf_snapshot *s,
                                       const struct rf_native_stack *native, enum rf_role role)
{
    struct rf_window window = rf_window_of(d->rt, s);
    struct rf_decoded out = {.how = RF_BY_RUNTIME, .tid = s->tid};
    bool same = rf_window_same(&window, &d->window);
    d->due = false;
    if (d->main.n && (role == RF_WRITER || same)) {
        out = joined(d, s, native);
        if (role == RF_WORKER_BUSY)
            rf_waiting_learn(d->waiting, rf_task_of(native), d->dispatcher);
    } else {
        let_wait(d, s, native, role);
    }
    out.worker = role != RF_WRITER;
    return out;
}

bool rf_decode_waiting(struct rf_decoder *d, struct rf_decoded *out)
{
    const struct rf_wait *w;
    if (d->due && rf_waiting_take(d->waiting, d->dispatcher, d->now_ns, &w))
        stand_on_main(d, &d->other);
    else if (rf_waiting_give_up(d->waiting, d->now_ns, &w))
        stand_on_pool(&d->other); /* no line dispatches: the pool itself took it */
    else
        return false;
    for (size_t i = 0; i < w->n; i++)
        rf_stack_push(&d->other, &w->frame[i]);
    *out = (struct rf_decoded){.frame = d->other.frame,
                               .n = d->other.n,
                               .how = d->other.how,
                               .tid = w->tid,
                               .worker = true,
                               .samples = w->samples,
                               .weight_ns = w->ns};
    return true;
}

static struct rf_decoded decode_thread(struct rf_decoder *d, const struct rf_snapshot *s,
                                       const struct rf_native_stack *native)
{
    enum rf_role role = d->own ? RF_OTHER_THREAD : rf_role_of(native, d->rt->image);
    d->now_ns = s->time_ns;
    if (d->natives && !rf_waiting_n(d->waiting))
        rf_natives_trim(d->natives);
    if (role != RF_OTHER_THREAD)
        return decode_worker(d, s, native, role);
    struct rf_stack *st = d->own ? &d->main : &d->other;
    decode_stack(d, s, native, st);
    if (!d->own)
        return give(st, s);
    if (!keep_texts(d, st))
        st->n = 0;
    d->window = rf_window_of(d->rt, s);
    d->due = d->window.open && st->n;
    d->dispatcher = d->window.open ? rf_dispatcher_of(native) : 0;
    rf_waiting_learn(d->waiting, d->dispatcher ? rf_task_of(native) : 0, d->dispatcher);
    return give(st, s);
}

/* What a sleeping thread waits for is its innermost frame: of this sample only, since others are charged to the main
 * thread's stack. The runtime's own waits need no other name. */
static void add_wait(struct rf_decoder *d, const struct rf_snapshot *s, const struct rf_native_stack *native,
                     struct rf_decoded *to)
{
    struct rf_stack *st = to->frame == d->main.frame ? &d->main : &d->other;
    if (!to->n || to->n == RF_FRAMES_MAX)
        return;
    st->frame[to->n] = rf_wait_frame(s, native, d->wait_name);
    if (to->n == 1 && to->how == RF_BY_RUNTIME && to->frame[0].fn.n && to->frame[0].fn.s[0] != '<')
        to->frame++;
    else
        to->n++;
}

/* A worker that waits for its next task. */
static struct rf_decoded decode_idle_worker(struct rf_decoder *d, const struct rf_snapshot *s)
{
    stand_on_pool(&d->other);
    struct rf_decoded out = give(&d->other, s);
    out.worker = true;
    return out;
}

/* A stop takes effect where the thread next leaves the kernel. The pool's main thread, which spins and yields now and
 * then while workers are busy, does so at each sched_yield(2): what it was doing when it was to stop is the loop. */
static struct rf_native_stack without_yield(const struct rf_snapshot *s, const struct rf_native_stack *native)
{
    bool yields = s->in_syscall && s->syscall == SYS_sched_yield && native->n > 1;
    return yields ? (struct rf_native_stack){native->frame + 1, native->n - 1, native->end} : *native;
}

struct rf_decoded rf_decode(struct rf_decoder *d, const struct rf_snapshot *s, const struct rf_native_stack *stack)
{
    const struct rf_native_stack loop = without_yield(s, stack), *native = &loop;
    d->own = rf_owns_vm(&d->owner, d->rt, d->live, s);
    bool idle = s->asleep && !d->own && rf_role_of(native, d->rt->image) == RF_WORKER_IDLE;
    struct rf_decoded out = idle ? decode_idle_worker(d, s) : decode_thread(d, s, native);
    if (s->asleep)
        add_wait(d, s, native, &out);
    out.owner = d->own;
    return out;
}

pid_t rf_decoder_owner(const struct rf_decoder *d)
{
    return d->owner.tid;
}

uint64_t rf_decoder_waiting_ns(const struct rf_decoder *d)
{
    return rf_waiting_ns(d->waiting);
}
