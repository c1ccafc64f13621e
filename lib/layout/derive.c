/* derive.c: the layout of a build that nobody has measured, from its machine code.
 *
 * What each number is read from (tried on all releases from 2.0.0 to 2.4.0, releases §6): the size of an execution
 * block from what the interpreter asks of ray_alloc, and the places of its stacks from that size; fields of the VM from
 * the functions that return them; what never moved from 2.0.0 to 2.4.0 is taken to be there still. All of it is
 * compared with the live process before it is believed: validate.c, and calibrate.c for what needs running frames. */
#include "derive.h"

#include "slots/machine.h"

#include <elf.h>
#include <stdlib.h>

/* Facts that held on every release; live observations test them. */
enum {
    EXEC_SP = 0,
    EXEC_FP = 4,
    EXEC_RP = 8,
    EXEC_FN = 16,
    STACK_ENTRIES = 1024, /* ps: 8 bytes each, rows: 1, rs: 16 */
    TRAPS = 16,           /* at the end: 32 bytes each in 2.0.0, 40 since */
    PS_LEAST = 32,
    PS_MOST = 256, /* the operand stack follows a few words; further hypotheses are not made */
    EXEC_MOST = 1 << 16,
    ENV_MAX = 1024,
    ENV_COUNT = 17 * ENV_MAX, /* keys, values and flags come before the count */
    LAMBDA_LEAST = 56,
    LAMBDA_MOST = 96,
    POOL_WORKERS = 8,
    PATHS = 32, /* followed through a function of a few instructions */
};

/* --- functions that return a field ----------------------------------------------------------------------- */

enum kind {
    NOTHING,
    NUMBER, /* a */
    THREAD, /* the thread pointer + a */
    WORD,   /* what is at thread pointer + a */
    FIELD,  /* what is at WORD(a) + b */
};

struct value {
    enum kind kind;
    int64_t a, b;
};

struct path {
    const struct rf_minsn *at;
    struct value reg[RF_REGS];
};

struct code {
    const struct rf_image *image;
    struct rf_machine m;
};

static bool open_code(struct code *c, const struct rf_image *image, uint64_t addr, uint64_t size)
{
    memset(c, 0, sizeof *c);
    c->image = image;
    if (size == 0 || size > RF_MACHINE_MAX)
        return false;
    unsigned char *bytes = malloc(size);
    bool ok = bytes && rf_image_read(image, addr, bytes, size) && rf_machine_decode(&c->m, bytes, size, addr);
    free(bytes);
    return ok;
}

static bool open_function(struct code *c, const struct rf_image *image, const char *base)
{
    struct rf_symbol s;
    return rf_image_find_base(image, base, STT_FUNC, &s) && open_code(c, image, s.addr, s.size);
}

static struct value read_memory(const struct code *c, const struct path *p, const struct rf_moperand *o)
{
    struct value none = {NOTHING, 0, 0}, base = none;
    uint64_t word;
    if (o->index != M_NO_REG)
        return none;
    if (o->base != M_NO_REG)
        base = p->reg[o->base];
    if (o->segment) /* %fs:0 holds the thread pointer itself */
        return o->base == M_NO_REG && o->disp == 0 ? (struct value){THREAD, 0, 0}
               : o->base == M_NO_REG               ? (struct value){WORD, o->disp, 0}
               : base.kind == NUMBER               ? (struct value){WORD, base.a + o->disp, 0}
                                                   : none;
    if (o->base == M_NO_REG) /* a table entry that the linker filled: the variable's place in the TLS block */
        return rf_image_read(c->image, (uint64_t)o->disp, &word, sizeof word) ? (struct value){NUMBER, (int64_t)word, 0}
                                                                              : none;
    if (base.kind == THREAD)
        return (struct value){WORD, base.a + o->disp, 0};
    if (base.kind == WORD)
        return (struct value){FIELD, base.a, o->disp};
    return none;
}

static struct value operand(const struct code *c, const struct path *p, const struct rf_moperand *o)
{
    if (o->kind == M_IMM)
        return (struct value){NUMBER, o->disp, 0};
    if (o->kind == M_REG && o->reg < RF_REGS)
        return p->reg[o->reg];
    return o->kind == M_MEM ? read_memory(c, p, o) : (struct value){NOTHING, 0, 0};
}

static struct value add(struct value v, struct value w)
{
    if (v.kind == NUMBER) {
        struct value swap = v;
        v = w;
        w = swap;
    }
    if (w.kind != NUMBER || (v.kind != THREAD && v.kind != NUMBER))
        return (struct value){NOTHING, 0, 0};
    v.a += w.a;
    return v;
}

