/* calibrate.c: counts live observations for and against a derived layout, and decides. */
#include "calibrate.h"

#include "clock.h"
#include "rayfall/interpreter.h"
#include "rayfall/probe.h"

#include <stdlib.h>
#include <time.h>

enum {
    FRAMES_ENOUGH = 20, /* interpreter frames with a block */
    FRAMES_WAIT = 200,  /* so many without a return stack: callers stay off */
    RETURNS_ENOUGH = 3,
    CALLED_ENOUGH = 3,
    BLOCKS_WHOLE = 8, /* copied whole in one sample; RF_BYTES_MAX has room for nine */
    FRAME_WORDS_MAX = 1024,
    LAMBDAS_MAX = 256,
    PAUSE_MOST_NS = 4000000,
};

struct tally {
    unsigned good, bad;
};

struct rf_calibration {
    struct rf_runtime *rt;
    const struct rf_memory *live;
    struct rf_names *names;
    struct rf_sources *sources;
    struct rf_lambdas *lambdas;
    struct rf_probe probe;
    uint64_t epoch, handlers;
    struct tally frames, code, spans, vm;
    struct tally returns[RF_STACKS_MAX], called[RF_STACKS_MAX];
    unsigned unknown_code;      /* functions with opcodes that are not known */
    uint64_t seen[LAMBDAS_MAX]; /* bytecode that was looked at */
    unsigned n_seen;
};

struct look {
    struct rf_calibration *c;
    const struct rf_memory *m;
    const struct rf_snapshot *s;
    const struct rf_native_stack *native;
    uint64_t used[BLOCKS_WHOLE]; /* blocks of older frames */
    unsigned n_used;
};

static void count(struct tally *t, bool good)
{
    t->good += good;
    t->bad += !good;
}

/* One in ten may be wrong: memory moves on while the part that was not copied is read. */
static bool contradicted(struct tally t)
{
    return t.bad >= 3 && t.bad * 10 > t.good;
}

struct rf_calibration *rf_calibration_new(struct rf_runtime *rt, const struct rf_memory *live)
{
    struct rf_calibration *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->rt = rt;
    c->live = live;
    c->names = rf_names_new(rt);
    c->sources = rf_sources_new();
    if (c->names && c->sources)
        c->lambdas = rf_lambdas_new(rt, live, c->names, c->sources);
    c->probe = (struct rf_probe){.rt = rt, .lambdas = c->lambdas};
    c->handlers = rf_interpreter_handlers(rt, live);
    if (!c->lambdas) {
        rf_calibration_free(c);
        return NULL;
    }
    return c;
}

void rf_calibration_free(struct rf_calibration *c)
{
    if (!c)
        return;
    rf_lambdas_free(c->lambdas);
    rf_sources_free(c->sources);
    rf_names_free(c->names);
    free(c);
}

/* As for decoding, but blocks are copied whole: where their stacks begin is the question. */
static size_t select_whole(void *ctx, const struct rf_snapshot *s, unsigned round, struct rf_range *out, size_t max)
{
    const struct rf_calibration *c = ctx;
    const struct rf_layout *l = &c->rt->layout;
    size_t n = rf_probe_select((void *)(uintptr_t)&c->probe, s, round, out, max), asked = n;
    unsigned whole = 0;
    for (size_t i = 0; round == 0 && i < asked && n < max && whole < BLOCKS_WHOLE; i++)
        if (rf_exec_word(l, out[i].addr + RAY_HEADER)) {
            out[n++] = (struct rf_range){out[i].addr, (uint32_t)(RAY_HEADER + l->exec_size)};
            whole++;
        }
    return n;
}

struct rf_selector rf_calibration_selector(struct rf_calibration *c)
{
    return (struct rf_selector){select_whole, c};
}

/* --- one frame --------------------------------------------------------------------------------------------- */

/* The shape alone, without the numbers that are in question. */
static bool read_block(const struct look *k, uint64_t word, struct rf_exec *e, const struct rf_lambda **fn)
{
    const struct rf_layout *l = &k->c->rt->layout;
    unsigned char order;
    if (!rf_exec_word(l, word) || !rf_read(k->m, word - RAY_HEADER + RAY_ORDER, &order, 1) || order != l->exec_order)
        return false;
    e->addr = word;
    if (!rf_read_i32(k->m, word + (uint64_t)l->exec_sp, &e->sp) ||
        !rf_read_i32(k->m, word + (uint64_t)l->exec_fp, &e->fp) ||
        !rf_read_i32(k->m, word + (uint64_t)l->exec_rp, &e->rp) ||
        !rf_read_u64(k->m, word + (uint64_t)l->exec_fn, &e->fn))
        return false;
    if (e->fp < 0 || e->fp > e->sp || e->sp > EXEC_INDEX_MAX || e->rp < 0 || e->rp > EXEC_INDEX_MAX)
        return false;
    *fn = rf_lambdas_get(k->c->lambdas, k->m, e->fn, k->c->epoch);
    return *fn != NULL;
}

