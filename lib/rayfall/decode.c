/* decode.c: puts a thread's Rayfall stack together, from its outermost native frame inwards. */
#include "decode.h"

#include "interpreter.h"

#include <stdlib.h>

enum { FRAMES_MAX = 8192, DISPATCH_MAX = 256 };

/* Reads the snapshot, and the live process where the snapshot has nothing. */
struct view {
    struct rf_memory memory;
    const struct rf_snapshot *s;
    const struct rf_memory *live;
};

struct stack {
    struct rf_frame frame[FRAMES_MAX];
    size_t n;
    enum rf_explained how;
};

struct rf_decoder {
    const struct rf_runtime *rt;
    const struct rf_memory *live;
    struct rf_names *names;
    struct rf_sources *sources;
    struct rf_lambdas *lambdas;
    struct rf_probe probe;
    struct rf_decode_stats stats;
    uint64_t epoch, handlers;
    struct stack main, other; /* of the main thread; of the thread at hand where it is another */
};

static bool view_read(const struct rf_memory *m, uint64_t addr, void *to, size_t n)
{
    const struct view *v = (const struct view *)m;
    return rf_snapshot_read(&v->s->memory, addr, to, n) || rf_read(v->live, addr, to, n);
}

/* The entry code of the interpreter lies before the first handler (releases §2.3, disassembly of each release). */
static uint64_t lowest_handler(const struct rf_runtime *rt, const struct rf_memory *live)
{
    uint64_t table[DISPATCH_MAX], low = UINT64_MAX;
    size_t n = rt->opcodes < DISPATCH_MAX ? (size_t)rt->opcodes : DISPATCH_MAX;
    if (!rf_read(live, rt->dispatch, table, n * sizeof *table))
        return 0;
    for (size_t i = 0; i < n; i++)
        if (table[i] < low)
            low = table[i];
    return low - rt->interpreter < rt->interpreter_size ? low : 0;
}

struct rf_decoder *rf_decoder_new(const struct rf_runtime *rt, const struct rf_memory *live)
{
    struct rf_decoder *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->rt = rt;
    d->live = live;
    d->handlers = lowest_handler(rt, live);
    d->names = rf_names_new(rt);
    d->sources = rf_sources_new();
    if (d->names && d->sources)
        d->lambdas = rf_lambdas_new(rt, live, d->names, d->sources);
    if (!d->lambdas) {
        rf_decoder_free(d);
        return NULL;
    }
    d->probe = (struct rf_probe){rt, d->lambdas};
    return d;
}