static void execute(const struct code *c, struct path *p, const struct rf_minsn *i)
{
    struct value v = {NOTHING, 0, 0}, minus = {NUMBER, 0, 0};
    const struct rf_moperand *to = &i->o[0], *from = &i->o[1];
    if (i->op ==
        M_CALL) { /* of __tls_get_addr, in a shared object: where its variable is, which the caller adds nothing to */
        p->reg[RF_RAX] = (struct value){THREAD, 0, 0};
        return;
    }
    if (to->kind != M_REG || to->reg >= RF_REGS || i->op == M_CMP || i->op == M_TEST || i->op == M_PUSH)
        return;
    if (i->op == M_MOV || i->op == M_MOVSX) {
        v = operand(c, p, from);
    } else if (i->op == M_LEA && from->kind == M_MEM && from->base != M_NO_REG && from->index == M_NO_REG) {
        v = add(p->reg[from->base], (struct value){NUMBER, from->disp, 0});
    } else if (i->op == M_ADD) {
        v = add(p->reg[to->reg], operand(c, p, from));
    } else if (i->op == M_SUB && from->kind == M_IMM) {
        minus.a = -from->disp;
        v = add(p->reg[to->reg], minus);
    }
    p->reg[to->reg] = v;
}

/* Where control goes from here: one way or two, none at the end. */
static void go_on(const struct code *c, struct path *p, struct path *todo, size_t *n)
{
    const struct rf_minsn *i = p->at;
    const struct rf_minsn *target = i->o[0].kind == M_IMM ? rf_machine_at(&c->m, (uint64_t)i->o[0].disp) : NULL;
    p->at = rf_machine_at(&c->m, c->m.base + i->at + i->len);
    if (i->op == M_JMP)
        p->at = target;
    else if (i->op == M_JCC && target && *n < PATHS) {
        todo[*n] = *p;
        todo[(*n)++].at = target;
    }
}

/* What the function returns: of the values on its ways out, the one that was reached by most reads. */
static struct value returned(const struct code *c)
{
    struct path todo[PATHS];
    struct value best = {NOTHING, 0, 0};
    size_t n = 0, steps = 0;
    memset(&todo[0], 0, sizeof todo[0]);
    todo[n].at = rf_machine_at(&c->m, c->m.base);
    n += todo[0].at != NULL;
    while (n && steps < 4096) {
        struct path p = todo[--n];
        while (p.at && steps++ < 4096) {
            if (p.at->op == M_RET) {
                if (p.reg[RF_RAX].kind > best.kind)
                    best = p.reg[RF_RAX];
                break;
            }
            execute(c, &p, p.at);
            go_on(c, &p, todo, &n);
        }
    }
    return best;
}

/* Is this distance from the thread pointer that of __VM? Only an executable's code shows it. */
static bool at_vm(const struct rf_runtime *rt, int64_t distance)
{
    return !rt->tls_size || !rt->has_vm_tls || distance == (int64_t)(rt->vm_tls - rt->tls_size);
}

/* A number of the VM from the function that returns it: its place in ray_vm_t, or in the TLS block. */
static int32_t vm_field(struct rf_runtime *rt, const char *function, bool *in_tls)
{
    struct code c;
    struct value v = {NOTHING, 0, 0};
    if (open_function(&c, rt->image, function))
        v = returned(&c);
    rf_machine_free(&c.m);
    *in_tls = v.kind == WORD;
    if (v.kind == FIELD && v.b >= 0 && v.b < INT32_MAX && at_vm(rt, v.a))
        return (int32_t)v.b;
    if (v.kind == WORD && rt->tls_size < INT32_MAX && v.a < 0 && v.a + (int64_t)rt->tls_size >= 0)
        return (int32_t)(v.a + (int64_t)rt->tls_size);
    return RF_UNKNOWN;
}

void rf_derive_vm(struct rf_runtime *rt)
{
    struct rf_layout *l = &rt->layout;
    struct rf_symbol depth;
    bool nfo_in_tls, in_tls;
    l->vm_nfo = vm_field(rt, "ray_eval_get_nfo", &nfo_in_tls);
    l->vm_scope_depth = vm_field(rt, "ray_env_scope_depth", &in_tls);
    if (in_tls != nfo_in_tls)
        l->vm_scope_depth = RF_UNKNOWN;
    l->vm_ipc_handle = vm_field(rt, "ray_ipc_current_handle", &in_tls);
    if (in_tls != nfo_in_tls)
        l->vm_ipc_handle = RF_UNKNOWN;
    snprintf(l->vm_via, sizeof l->vm_via, "%s", nfo_in_tls ? "tls" : "runtime");
    l->vm_eval_depth = 0; /* first in every ray_vm_t so far */
    if (nfo_in_tls)
        l->vm_eval_depth =
            rf_image_find(rt->image, "eval_depth", &depth) && depth.type == STT_TLS ? (int32_t)depth.addr : RF_UNKNOWN;
}