static bool is_used(const struct look *k, uint64_t word)
{
    for (unsigned i = 0; i < k->n_used; i++)
        if (k->used[i] == word)
            return true;
    return false;
}

/* How many different blocks this frame could run; *e is the first. */
static unsigned blocks_of(const struct look *k, size_t frame, struct rf_exec *e, const struct rf_lambda **fn)
{
    static const unsigned char saved[] = {RF_RBX, RF_RBP, RF_R12, RF_R13, RF_R14, RF_R15};
    const struct rf_native *f = &k->native->frame[frame];
    uint64_t end = frame + 1 < k->native->n ? k->native->frame[frame + 1].sp : f->sp + 8 * FRAME_WORDS_MAX;
    size_t words = end > f->sp && end - f->sp < 8 * FRAME_WORDS_MAX ? (size_t)(end - f->sp) / 8 : FRAME_WORDS_MAX;
    unsigned n = 0;
    for (size_t i = 0; i < sizeof saved + words; i++) {
        struct rf_exec other;
        const struct rf_lambda *runs;
        uint64_t w;
        if (i < sizeof saved && !(f->known >> saved[i] & 1))
            continue;
        if (i < sizeof saved)
            w = f->reg[saved[i]];
        else if (!rf_snapshot_word(k->s, f->sp + 8 * (i - sizeof saved), &w))
            break;
        if ((n && w == e->addr) || is_used(k, w) || !read_block(k, w, &other, &runs))
            continue;
        if (n++ == 0) {
            *e = other;
            *fn = runs;
        }
    }
    return n;
}

/* Would the return stack be sound if it began at rs? */
static bool sound_returns(const struct look *k, const struct rf_exec *e, const struct rf_lambda *running, int32_t rs)
{
    const struct rf_lambda *fn = running;
    for (int32_t i = e->rp - 1; i >= 0; i--) {
        unsigned char b[16];
        struct rf_return r;
        if (!rf_read(k->m, e->addr + (uint64_t)rs + 16 * (uint64_t)i, b, sizeof b))
            return false;
        memcpy(&r.fn, b, 8);
        memcpy(&r.fp, b + 8, 4);
        memcpy(&r.ip, b + 12, 4);
        if (r.fn)
            fn = rf_lambdas_get(k->c->lambdas, k->m, r.fn, k->c->epoch);
        if (!fn || !rf_return_sound(fn, e, &r))
            return false;
    }
    return true;
}

/* While a builtin runs, the slot above the stack's top still holds it: its C function is the one below the frame, or
 * below a helper. Only agreement says something. */
static bool shows_called(const struct look *k, size_t frame, const struct rf_exec *e, int32_t ps)
{
    uint64_t slot, native;
    struct rf_obj o;
    if (e->sp >= EXEC_INDEX_MAX || !rf_read_u64(k->m, e->addr + (uint64_t)ps + 8 * (uint64_t)e->sp, &slot) ||
        !rf_obj_read(k->m, slot, &o) || o.type < RAY_UNARY || o.type > RAY_VARY ||
        !rf_read_u64(k->m, slot + RAY_NATIVE, &native))
        return false;
    for (size_t i = 1; i <= 2 && i <= frame; i++)
        if (k->native->frame[frame - i].fn.addr == native)
            return true;
    return false;
}

static bool is_call(enum rf_op op)
{
    return op == OP_CALL1 || op == OP_CALL2 || op == OP_CALLN || op == OP_CALLF || op == OP_CALLS ||
           (op >= OP_CALLG1 && op <= OP_CALLGN);
}

/* Each function once: does its bytecode make sense, do its calls come from forms? */
static void observe_function(struct look *k, const struct rf_lambda *fn)
{
    struct rf_calibration *c = k->c;
    for (unsigned i = 0; i < c->n_seen; i++)
        if (c->seen[i] == fn->code_addr)
            return;
    if (c->n_seen == LAMBDAS_MAX)
        return;
    c->seen[c->n_seen++] = fn->code_addr;
    if (fn->code.n == 0 || fn->code.v[fn->code.n - 1].end != fn->code.len) {
        c->unknown_code++;
        return;
    }
    count(&c->code, fn->code.sound);
    const struct rf_source *source = fn->nfo ? rf_sources_get(c->sources, k->m, fn->nfo, c->epoch) : NULL;
    for (size_t i = 0; source && i < fn->code.n; i++) {
        struct rf_span span;
        if (!is_call(fn->code.v[i].op) || !rf_lambda_span(fn, fn->code.v[i].end, &span))
            continue;
        struct rf_text text = rf_source_at(source, span);
        count(&c->spans, text.n && text.s[0] == '(');
    }
}

