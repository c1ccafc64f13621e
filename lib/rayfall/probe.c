/* probe.c: chooses what to copy while a thread is held. No system calls, no allocation: the thread is waiting. */
#include "probe.h"

#include "exec.h"

enum {
    HEAD_SLOTS = 24, /* operand stack copied with a block's head: most stacks are shallower */
    NEAR_BITS = 40,  /* of an address that are not compared with those of the thread's own data */
    BLOCKS_MAX = 24, /* execution blocks considered; nesting natively deeper than that is rare */
    PROLOGUE_WORDS = 16,
    VM_FIELDS = 256,   /* bytes from one field of the VM to another that is copied with it */
    CODE_BYTES = 1024, /* of an unknown lambda's bytecode, constants and debug vector */
    BODY_BYTES = 256,  /* and of the list of its forms */
    LOCALS_MAX = 64,   /* values of an operand stack, from its top downwards */
    VALUE_BYTES = RAY_HEADER + 64,
    CHILDREN_MAX = 8, /* elements of a list */
};

struct request {
    const struct rf_snapshot *s;
    struct rf_range *out;
    size_t n, max;
};

static bool asked(const struct request *r, uint64_t addr, uint32_t size)
{
    for (size_t i = 0; i < r->s->n_blocks; i++)
        if (r->s->block[i].addr <= addr && addr + size <= r->s->block[i].addr + r->s->block[i].size)
            return true;
    for (size_t i = 0; i < r->n; i++)
        if (r->out[i].addr <= addr && addr + size <= r->out[i].addr + r->out[i].size)
            return true;
    return false;
}

static void ask(struct request *r, uint64_t addr, uint32_t size)
{
    if (r->n < r->max && size && addr && !asked(r, addr, size))
        r->out[r->n++] = (struct rf_range){addr, size};
}

/* Two fields of the thread's VM, most often side by side: then as one range. */
static void ask_vm(const struct rf_probe *p, struct request *r)
{
    const struct rf_layout *l = &p->rt->layout;
    uint64_t nfo = rf_vm_field(p->rt, r->s->fs_base, l->vm_nfo);
    uint64_t handle = rf_vm_field(p->rt, r->s->fs_base, l->vm_ipc_handle);
    uint64_t low = nfo < handle ? nfo : handle, high = nfo < handle ? handle : nfo;
    if (high - low <= VM_FIELDS) {
        ask(r, low, (uint32_t)(high - low) + 8);
    } else {
        ask(r, nfo, 8);
        ask(r, handle, 8);
    }
}

static uint32_t head_size(const struct rf_layout *l)
{
    return (uint32_t)(RAY_HEADER + l->exec_ps + 8 * HEAD_SLOTS);
}

/* Words that may be the address of a block, each once. */
struct words {
    uint64_t v[BLOCKS_MAX];
    size_t n;
};

static void add_word(struct words *seen, uint64_t w)
{
    size_t k = 0;
    while (k < seen->n && seen->v[k] != w)
        k++;
    if (k == seen->n && k < BLOCKS_MAX)
        seen->v[seen->n++] = w;
}

/* Of the stack, page by page: of some nothing was copied. Words below rsp are what earlier calls left. */
static void add_stack(const struct rf_layout *l, struct words *seen, const struct rf_snapshot *s)
{
    size_t at = s->reg[RF_RSP] > s->stack_addr ? (size_t)(s->reg[RF_RSP] - s->stack_addr) / 8 * 8 : 0;
    while (at < s->stack_size) {
        size_t page = at / RF_PAGE, end = (page + 1) * RF_PAGE < s->stack_size ? (page + 1) * RF_PAGE : s->stack_size;
        bool absent = s->absent[page / 64] >> (page % 64) & 1;
        for (; !absent && at + 8 <= end; at += 8) {
            uint64_t w;
            memcpy(&w, s->stack + at, sizeof w);
            if (rf_exec_word(l, w)) /* one in a thousand */
                add_word(seen, w);
        }
        at = end;
    }
}

/* First round: the heads of what may be a block. What is none may be anywhere; a copy ends at what cannot be read, and
 * goes on behind it with one more system call. So those that are not where the thread's own data is are last. */
