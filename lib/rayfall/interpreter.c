/* interpreter.c: finds the execution block of an interpreter frame and walks its return stack. */
#include "interpreter.h"

#include "ip.h"

enum { FRAME_WORDS_MAX = 1024, ENTRY_BYTES = 32, DISPATCH_MAX = 256 };

/* The entry code of the interpreter lies before the first handler (releases §2.3, disassembly of each release). */
uint64_t rf_interpreter_handlers(const struct rf_runtime *rt, const struct rf_memory *live)
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

/* Words that belong to frame k: from its stack pointer to that of its caller. */
static size_t frame_words(const struct rf_native_stack *native, size_t k)
{
    uint64_t sp = native->frame[k].sp;
    uint64_t end = k + 1 < native->n ? native->frame[k + 1].sp : sp + 8 * FRAME_WORDS_MAX;
    uint64_t n = end > sp ? (end - sp) / 8 : 0;
    return n < FRAME_WORDS_MAX ? (size_t)n : FRAME_WORDS_MAX;
}

static bool taken(const struct rf_interpreter *in, uint64_t exec)
{
    for (size_t i = 0; i < in->n_used; i++)
        if (in->used[i] == exec)
            return true;
    return false;
}

/* A block whose lambda is gone is remembered in *torn. */
static bool try_exec(struct rf_interpreter *in, uint64_t word, struct rf_exec *e, const struct rf_lambda **fn,
                     struct rf_exec *torn)
{
    if (!rf_exec_word(&in->rt->layout, word) || taken(in, word) || !rf_exec_read(in->m, &in->rt->layout, word, e))
        return false;
    *fn = rf_lambdas_get(in->lambdas, in->m, e->fn, in->epoch);
    if (!*fn && !torn->addr)
        *torn = *e;
    return *fn != NULL;
}

static bool variable(const struct rf_interpreter *in, const struct rf_native_stack *native, size_t k,
                     enum rf_variable which, uint64_t *value)
{
    return in->variables && rf_variables_read(in->variables, native, k, in->m, which, value);
}

/* Only a word of this frame or a register that it saved can be its block. An older frame's block may still be in a
 * register that this one has not yet overwritten. */
static bool find_exec(struct rf_interpreter *in, const struct rf_native_stack *native, size_t k, struct rf_exec *e,
                      const struct rf_lambda **fn, struct rf_exec *torn)
{
    const struct rf_native *f = &native->frame[k];
    size_t n = frame_words(native, k);
    uint64_t w;
    if (variable(in, native, k, RF_VARIABLE_EXEC, &w))
        return try_exec(in, w, e, fn, torn);
    for (size_t i = 0; i < IP_SAVED; i++)
        if ((f->known >> rf_saved_regs[i] & 1) && try_exec(in, f->reg[rf_saved_regs[i]], e, fn, torn))
            return true;
    for (size_t i = 0; i < n && rf_snapshot_word(in->s, f->sp + 8 * i, &w); i++)
        if (try_exec(in, w, e, fn, torn))
            return true;
    return false;
}

/* Entry code keeps its first argument, the lambda, in a callee-saved register (rbx on the releases seen); not so
 * without optimisation, where these registers hold what callers had in them. */
static const struct rf_lambda *entering(struct rf_interpreter *in, const struct rf_native_stack *native, size_t k)
{
    const struct rf_native *f = &native->frame[k];
    const struct rf_lambda *fn = NULL;
    uint64_t given;
    if (variable(in, native, k, RF_FIRST_PARAMETER, &given))
        return rf_lambdas_get(in->lambdas, in->m, given, in->epoch);
    if (k == 0 && f->pc - in->rt->interpreter < ENTRY_BYTES)
        fn = rf_lambdas_get(in->lambdas, in->m, f->reg[RF_RDI], in->epoch);
    bool kept = !in->slots || !rf_slots_blind(in->slots);
    for (size_t i = 0; kept && !fn && i < IP_SAVED; i++)
        if ((f->known >> rf_saved_regs[i] & 1) && rf_obj_plausible(f->reg[rf_saved_regs[i]]))
            fn = rf_lambdas_get(in->lambdas, in->m, f->reg[rf_saved_regs[i]], in->epoch);
    return fn;
}