static void observe_frame(struct look *k, size_t frame)
{
    struct rf_calibration *c = k->c;
    struct rf_exec e;
    const struct rf_lambda *fn = NULL;
    unsigned n = blocks_of(k, frame, &e, &fn);
    if (n != 1) {
        if (n || k->native->frame[frame].pc >= c->handlers) /* entry code has none yet */
            c->frames.bad++;
        return;
    }
    if (k->n_used < BLOCKS_WHOLE)
        k->used[k->n_used++] = e.addr;
    if (k->native->frame[frame].pc < c->handlers) /* nor need it be filled in */
        return;
    c->frames.good++;
    observe_function(k, fn);
    for (unsigned h = 0; h < c->rt->n_stacks; h++) {
        if (e.rp > 0)
            count(&c->returns[h], sound_returns(k, &e, fn, c->rt->stacks[h].rs));
        c->called[h].good += shows_called(k, frame, &e, c->rt->stacks[h].ps);
    }
}

/* Thread-local fields could not be looked at before a thread was stopped. */
static void observe_vm(struct look *k)
{
    const struct rf_runtime *rt = k->c->rt;
    const struct rf_layout *l = &rt->layout;
    uint64_t nfo = 0;
    int64_t handle = -1;
    struct rf_obj o;
    if (!rt->vm_in_tls || !k->s->main_thread || l->vm_nfo == RF_UNKNOWN)
        return;
    bool good = rf_read_u64(k->m, rf_vm_field(rt, k->s->fs_base, l->vm_nfo), &nfo) &&
                (!nfo || (rf_obj_vector(k->m, nfo, RAY_LIST, 4, &o) && o.len == 4));
    if (l->vm_ipc_handle != RF_UNKNOWN)
        good = rf_read(k->m, rf_vm_field(rt, k->s->fs_base, l->vm_ipc_handle), &handle, sizeof handle) &&
               handle >= -1 && good;
    count(&k->c->vm, good);
}

/* --- the verdict --------------------------------------------------------------------------------------------- */

/* The hypothesis that return stacks speak for, else the one that called builtins do. RF_STACKS_MAX: none yet. */
static unsigned choose_stacks(const struct rf_calibration *c)
{
    unsigned best = RF_STACKS_MAX;
    for (unsigned h = 0; h < c->rt->n_stacks; h++)
        if (c->returns[h].good >= RETURNS_ENOUGH && !contradicted(c->returns[h]) &&
            (best == RF_STACKS_MAX || c->returns[h].good > c->returns[best].good))
            best = h;
    for (unsigned h = 0; best == RF_STACKS_MAX && h < c->rt->n_stacks; h++) {
        unsigned others = 0;
        for (unsigned i = 0; i < c->rt->n_stacks; i++)
            others += i != h ? c->called[i].good : 0;
        if (c->called[h].good >= CALLED_ENOUGH && !others && !contradicted(c->returns[h]))
            best = h;
    }
    return best;
}

static enum rf_verdict refuse(const struct rf_calibration *c, struct rf_error *err)
{
    rf_fail(err, RF_TARGET, 0,
            "the layout that was derived from the code does not fit the process: %u of %u interpreter frames"
            " have no execution block, or several",
            c->frames.bad, c->frames.bad + c->frames.good);
    rf_hint(err, "found: version '%s', build-id %s", c->rt->version, rf_image_build_id(c->rt->image));
    return RF_REFUTED;
}

static enum rf_verdict decide(struct rf_calibration *c, struct rf_error *err)
{
    struct rf_runtime *rt = c->rt;
    unsigned h = choose_stacks(c);
    if (c->frames.good + c->frames.bad < FRAMES_ENOUGH)
        return RF_WAITING;
    if (contradicted(c->frames))
        return refuse(c, err);
    if (h == RF_STACKS_MAX && c->frames.good < FRAMES_WAIT)
        return RF_WAITING;
    rt->agreed = c->frames.good + c->code.good + c->spans.good + c->vm.good;
    if (h == RF_STACKS_MAX) { /* the operand stack's place is not known either, and lines are found with it */
        rt->off |= RF_OFF_CALLERS | RF_OFF_LINES;
    } else {
        rt->layout.exec_ps = rt->stacks[h].ps;
        rt->layout.exec_rs = rt->stacks[h].rs;
        rt->layout.exec_tp = rt->stacks[h].ps - 8;
        rt->agreed += c->returns[h].good + c->called[h].good;
    }
    if (contradicted(c->code) || contradicted(c->spans))
        rt->off |= RF_OFF_LINES;
    if (contradicted(c->vm))
        rt->off |= RF_OFF_SOURCE | RF_OFF_CLIENTS;
    return RF_BELIEVED;
}