/* --- what is asked of ray_alloc -------------------------------------------------------------------------- */

/* Calls of ray_alloc, in a shared object through a stub that has no symbol of its own. */
static bool calls_alloc(const struct code *c, const struct rf_minsn *i)
{
    struct rf_symbol s;
    if (i->op != M_CALL || i->o[0].kind != M_IMM)
        return false;
    return !rf_image_function_at(c->image, (uint64_t)i->o[0].disp, &s) || rf_symbol_is(s.name, "ray_alloc");
}

/* The first, or with `largest` the largest constant in [least, most] that this function hands to ray_alloc; 0: none. */
static int32_t allocated(const struct code *c, int64_t least, int64_t most, bool largest)
{
    int64_t edi = 0, found = 0;
    for (size_t k = 0; k < c->m.n && (largest || !found); k++) {
        const struct rf_minsn *i = &c->m.v[k];
        if (i->op == M_MOV && i->o[0].kind == M_REG && i->o[0].reg == RF_RDI)
            edi = i->o[1].kind == M_IMM ? i->o[1].disp : 0;
        else if (calls_alloc(c, i) && edi >= least && edi <= most && edi > found)
            found = edi;
        if (i->op == M_CALL)
            edi = 0;
    }
    return (int32_t)found;
}

/* [a few words] ps[1024] (rows u8[1024]) rs[1024] traps[16]: what these sizes leave for the words in front must be
 * some. */
static void possible_stacks(struct rf_runtime *rt)
{
    static const struct {
        int32_t trap, rows;
    } shape[] = {{40, 0}, {40, 1}, {32, 0}, {32, 1}};
    rt->n_stacks = 0;
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        int32_t rs = rt->layout.exec_size - 16 * STACK_ENTRIES - TRAPS * shape[i].trap;
        int32_t ps = rs - (8 + shape[i].rows) * STACK_ENTRIES;
        if (ps < PS_LEAST || ps > PS_MOST || ps % 8)
            continue;
        unsigned at = rt->n_stacks++;
        while (at && rt->stacks[at - 1].ps > ps) { /* fewest words in front first: what is not needed is not there */
            rt->stacks[at] = rt->stacks[at - 1];
            at--;
        }
        rt->stacks[at] = (struct rf_stacks){ps, rs};
    }
}

int32_t rf_derive_order(int32_t exec_size)
{
    int32_t order = 0;
    while (order < 30 && 1 << order < exec_size + 32)
        order++;
    return order;
}

static enum rf_status derive_exec(struct rf_runtime *rt, struct rf_error *err)
{
    struct rf_layout *l = &rt->layout;
    struct code c;
    if (!open_code(&c, rt->image, rt->interpreter, rt->interpreter_size)) {
        rf_fail(err, RF_TARGET, 0, "%s: unknown build of rayforce", rf_image_path(rt->image));
        rf_hint(err, "no entry of the catalog fits, and its code cannot be read (was rfprof built with CAPSTONE=0?)");
        return RF_TARGET;
    }
    l->exec_size = allocated(&c, 24 * STACK_ENTRIES, EXEC_MOST, false);
    rf_machine_free(&c.m);
    if (l->exec_size)
        possible_stacks(rt);
    if (!rt->n_stacks) {
        rf_fail(err, RF_TARGET, 0, "%s: unknown build of rayforce", rf_image_path(rt->image));
        rf_hint(err,
                "no entry of the catalog fits, and its interpreter asks for %d bytes, not for a known shape of block",
                l->exec_size);
        return RF_TARGET;
    }
    l->exec_order = rf_derive_order(l->exec_size);
    l->exec_sp = EXEC_SP;
    l->exec_fp = EXEC_FP;
    l->exec_rp = EXEC_RP;
    l->exec_fn = EXEC_FN;
    l->exec_ps = rt->stacks[0].ps;
    l->exec_rs = rt->stacks[0].rs;
    l->exec_tp = l->exec_ps - 8;
    return RF_OK;
}