/* As long as ip is what the caller goes on with, a function's call of itself may still be under way, or the callee be
 * at the same call. What was not copied while the thread was held says nothing: by now another call may be there. */
static uint32_t back(const struct rf_interpreter *in, const struct rf_exec *e)
{
    struct rf_return last;
    bool itself = e->rp > 0 && rf_exec_returns(&in->s->memory, &in->rt->layout, e, e->rp - 1, 1, &last) &&
                  (!last.fn || last.fn == e->fn) && last.ip > 0;
    return itself ? (uint32_t)last.ip : 0;
}

static void look(const struct rf_interpreter *in, const struct rf_native_stack *native, size_t k,
                 const struct rf_exec *e, const struct rf_lambda *fn, struct rf_ip_view *v)
{
    const struct rf_native *f = &native->frame[k];
    memset(v, 0, sizeof *v);
    v->fn = fn;
    v->names = in->names;
    v->depth = e->sp - e->fp - fn->n_locals;
    v->back = back(in, e);
    if (e->sp < EXEC_INDEX_MAX)
        rf_read_u64(&in->s->memory, e->addr + (uint64_t)in->rt->layout.exec_ps + 8 * (uint64_t)e->sp, &v->called);
    for (size_t i = 0; i < IP_SAVED; i++)
        if (f->known >> rf_saved_regs[i] & 1)
            v->saved[v->n_saved++] = f->reg[rf_saved_regs[i]];
    if (k == 0)
        for (unsigned r = 0; r < IP_ALL; r++)
            if (r != RF_RSP)
                v->other[v->n_other++] = f->reg[r];
    for (size_t i = 0; i < IP_WORDS && rf_snapshot_word(in->s, f->sp + 8 * i, &v->word[i]); i++)
        v->n_words++;
    if (k > 0)
        v->below = native->frame[k - 1].fn.name ? native->frame[k - 1].fn.name : "";
}

/* Where a function is once the instruction that ends at ip is in progress. */
static struct rf_activation at_ip(const struct rf_lambda *fn, uint32_t ip)
{
    struct rf_activation a = {.fn = fn};
    if (fn->n_debug && ip <= fn->debug[0].offset) {
        a.line = fn->first_line; /* what a closure does before its first form */
    } else if (rf_lambda_span(fn, ip, &a.span)) {
        a.line = a.span.line + 1u;
        a.placed = true;
    }
    return a;
}

static struct rf_activation at_entry(const struct rf_lambda *fn)
{
    return (struct rf_activation){.fn = fn, .line = fn->n_debug ? fn->first_line : 0};
}

static bool same_form(const struct rf_activation *a, const struct rf_activation *b)
{
    return a->placed && b->placed && memcmp(&a->span, &b->span, sizeof a->span) == 0;
}

/* While a function is called, can a caller's ip be taken for that of the function that runs? */
static bool callers_ip(const struct rf_ip_view *v, uint64_t ip)
{
    return v->where.move == RF_MOVE_HALF_DONE || (v->where.move != RF_MOVE_AHEAD && ip && ip == v->back);
}

/* By the variables of the interpreter: what ends behind ip, or has that within, is in progress. While a call or a
 * return takes place they may be those of two functions; of one that calls itself, of two runs of it. */
static void by_variables(const struct rf_interpreter *in, const struct rf_native_stack *native, size_t k,
                         struct rf_ip_view *v)
{
    uint64_t ip, code;
    if (!variable(in, native, k, RF_VARIABLE_IP, &ip) || ip > v->fn->code.len ||
        (variable(in, native, k, RF_VARIABLE_CODE, &code) && code != v->fn->code_addr) ||
        ((!v->where.ops || (v->where.ops & RF_RUNS)) && callers_ip(v, ip)))
        return;
    const struct rf_instruction *i = ip ? rf_code_with(&v->fn->code, ip - 1) : NULL;
    bool returns = i && i->op == OP_RET; /* or has done so already */
    if ((i && !returns) || !ip) {
        v->where.at = ip ? RF_AT_END : RF_AT_ENTERING;
        v->where.ip = i ? i->end : 0;
    }
}