enum rf_verdict rf_calibration_observe(struct rf_calibration *c, const struct rf_snapshot *s,
                                       const struct rf_native_stack *native, struct rf_error *err)
{
    struct rf_overlay view = rf_overlay(s, c->live);
    struct look k = {.c = c, .m = &view.memory, .s = s, .native = native};
    c->epoch++;
    rf_names_refresh(c->names, c->live, s->time_ns);
    observe_vm(&k);
    for (size_t i = native->n; i-- > 0;)
        if (native->frame[i].fn.name && native->frame[i].fn.addr == c->rt->interpreter)
            observe_frame(&k, i);
    return decide(c, err);
}

bool rf_runs_bytecode(const struct rf_runtime *rt, const struct rf_native_stack *native)
{
    for (size_t i = 0; i < native->n; i++)
        if (native->frame[i].fn.name && native->frame[i].fn.addr == rt->interpreter)
            return true;
    return false;
}

enum rf_status rf_calibrate(struct rf_calibration *c, const struct rf_process *p, struct rf_images *images,
                            uint64_t at_most_ns, enum rf_verdict *verdict, struct rf_error *err)
{
    struct rf_engine *engine = NULL;
    struct rf_unwinder *unwinder = NULL;
    struct rf_snapshot *const *v;
    struct rf_native_stack native;
    struct rf_selector selector = rf_calibration_selector(c);
    size_t n = 0;
    uint64_t begin = rf_now_ns(), random = begin;
    *verdict = RF_WAITING;
    enum rf_status status = rf_unwinder_open(&unwinder, images, err);
    if (status == RF_OK)
        status = rf_engine_open(&engine, p, &selector, err);
    while (status == RF_OK && *verdict == RF_WAITING && rf_now_ns() - begin < at_most_ns && rf_process_alive(p)) {
        status = rf_engine_tick(engine, &v, &n, err);
        for (size_t i = 0; status == RF_OK && *verdict == RF_WAITING && i < n; i++) {
            rf_unwind(unwinder, v[i], &native);
            bool root = native.end == RF_UNWIND_ROOT && native.n > 0;
            rf_engine_stack_root(engine, v[i]->tid, root ? native.frame[native.n - 1].sp : 0);
            *verdict = rf_calibration_observe(c, v[i], &native, err);
        }
        random = random * 6364136223846793005u +
                 1442695040888963407u; /* Knuth's MMIX generator: not in step with the target */
        nanosleep(&(struct timespec){0, (long)((random >> 33) % PAUSE_MOST_NS)}, NULL);
    }
    rf_engine_close(engine);
    rf_unwinder_close(unwinder);
    return status == RF_OK && *verdict == RF_REFUTED ? RF_TARGET : status;
}

enum rf_status rf_calibrate_once(struct rf_runtime *rt, const struct rf_process *p, struct rf_images *images,
                                 uint64_t at_most_ns, enum rf_verdict *verdict, struct rf_error *err)
{
    *verdict = RF_BELIEVED;
    if (rt->layout.origin != RF_ORIGIN_DERIVED)
        return RF_OK;
    struct rf_calibration *c = rf_calibration_new(rt, &p->memory);
    if (!c)
        return rf_fail(err, RF_FAILURE, 0, "out of memory");
    enum rf_status status = rf_calibrate(c, p, images, at_most_ns, verdict, err);
    rf_calibration_free(c);
    return status;
}

void rf_calibration_describe(const struct rf_runtime *rt, char *out, size_t n)
{
    size_t used;
    if (rt->layout.origin != RF_ORIGIN_DERIVED)
        rf_layout_describe(&rt->layout, out, n);
    else if (rt->agreed)
        snprintf(out, n, "calibrated, %u live observations agreed", rt->agreed);
    else
        snprintf(out, n, "derived from the code, not yet confirmed: too little bytecode ran");
    for (unsigned bit = 0, said = 0; bit < RF_OFF_COUNT; bit++) {
        used = strlen(out);
        if (rt->off >> bit & 1)
            snprintf(out + used, n - used, "%s%s", said++ ? ", " : "; not established: ", rf_off_name(bit));
    }
}