void rf_decoder_free(struct rf_decoder *d)
{
    if (!d)
        return;
    rf_lambdas_free(d->lambdas);
    rf_sources_free(d->sources);
    rf_names_free(d->names);
    free(d);
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

static void push(struct stack *st, struct rf_text file, uint32_t line, struct rf_text fn)
{
    if (st->n < FRAMES_MAX)
        st->frame[st->n++] = (struct rf_frame){.file = file, .fn = fn, .line = line};
}

/* Text that did not come from a file has the file name "repl" in the engine, whoever sent it. */
static struct rf_text file_name(struct rf_text file)
{
    return file.n == 4 && memcmp(file.s, "repl", 4) == 0 ? text("<repl>") : file.n ? file : text("<unknown>");
}

static void push_activation(void *ctx, const struct rf_activation *a)
{
    struct stack *st = ctx;
    push(st, file_name(a->fn->file), a->line, a->fn->name);
    st->how = a->line ? RF_BY_A_LINE : RF_BY_A_FUNCTION;
}

static bool is_base(const char *name, const char *base)
{
    size_t n = name ? rf_symbol_base(name) : 0;
    return name && n == strlen(base) && memcmp(name, base, n) == 0;
}

/* The interpreter is known by its address, not by its name: every build has one. */
static bool is_interpreter(const struct rf_decoder *d, const struct rf_native *f)
{
    return f->fn.name && f->fn.addr == d->rt->interpreter;
}

static void count(struct rf_decode_stats *s, enum rf_ip_found found)
{
    s->interpreters++;
    s->ip_unique += found == RF_IP_UNIQUE;
    s->ip_same_line += found == RF_IP_SAME_LINE;
    s->ip_open += found == RF_IP_OPEN;
    s->ip_prologue += found == RF_IP_PROLOGUE;
    s->bare += found == RF_IP_NONE;
}

static void rayfall_frames(struct rf_decoder *d, const struct rf_snapshot *s, const struct rf_native_stack *native,
                           struct stack *st)
{
    struct view view = {{view_read}, s, d->live};
    struct rf_interpreter in = {.rt = d->rt,
                                .lambdas = d->lambdas,
                                .names = d->names,
                                .m = &view.memory,
                                .s = s,
                                .epoch = ++d->epoch,
                                .handlers = d->handlers};
    rf_names_refresh(d->names, d->live, s->time_ns);
    for (size_t k = native->n; k-- > 0;)
        if (is_interpreter(d, &native->frame[k]))
            count(&d->stats, rf_interpreter_frame(&in, native, k, push_activation, st));
}

/* What the runtime does when no Rayfall line is in progress, by a function that is on the stack; else that of the
 * innermost C function. */
static struct rf_text runtime_name(const struct rf_native_stack *native)
{
    static const struct {
        const char *base, *shown;
    } known[] = {
        {"ipc_read_payload", "<ipc read>"}, {"ray_parse", "<parse>"},     {"parse_expr", "<parse>"},
        {"ray_sem_wait", "<pool idle>"},    {"worker_loop", "<pool idle>"},
    };
    for (size_t i = 0; i < native->n; i++)
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (is_base(native->frame[i].fn.name, known[k].base))
                return text(known[k].shown);
    for (size_t i = 0; i < native->n; i++)
        if (native->frame[i].fn.name)
            return text(native->frame[i].fn.name);
    return text("<unwind>");
}

/* Index of the pool's worker loop on the stack, native->n when this thread is no worker. */
static size_t worker_loop(const struct rf_native_stack *native)
{
    size_t i = 0;
    while (i < native->n && !is_base(native->frame[i].fn.name, "worker_loop"))
        i++;
    return i;
}

/* A worker is busy when the loop has called something else than its semaphore. */
static bool worker_busy(const struct rf_native_stack *native, size_t loop)
{
    for (size_t i = 0; i < loop; i++) {
        const char *name = native->frame[i].fn.name;
        if (is_base(name, "ray_sem_wait") || (name && strncmp(name, "sem_", 4) == 0))
            return false;
    }
    return loop > 0;
}

static void mark_cut_stack(struct stack *st, const struct rf_native_stack *native)
{
    const char *why = native->end == RF_UNWIND_ROOT        ? "<torn>"
                      : native->end == RF_UNWIND_TRUNCATED ? "<truncated>"
                                                           : "<unwind>";
    memmove(st->frame + 1, st->frame, (st->n < FRAMES_MAX ? st->n : FRAMES_MAX - 1) * sizeof *st->frame);
    st->n += st->n < FRAMES_MAX;
    st->frame[0] = (struct rf_frame){.file = text("<unknown>"), .fn = text(why), .line = 0};
}

struct rf_decoded rf_decode(struct rf_decoder *d, const struct rf_snapshot *s, const struct rf_native_stack *native)
{
    size_t loop = worker_loop(native);
    uint64_t bare = d->stats.bare;
    if (loop < native->n && worker_busy(native, loop) && d->main.n)
        return (struct rf_decoded){d->main.frame, d->main.n, d->main.how};
    struct stack *st = s->main_thread ? &d->main : &d->other;
    st->n = 0;
    rayfall_frames(d, s, native, st);
    bool whole = native->end == RF_UNWIND_ROOT;
    if (st->n == 0 && whole && d->stats.bare == bare) {
        push(st, text("<runtime>"), 0, runtime_name(native));
        st->how = RF_BY_RUNTIME;
    } else if (st->n == 0 || !whole) {
        if (st->n == 0)
            st->how = RF_NOT_EXPLAINED;
        mark_cut_stack(st, native);
    }
    return (struct rf_decoded){st->frame, st->n, st->how};
}