static void ask_heads(const struct rf_probe *p, struct request *r)
{
    const struct rf_snapshot *s = r->s;
    const struct rf_layout *l = &p->rt->layout;
    struct words seen = {.n = 0};
    for (size_t i = 0; i < RF_REGS; i++)
        if (rf_exec_word(l, s->reg[i]))
            add_word(&seen, s->reg[i]);
    add_stack(l, &seen, s);
    for (unsigned far = 0; far < 2; far++)
        for (size_t i = 0; i < seen.n; i++)
            if ((seen.v[i] >> NEAR_BITS != s->fs_base >> NEAR_BITS) == far)
                ask(r, seen.v[i] - RAY_HEADER, head_size(l));
}

/* Calls next for each block whose head was copied and makes sense. */
static void each_exec(const struct rf_probe *p, struct request *r,
                      void (*next)(const struct rf_probe *, struct request *, const struct rf_exec *))
{
    const struct rf_layout *l = &p->rt->layout;
    struct rf_exec e;
    for (size_t i = 0; i < r->s->n_blocks; i++)
        if (r->s->block[i].size == head_size(l) && rf_exec_read(&r->s->memory, l, r->s->block[i].addr + RAY_HEADER, &e))
            next(p, r, &e);
}

static void ask_lambda(struct request *r, uint64_t addr)
{
    if (rf_obj_plausible(addr))
        ask(r, addr, LAMBDA_BYTES);
}

/* What the interpreter holds in a register or on its frame before its block is set up: the lambda itself. */
static void ask_prologue(struct request *r)
{
    static const unsigned char regs[] = {RF_RBX, RF_RDI, RF_RBP, RF_R12, RF_R13, RF_R14, RF_R15};
    const struct rf_snapshot *s = r->s;
    uint64_t sp = s->reg[RF_RSP], stack_end = s->stack_addr + s->stack_size;
    for (size_t i = 0; i < sizeof regs + PROLOGUE_WORDS; i++) {
        uint64_t w;
        if (i < sizeof regs)
            w = s->reg[regs[i]];
        else if (!rf_snapshot_word(s, sp + 8 * (i - sizeof regs), &w))
            return;
        if (w < s->stack_addr || w >= stack_end)
            ask_lambda(r, w);
    }
}

/* Second round: the parts of a block that its indexes point to, and the lambda that it runs. */
static void ask_rest(const struct rf_probe *p, struct request *r, const struct rf_exec *e)
{
    const struct rf_layout *l = &p->rt->layout;
    ask(r, e->addr + (uint64_t)l->exec_ps + 8 * (uint64_t)e->sp, 8);
    ask(r, e->addr + (uint64_t)l->exec_rs, 16 * (uint32_t)(e->rp + 1)); /* with one that a return may have taken */
    ask_lambda(r, e->fn);
}

/* Third round: the lambdas that called it. */
static void ask_callers(const struct rf_probe *p, struct request *r, const struct rf_exec *e)
{
    struct rf_return ret[EXEC_INDEX_MAX];
    if (!rf_exec_returns(&r->s->memory, &p->rt->layout, e, 0, e->rp, ret))
        return;
    for (int32_t i = 0; i < e->rp; i++)
        if (i == 0 || ret[i].fn != ret[i - 1].fn)
            ask_lambda(r, ret[i].fn);
}

/* The beginnings of each lambda's bytecode and of its body, which are part of its identity; more of what is not yet
 * known. */
static void ask_code(const struct rf_probe *p, struct request *r)
{
    const struct rf_snapshot *s = r->s;
    for (size_t i = 0; i < s->n_blocks; i++) {
        const struct rf_block *b = &s->block[i];
        struct rf_obj o;
        uint64_t slot[LAMBDA_SLOTS];
        if (b->size != LAMBDA_BYTES || !rf_obj_read(&s->memory, b->addr, &o) || o.type != RAY_LAMBDA ||
            !(o.attrs & RAY_ATTR_COMPILED))
            continue;
        memcpy(slot, s->bytes + b->off + RAY_DATA, sizeof slot);
        bool known = p->lambdas && rf_lambdas_known(p->lambdas, b->addr, slot);
        if (rf_obj_plausible(slot[LAMBDA_CODE]))
            ask(r, slot[LAMBDA_CODE], known ? LAMBDA_CODE_LOOK : CODE_BYTES);
        if (rf_obj_plausible(slot[LAMBDA_BODY]))
            ask(r, slot[LAMBDA_BODY], known ? RAY_HEADER + 8 : BODY_BYTES);
        if (!known && rf_obj_plausible(slot[LAMBDA_CONSTS]))
            ask(r, slot[LAMBDA_CONSTS], CODE_BYTES);
        if (!known && rf_obj_plausible(slot[LAMBDA_DBG]))
            ask(r, slot[LAMBDA_DBG], CODE_BYTES);
    }
}