/* What the interpreter's machine code says of frame k, else its variables. False where nothing can be said: numbers on
 * the frame mean nothing either then. */
static bool locate(const struct rf_interpreter *in, const struct rf_native_stack *native, size_t k,
                   const struct rf_exec *e, struct rf_ip_view *v)
{
    struct rf_slots_frame f = {.native = &native->frame[k],
                               .snapshot = in->s,
                               .leaf = k == 0,
                               .exec = e->addr,
                               .code = &v->fn->code,
                               .code_addr = v->fn->code_addr};
    bool blind = in->slots && rf_slots_blind(in->slots);
    if (in->slots)
        v->where = rf_slots_locate(in->slots, &f);
    /* Between calls, optimised code is ahead of what its debug information says, or behind. */
    bool between = k == 0 && !blind && in->slots && rf_slots_origin(in->slots) != RF_SLOTS_ABSENT;
    if (v->where.at == RF_AT_UNKNOWN && !between)
        by_variables(in, native, k, v);
    return !blind || v->where.at != RF_AT_UNKNOWN;
}

/* Is the frame in code that runs before the first opcode? Without a slot map: below the lowest handler. */
static bool is_entry(const struct rf_interpreter *in, const struct rf_native_stack *native, size_t k)
{
    uint64_t pc = native->frame[k].pc;
    enum rf_slots_part part = in->slots ? rf_slots_part(in->slots, pc, k == 0) : RF_PART_UNKNOWN;
    return part == RF_PART_UNKNOWN ? pc < in->handlers : part == RF_PART_ENTRY;
}

/* The function object whose work is done while this instruction is in progress and something runs below it. Forcing a
 * deferred result is the work of the call before, which left it. */
static uint64_t in_progress(const struct rf_ip_view *v, const struct rf_instruction *i)
{
    if (!v->below)
        return 0;
    if (RF_CALLS & RF_OP(i->op))
        return v->called;
    const struct rf_instruction *left = i->op == OP_FORCE ? rf_code_ending(&v->fn->code, i->start) : NULL;
    if (!left || !(RF_CALLS & RF_OP(left->op)) || left->callee < 0 || (size_t)left->callee >= v->fn->n_consts)
        return 0;
    return left->by_name ? rf_names_value(v->names, v->fn->symbols[left->callee]) : v->fn->consts[left->callee];
}

/* The line of the function that runs, when all candidates agree on it. */
static enum rf_ip_found live_line(const struct rf_ip_view *v, struct rf_activation *a)
{
    const struct rf_instruction *c[IP_CANDIDATES];
    *a = (struct rf_activation){.fn = v->fn};
    if (v->where.at == RF_AT_ENTERING) {
        *a = at_entry(v->fn);
        return RF_IP_UNIQUE;
    }
    size_t n = rf_ip_candidates(v, c);
    if (n && !v->below && v->where.at == RF_AT_UNKNOWN && (RF_RUNS & RF_OP(c[0]->op)) && callers_ip(v, c[0]->end))
        return RF_IP_OPEN;
    if (n == 0 || !v->fn->code.sound) /* opcodes that are not known: where its instructions are is not known either */
        return RF_IP_OPEN;
    *a = at_ip(v->fn, c[0]->end);
    a->called = in_progress(v, c[0]);
    for (size_t i = 1; i < n; i++) {
        struct rf_activation other = at_ip(v->fn, c[i]->end);
        if (other.line != a->line) {
            *a = (struct rf_activation){.fn = v->fn};
            return RF_IP_OPEN;
        }
        a->placed = same_form(a, &other);
    }
    return n == 1 ? RF_IP_UNIQUE : RF_IP_SAME_LINE;
}

/* A caller goes on behind a call of its own bytecode; anything else is not a return stack. */
bool rf_return_sound(const struct rf_lambda *fn, const struct rf_exec *e, const struct rf_return *r)
{
    if (r->fp < 0 || r->fp > e->sp || r->ip <= 0)
        return false;
    const struct rf_instruction *i = rf_code_ending(&fn->code, (uint32_t)r->ip);
    return i && (RF_RUNS & RF_OP(i->op));
}