void rf_derive_lambda(struct rf_runtime *rt)
{
    struct code c;
    int32_t size = open_function(&c, rt->image, "ray_fn") ? allocated(&c, LAMBDA_LEAST, LAMBDA_MOST, true) : 0;
    rf_machine_free(&c.m);
    rt->layout.lambda_slots = size && size % 8 == 0 ? size / 8 : RF_UNKNOWN;
}

static bool reads_at(const struct code *c, int64_t disp)
{
    for (size_t k = 0; k < c->m.n; k++)
        if (c->m.v[k].op == M_MOV && c->m.v[k].o[1].kind == M_MEM && c->m.v[k].o[1].disp == disp)
            return true;
    return false;
}

/* A worker takes a task with a compare-and-exchange on the pool's next ticket, and looks at the limit behind it. The
 * pool's address is in a register; that of the ticket is a displacement from it, or was computed before. */
void rf_derive_pool(struct rf_runtime *rt)
{
    struct rf_layout *l = &rt->layout;
    int64_t from[RF_REGS] = {0}, ticket = 0;
    struct code c;
    l->pool_workers = POOL_WORKERS;
    l->pool_task_claim = l->pool_task_limit = RF_UNKNOWN;
    bool decoded = open_function(&c, rt->image, "worker_loop");
    for (size_t k = 0; decoded && k < c.m.n && !ticket; k++) {
        const struct rf_minsn *i = &c.m.v[k];
        const struct rf_moperand *to = &i->o[0], *by = &i->o[1];
        if (i->op == M_LEA && to->reg < RF_REGS && by->base != M_NO_REG && by->index == M_NO_REG)
            from[to->reg] = by->disp;
        else if (i->op == M_OTHER && to->kind == M_MEM && to->size == 8 && to->base < RF_REGS && by->kind == M_REG &&
                 by->reg < RF_REGS)
            ticket = to->disp ? to->disp : from[to->base];
    }
    if (ticket > POOL_WORKERS && ticket % 8 == 0 && ticket + 16 <= l->size_g_pool && reads_at(&c, ticket + 8)) {
        l->pool_task_claim = (int32_t)ticket;
        l->pool_task_limit = (int32_t)ticket + 8;
    }
    rf_machine_free(&c.m);
}

/* "GCC: (GNU) 14.2.1 20250110 (Red Hat ...)" -> "gcc 14.2.1"; "clang version 21.1.8 (...)" -> "clang 21.1.8" */
static void name_compiler(struct rf_layout *l, const char *comment)
{
    bool clang = strstr(comment, "clang version ") != NULL;
    const char *number = clang ? strstr(comment, "clang version ") + strlen("clang version ") : strstr(comment, ") ");
    if (!clang && number)
        number += strlen(") ");
    size_t n = number ? strspn(number, "0123456789.") : 0;
    if (n)
        snprintf(l->compiler, sizeof l->compiler, "%s %.*s", clang ? "clang" : "gcc", (int)(n < 16 ? n : 16), number);
    else
        snprintf(l->compiler, sizeof l->compiler, "unknown");
}

void rf_derive_identity(struct rf_runtime *rt)
{
    struct rf_layout *l = &rt->layout;
    snprintf(l->release, sizeof l->release, "unknown");
    snprintf(l->core, sizeof l->core, "%.15s", rt->version[0] ? rt->version : "unknown");
    snprintf(l->build_id[0], sizeof l->build_id[0], "%s", rf_image_build_id(rt->image));
    name_compiler(l, rf_image_comment(rt->image));
}

enum rf_status rf_layout_derive(struct rf_runtime *rt, bool *whole, struct rf_error *err)
{
    struct rf_layout *l = &rt->layout;
    *whole = false;
    rf_derive_identity(rt);
    l->origin = RF_ORIGIN_DERIVED;
    l->env_vals = 8 * ENV_MAX;
    l->env_user = 16 * ENV_MAX;
    l->env_count = ENV_COUNT;
    l->env_max = ENV_MAX;
    if (l->size_g_env < ENV_COUNT + 4)
        return rf_fail(err, RF_TARGET, 0, "%s: the global environment has another shape", rf_image_path(rt->image));
    enum rf_status status = derive_exec(rt, err);
    if (status != RF_OK)
        return status;
    rf_derive_vm(rt);
    rf_derive_lambda(rt);
    rf_derive_pool(rt);
    *whole = l->vm_nfo != RF_UNKNOWN && l->vm_ipc_handle != RF_UNKNOWN && l->vm_scope_depth != RF_UNKNOWN;
    return RF_OK;
}