/* The source in force is freed with the text that it belongs to: at once where a client sent it. */
static void ask_source(const struct rf_probe *p, struct request *r, unsigned round)
{
    uint64_t nfo, element[4];
    struct rf_obj o;
    const struct rf_memory *m = &r->s->memory;
    if (!rf_read_u64(m, rf_vm_field(p->rt, r->s->fs_base, p->rt->layout.vm_nfo), &nfo) || !rf_obj_plausible(nfo))
        return;
    if (round == 1) {
        ask(r, nfo, RAY_HEADER + sizeof element);
        return;
    }
    if (!rf_read(m, nfo + RAY_DATA, element, sizeof element))
        return;
    for (size_t i = 0; round == 2 && i < 4; i++)
        if (rf_obj_plausible(element[i]))
            ask(r, element[i], i < 2 ? RAY_HEADER : CODE_BYTES);
    for (size_t i = 0; round == 3 && i < 2; i++)
        if (rf_obj_read(m, element[i], &o) && rf_obj_plausible((uint64_t)o.len))
            ask(r, (uint64_t)o.len, CODE_BYTES);
}

static void ask_for_span(void *ctx, uint64_t addr, uint32_t size)
{
    ask(ctx, addr, size);
}

static void ask_operands(const struct rf_probe *p, struct request *r, const struct rf_exec *e)
{
    ask(r, e->addr + (uint64_t)p->rt->layout.exec_ps, 8 * (uint32_t)e->sp);
}

static void each_operand(const struct rf_probe *p, struct request *r, const struct rf_exec *e,
                         void (*next)(struct request *, uint64_t object))
{
    uint64_t v;
    for (int32_t i = e->sp; i > 0 && i > e->sp - LOCALS_MAX; i--)
        if (rf_read_u64(&r->s->memory, e->addr + (uint64_t)p->rt->layout.exec_ps + 8 * (uint64_t)(i - 1), &v) &&
            rf_obj_plausible(v))
            next(r, v);
}

static void ask_value(struct request *r, uint64_t object)
{
    ask(r, object, VALUE_BYTES);
}

static void ask_values(const struct rf_probe *p, struct request *r, const struct rf_exec *e)
{
    each_operand(p, r, e, ask_value);
}

/* What a value consists of: the text of a string, the elements of a list. */
static void ask_parts(struct request *r, uint64_t object)
{
    uint64_t child;
    struct rf_obj o;
    if (!rf_obj_read(&r->s->memory, object, &o))
        return;
    if (o.type == RAY_STRING_ATOM && rf_obj_plausible((uint64_t)o.len))
        ask_value(r, (uint64_t)o.len);
    bool list = o.type == RAY_LIST || o.type == RAY_DICT || o.type == RAY_TABLE;
    for (int64_t i = 0; list && i < o.len && i < CHILDREN_MAX; i++)
        if (rf_read_u64(&r->s->memory, object + RAY_DATA + 8 * (uint64_t)i, &child) && rf_obj_plausible(child))
            ask_value(r, child);
}

static void ask_all_parts(const struct rf_probe *p, struct request *r, const struct rf_exec *e)
{
    each_operand(p, r, e, ask_parts);
}

size_t rf_probe_select(void *ctx, const struct rf_snapshot *s, unsigned round, struct rf_range *out, size_t max)
{
    const struct rf_probe *p = ctx;
    const struct rf_layout *l = &p->rt->layout;
    struct request r = {s, out, 0, max};
    if (round == 0) {
        ask(&r, p->rt->parallel_flag, 4);
        ask(&r, p->rt->g_pool, (uint32_t)l->size_g_pool);
        ask_vm(p, &r);
        ask_heads(p, &r);
        ask_prologue(&r);
    } else if (round == 1) {
        each_exec(p, &r, ask_rest);
    } else if (round == 2) {
        each_exec(p, &r, ask_callers);
    }
    if (round >= 2)
        ask_code(p, &r);
    if (round > 0)
        ask_source(p, &r, round);
    if (p->spans)
        rf_spans_select(p->spans, s, ask_for_span, &r);
    if (p->locals && round > 0)
        each_exec(p, &r, round == 1 ? ask_operands : round == 2 ? ask_values : ask_all_parts);
    return r.n;
}