static uint64_t locals_at(const struct rf_interpreter *in, const struct rf_exec *e, int32_t fp,
                          const struct rf_lambda *fn)
{
    bool sound = fp >= 0 && fp <= e->sp && fn->n_locals >= 0 && fn->n_locals <= EXEC_INDEX_MAX - fp;
    return sound ? e->addr + (uint64_t)in->rt->layout.exec_ps + 8 * (uint64_t)fp : 0;
}

/* The callers in one block, oldest first. An entry without a lambda is a call to itself: its function is that of the
 * next younger entry that has one, and for the youngest that which runs. So the names are found from the top down. */
static void emit_callers(struct rf_interpreter *in, const struct rf_exec *e, const struct rf_lambda *running,
                         void (*emit)(void *, const struct rf_activation *), void *ctx)
{
    const struct rf_lambda *fn[EXEC_INDEX_MAX];
    struct rf_return r[EXEC_INDEX_MAX];
    const struct rf_lambda *cur = running;
    uint64_t last = 0;
    if ((in->rt->off & RF_OFF_CALLERS) || !rf_exec_returns(in->m, &in->rt->layout, e, 0, e->rp, r))
        return;
    for (int32_t i = e->rp - 1; i >= 0; i--) {
        if (r[i].fn && r[i].fn != last) {
            cur = rf_lambdas_get(in->lambdas, in->m, r[i].fn, in->epoch);
            last = r[i].fn;
        }
        fn[i] = cur;
    }
    for (int32_t i = 0; i < e->rp; i++) {
        struct rf_activation a = {.fn = fn[i]};
        if (fn[i] && rf_return_sound(fn[i], e, &r[i]))
            a = at_ip(fn[i], (uint32_t)r[i].ip);
        if (fn[i])
            a.locals = locals_at(in, e, r[i].fp, fn[i]);
        if (fn[i] || i == 0 || fn[i - 1]) /* of callers that could not be read one stands for all in a row */
            emit(ctx, &a);
    }
}

enum rf_ip_found rf_interpreter_frame(struct rf_interpreter *in, const struct rf_native_stack *native, size_t k,
                                      void (*emit)(void *ctx, const struct rf_activation *a), void *ctx)
{
    struct rf_exec e, torn = {0};
    const struct rf_lambda *fn;
    struct rf_activation a = {0};
    struct rf_ip_view v;
    /* Only entry code runs without a block; elsewhere a lambda in a register is some value that the program handles. */
    bool entry = is_entry(in, native, k);
    uint64_t given;
    /* What lies on the frame where the block will be known is, if anything, an older one. */
    if ((entry && variable(in, native, k, RF_FIRST_PARAMETER, &given)) || !find_exec(in, native, k, &e, &fn, &torn)) {
        fn = entry ? entering(in, native, k) : NULL;
        if (!fn && torn.addr) {
            emit_callers(in, &torn, NULL, emit, ctx);
            emit(ctx, &a);
        }
        if (!fn)
            return RF_IP_NONE;
        a = at_entry(fn);
        emit(ctx, &a);
        return RF_IP_PROLOGUE;
    }
    if (in->n_used < RF_BLOCKS_MAX)
        in->used[in->n_used++] = e.addr;
    emit_callers(in, &e, fn, emit, ctx);
    if (entry) {
        a = at_entry(fn);
        emit(ctx, &a);
        return RF_IP_PROLOGUE;
    }
    look(in, native, k, &e, fn, &v);
    enum rf_ip_found found = RF_IP_OPEN;
    if (locate(in, native, k, &e, &v))
        found = live_line(&v, &a);
    else
        a = (struct rf_activation){.fn = fn};
    if (a.called && e.sp < EXEC_INDEX_MAX)
        a.operands = e.addr + (uint64_t)in->rt->layout.exec_ps + 8 * ((uint64_t)e.sp + 1);
    a.locals = locals_at(in, &e, e.fp, fn);
    emit(ctx, &a);
    return found;
}
