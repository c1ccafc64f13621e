/* follow.c: the executor. A path is a state; conditions that are not decided fork it. */
#include "follow.h"

#include "value.h"

#include <stdlib.h>

enum { SLOTS = 40, STORES = 16, PATHS = 48, STEPS = 400, VISITS = 4, NARROW = 12, LOADS_MAX = RF_SYM_LOADS };

static const uint32_t preserved = 1u << RF_RBX | 1u << RF_RBP | 1u << RF_RSP | 1u << RF_R12 | 1u << RF_R13 | 1u << RF_R14 |
                                  1u << RF_R15;

/* Something written on the way: to the frame (by offset from the entry rsp), or to a known address. */
struct store {
    uint64_t at;
    unsigned size;
    struct rf_value v;
};

/* Operands of the last instruction that set the flags; op M_OTHER: not known. */
struct flags {
    enum rf_mop op;
    unsigned size;
    uint64_t a, b, result;
};

struct path {
    uint64_t pc;
    unsigned steps;
    struct rf_value reg[16];
    struct flags flags;
    struct store slot[SLOTS], store[STORES];
    unsigned n_slots, n_stores;
    uint16_t narrow[NARROW]; /* entry symbols that were used as 32-bit numbers */
    unsigned n_narrow;
    bool moved, dead, entered;
};

struct rf_follower {
    const struct rf_machine *m;
    struct rf_dispatch dispatch;
    int32_t exec_rp;
    const struct rf_entry *from;
    struct path *todo; /* PATHS */
    size_t n_todo;
    struct rf_value *load; /* address of each load, by its number */
    size_t n_loads;
    unsigned char *visits; /* by instruction */
    struct rf_ends *out;
};

struct rf_follower *rf_follower_new(const struct rf_machine *m, struct rf_dispatch dispatch, int32_t exec_rp)
{
    struct rf_follower *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->m = m;
    f->dispatch = dispatch;
    f->exec_rp = exec_rp;
    f->todo = malloc(PATHS * sizeof *f->todo);
    f->load = malloc(LOADS_MAX * sizeof *f->load);
    f->visits = malloc(m->n + 1);
    if (!f->todo || !f->load || !f->visits) {
        rf_follower_free(f);
        return NULL;
    }
    return f;
}

void rf_follower_free(struct rf_follower *f)
{
    if (!f)
        return;
    free(f->todo);
    free(f->load);
    free(f->visits);
    free(f);
}

/* --- registers ------------------------------------------------------------------------------------------------ */

static void note_narrow(struct path *p, const struct rf_value *v)
{
    for (unsigned i = 0; v->summed && i < v->n; i++) {
        unsigned k = 0;
        if (!v->t[i].narrow || rf_sym_loaded(v->t[i].sym))
            continue;
        while (k < p->n_narrow && p->narrow[k] != v->t[i].sym)
            k++;
        if (k == p->n_narrow && k < NARROW)
            p->narrow[p->n_narrow++] = v->t[i].sym;
    }
}

static struct rf_value unknown(void)
{
    return (struct rf_value){.summed = false};
}

static struct rf_value read_reg(struct path *p, unsigned char reg, unsigned size)
{
    if (reg >= 16)
        return unknown();
    struct rf_value v = rf_value_cut(&p->reg[reg], size);
    note_narrow(p, &v);
    return v;
}

static void write_reg(struct path *p, unsigned char reg, unsigned size, const struct rf_value *v)
{
    if (reg >= 16)
        return;
    if (size >= 4) {
        p->reg[reg] = rf_value_cut(v, size);
        note_narrow(p, &p->reg[reg]);
        return;
    }
    /* Parts of a register: the number is kept, the sum is not. */
    uint64_t mask = ((uint64_t)1 << 8 * size) - 1;
    struct rf_value *r = &p->reg[reg];
    r->known = r->known && v->known;
    r->number = (r->number & ~mask) | (v->number & mask);
    r->summed = false;
}

/* --- memory ----------------------------------------------------------------------------------------------------- */

static struct rf_value address(struct path *p, const struct rf_moperand *o)
{
    struct rf_value a = rf_value_constant((uint64_t)o->disp);
    if (o->segment)
        return unknown();
    if (o->base != M_NO_REG)
        a = rf_value_add(&a, &p->reg[o->base], 1);
    if (o->index != M_NO_REG)
        a = rf_value_add(&a, &p->reg[o->index], o->scale);
    return a;
}

static bool in_frame(const struct rf_value *a)
{
    return a->summed && a->n == 1 && a->t[0].sym == RF_RSP && a->t[0].coef == 1;
}

static void put(struct store *v, unsigned *n, unsigned max, uint64_t at, unsigned size, const struct rf_value *value,
                bool *full)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < *n; i++)
        if (v[i].at + v[i].size <= at || at + size <= v[i].at)
            v[kept++] = v[i];
    *n = kept;
    if (kept == max)
        *full = true;
    else
        v[(*n)++] = (struct store){at, size, *value};
}

/* The block's address is all that a register holds through with numbers at such small offsets. Compilers store neighbouring
 * indexes as one. */
static bool is_return_index(const struct rf_follower *f, const struct rf_value *a, unsigned size)
{
    return size >= 4 && a->summed && a->n == 1 && a->t[0].sym < 16 && a->t[0].sym != RF_RSP && a->t[0].coef == 1 &&
           a->add <= f->exec_rp && f->exec_rp + 4 <= a->add + (int64_t)size;
}

static void write_memory(const struct rf_follower *f, struct path *p, const struct rf_value *a, unsigned size, const struct rf_value *v)
{
    bool full = false;
    p->moved = p->moved || is_return_index(f, a, size);
    if (in_frame(a))
        put(p->slot, &p->n_slots, SLOTS, (uint64_t)a->add, size, v, &p->dead);
    else if (a->known)
        put(p->store, &p->n_stores, STORES, a->number, size, v, &full);
}

/* 1: found; 0: nothing was written there; -1: something else was. */
static int written(const struct store *v, unsigned n, uint64_t at, unsigned size, struct rf_value *out)
{
    for (unsigned i = 0; i < n; i++) {
        if (v[i].at == at && v[i].size >= size) {
            *out = rf_value_cut(&v[i].v, size);
            return 1;
        }
        if (v[i].at < at + size && at < v[i].at + v[i].size)
            return -1;
    }
    return 0;
}

static void read_number(const struct rf_follower *f, uint64_t addr, unsigned size, struct rf_value *v)
{
    uint64_t number = 0;
    if (!f->from->read || size > 8 || !f->from->read(f->from->ctx, addr, &number, size))
        return;
    v->known = true;
    v->number = number;
}

static struct rf_value fresh(struct rf_follower *f, const struct rf_value *a, unsigned size)
{
    if (f->n_loads == LOADS_MAX || size > 8)
        return unknown();
    unsigned class = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
    f->load[f->n_loads] = *a;
    return rf_value_symbol((uint16_t)(RF_SYM_LOADED + class * RF_SYM_LOADS + f->n_loads++));
}

static struct rf_value read_memory(struct rf_follower *f, struct path *p, const struct rf_value *a, unsigned size)
{
    struct rf_value v;
    if (in_frame(a)) {
        int found = written(p->slot, p->n_slots, (uint64_t)a->add, size, &v);
        if (found)
            return found > 0 ? v : unknown();
        bool entry = size >= 4 && a->add >= 0 && a->add < RF_SYM_STACK_END - RF_SYM_STACK;
        v = entry ? rf_value_symbol((uint16_t)(RF_SYM_STACK + a->add)) : fresh(f, a, size);
        if (entry && size == 4)
            v.t[0].narrow = true;
        note_narrow(p, &v);
    } else {
        int found = a->known ? written(p->store, p->n_stores, a->number, size, &v) : 0;
        if (found > 0 && size >= 4)
            return v;
        v = fresh(f, a, size);
        if (found)
            return v;
    }
    if (a->known)
        read_number(f, a->number, size, &v);
    return v;
}

static struct rf_value value_of(struct rf_follower *f, struct path *p, const struct rf_moperand *o)
{
    if (o->kind == M_IMM) {
        struct rf_value c = rf_value_constant((uint64_t)o->disp);
        return c;
    }
    if (o->kind == M_REG)
        return read_reg(p, o->reg, o->size);
    if (o->kind != M_MEM)
        return unknown();
    struct rf_value a = address(p, o);
    return read_memory(f, p, &a, o->size);
}

static void assign(const struct rf_follower *f, struct path *p, const struct rf_moperand *o, const struct rf_value *v)
{
    if (o->kind == M_REG) {
        write_reg(p, o->reg, o->size, v);
    } else if (o->kind == M_MEM) {
        struct rf_value a = address(p, o), cut = rf_value_cut(v, o->size);
        write_memory(f, p, &a, o->size, &cut);
    }
}

/* --- flags ------------------------------------------------------------------------------------------------------ */

static void set_flags(struct path *p, enum rf_mop op, unsigned size, const struct rf_value *a, const struct rf_value *b,
                      const struct rf_value *result)
{
    p->flags.op = M_OTHER;
    if (a->known && b->known && result->known && size <= 8)
        p->flags = (struct flags){op, size, a->number, b->number, result->number};
}

/* 1 the condition holds, 0 not, -1 not known. */
static int condition(const struct flags *f, unsigned cc)
{
    uint64_t mask = f->size >= 8 ? UINT64_MAX : ((uint64_t)1 << 8 * f->size) - 1;
    uint64_t sign = f->size ? (uint64_t)1 << (8 * f->size - 1) : 0;
    uint64_t a = f->a & mask, b = f->b & mask, r = f->result & mask;
    bool compare = f->op == M_CMP || f->op == M_SUB, logic = f->op == M_TEST || f->op == M_AND || f->op == M_OR || f->op == M_XOR;
    int result;
    if (f->op == M_OTHER)
        return -1;
    bool zero = r == 0, negative = r & sign;
    bool carry = compare && a < b, overflow = compare && ((a ^ b) & (a ^ r) & sign);
    switch (cc >> 1) {
    case 2: /* e, ne */
        result = zero;
        break;
    case 4: /* s, ns */
        result = negative;
        break;
    case 0: /* o, no */
        result = overflow;
        break;
    case 1: /* b, ae */
        result = carry;
        break;
    case 3: /* be, a */
        result = carry || zero;
        break;
    case 6: /* l, ge */
        result = negative != overflow;
        break;
    case 7: /* le, g */
        result = zero || negative != overflow;
        break;
    default: /* parity */
        return -1;
    }
    if (!compare && !logic && cc >> 1 != 2 && cc >> 1 != 4)
        return -1;
    return result ^ (int)(cc & 1);
}

/* --- one instruction -------------------------------------------------------------------------------------------- */

static uint64_t bits(enum rf_mop op, uint64_t a, uint64_t b)
{
    switch (op) {
    case M_AND:
    case M_TEST:
        return a & b;
    case M_OR:
        return a | b;
    case M_XOR:
        return a ^ b;
    case M_SHL:
        return b < 64 ? a << b : 0;
    default: /* M_SHR */
        return b < 64 ? a >> b : 0;
    }
}

static struct rf_value combine(enum rf_mop op, const struct rf_minsn *i, const struct rf_value *a, const struct rf_value *b)
{
    bool same = i->o[0].kind == M_REG && i->o[1].kind == M_REG && i->o[0].reg == i->o[1].reg && i->o[0].reg != M_NO_REG;
    if (op == M_ADD || op == M_SUB || op == M_CMP)
        return rf_value_add(a, b, op == M_ADD ? 1 : -1);
    if (op == M_XOR && same)
        return rf_value_constant(0);
    struct rf_value r = unknown();
    r.known = a->known && b->known;
    r.number = bits(op, a->number, b->number);
    if (r.known && a->summed && a->n == 0 && b->summed && b->n == 0)
        return rf_value_constant(r.number);
    /* x & x, x | 0 are x itself; what else happens to a sum's bits is not followed. */
    if (same && (op == M_TEST || op == M_AND || op == M_OR)) {
        r.summed = a->summed;
        r.n = a->n;
        memcpy(r.t, a->t, sizeof r.t);
        r.add = a->add;
    }
    return r;
}

static void arithmetic(struct rf_follower *f, struct path *p, const struct rf_minsn *i)
{
    enum rf_mop op = (enum rf_mop)i->op;
    struct rf_value a = value_of(f, p, &i->o[0]), b = value_of(f, p, &i->o[1]);
    struct rf_value r = combine(op, i, &a, &b);
    if (op != M_CMP && op != M_TEST)
        assign(f, p, &i->o[0], &r);
    if (!i->keeps_flags)
        set_flags(p, op, i->o[0].size, &a, &b, &r);
}

static void other(const struct rf_follower *f, struct path *p, const struct rf_minsn *i)
{
    struct rf_value none = unknown();
    for (unsigned char r = 0; r < 16; r++)
        if ((i->writes >> r & 1) && r != RF_RSP)
            p->reg[r] = none;
    if (i->o[0].kind == M_MEM)
        assign(f, p, &i->o[0], &none);
    if (!i->keeps_flags)
        p->flags.op = M_OTHER;
}

static void skip_call(struct path *p)
{
    for (unsigned char r = 0; r < 16; r++)
        if (!(preserved >> r & 1))
            p->reg[r] = unknown();
    p->flags.op = M_OTHER;
}

static void push_pop(struct rf_follower *f, struct path *p, const struct rf_minsn *i)
{
    struct rf_value step = rf_value_constant(8), *sp = &p->reg[RF_RSP], v;
    if (i->op == M_PUSH) {
        v = value_of(f, p, &i->o[0]);
        *sp = rf_value_add(sp, &step, -1);
        write_memory(f, p, sp, 8, &v);
    } else {
        v = read_memory(f, p, sp, 8);
        *sp = rf_value_add(sp, &step, 1);
        assign(f, p, &i->o[0], &v);
    }
}

static void set_or_move(struct rf_follower *f, struct path *p, const struct rf_minsn *i)
{
    int holds = condition(&p->flags, i->cc);
    struct rf_value v = unknown();
    if (i->op == M_SETCC) {
        v.known = holds >= 0;
        v.number = holds > 0;
    } else if (holds == 0) {
        v = read_reg(p, i->o[0].reg, i->o[0].size); /* a 32-bit cmov that does not move clears the upper half */
    } else if (holds > 0) {
        v = value_of(f, p, &i->o[1]);
    }
    assign(f, p, &i->o[0], &v);
}

static void execute(struct rf_follower *f, struct path *p, const struct rf_minsn *i)
{
    struct rf_value v;
    switch (i->op) {
    case M_NOP:
        break;
    case M_MOV:
        v = value_of(f, p, &i->o[1]);
        assign(f, p, &i->o[0], &v);
        break;
    case M_MOVZX:
        v = value_of(f, p, &i->o[1]);
        write_reg(p, i->o[0].reg, i->o[0].size < 4 ? 4 : i->o[0].size, &v);
        break;
    case M_MOVSX:
        v = value_of(f, p, &i->o[1]);
        v = rf_value_extend(&v, i->o[1].size);
        assign(f, p, &i->o[0], &v);
        break;
    case M_LEA:
        v = address(p, &i->o[1]);
        assign(f, p, &i->o[0], &v);
        break;
    case M_ADD: case M_SUB: case M_AND: case M_OR: case M_XOR: case M_SHL: case M_SHR: case M_CMP: case M_TEST:
        arithmetic(f, p, i);
        break;
    case M_CMOV: case M_SETCC:
        set_or_move(f, p, i);
        break;
    case M_PUSH: case M_POP:
        push_pop(f, p, i);
        break;
    case M_CALL:
        skip_call(p);
        break;
    default:
        other(f, p, i);
        break;
    }
}

/* --- ends --------------------------------------------------------------------------------------------------------- */

static void add_end(struct rf_follower *f, const struct path *p, const struct rf_value *addr)
{
    struct rf_end e = {*addr, p->moved};
    for (unsigned i = 0; i < e.addr.n; i++)
        for (unsigned k = 0; k < p->n_narrow; k++)
            if (e.addr.t[i].sym == p->narrow[k])
                e.addr.t[i].narrow = true;
    for (size_t i = 0; i < f->out->n; i++)
        if (f->out->v[i].moved == e.moved && rf_value_same(&f->out->v[i].addr, &e.addr))
            return;
    if (f->out->n < RF_ENDS_MAX)
        f->out->v[f->out->n++] = e;
    else
        f->out->lost = true;
}

/* In an address of the dispatch table: the byte that is the index. */
static const struct rf_value *fetched(const struct rf_follower *f, const struct rf_value *a)
{
    if (!a->summed || (a->n == 1 && (uint64_t)a->add != f->dispatch.addr))
        return NULL;
    for (unsigned i = 0; i < a->n; i++)
        if (rf_sym_loaded(a->t[i].sym) && a->t[i].coef == 8 && rf_sym_load_size(a->t[i].sym) == 1)
            return &f->load[a->t[i].sym % RF_SYM_LOADS];
    return NULL;
}

static bool is_handler(const struct rf_follower *f, uint64_t addr)
{
    for (size_t i = 0; i < f->dispatch.n; i++)
        if (f->dispatch.handler[i] == addr)
            return true;
    return false;
}

static void enter(struct rf_follower *f, struct path *p, uint64_t handler)
{
    struct rf_ends *out = f->out;
    size_t i = 0;
    while (i < out->n_entered && out->entered[i] != handler)
        i++;
    p->entered = true;
    if (i < out->n_entered)
        return;
    if (i == RF_ENTERED_MAX)
        out->stayed = out->lost = true; /* as if any were possible */
    else
        out->entered[out->n_entered++] = handler;
}

/* Ends the path at a dispatch, or follows a jump whose target is known. False: it ended. */
static bool jump_indirect(struct rf_follower *f, struct path *p, const struct rf_moperand *o)
{
    struct rf_value a = unknown(), target;
    const struct rf_value *fetch;
    if (o->kind == M_MEM) {
        a = address(p, o);
        target = read_memory(f, p, &a, 8);
    } else {
        target = read_reg(p, o->reg, 8);
        if (target.summed && target.n == 1 && target.add == 0 && target.t[0].coef == 1 && rf_sym_loaded(target.t[0].sym) &&
            rf_sym_load_size(target.t[0].sym) == 8)
            a = f->load[target.t[0].sym % RF_SYM_LOADS];
    }
    fetch = fetched(f, &a);
    if (fetch) {
        add_end(f, p, fetch);
        return false;
    }
    if (!target.known || !rf_machine_at(f->m, target.number)) {
        f->out->lost = true;
        return false;
    }
    if (is_handler(f, target.number))
        enter(f, p, target.number);
    p->pc = target.number;
    return true;
}

static bool visit(struct rf_follower *f, uint64_t pc)
{
    const struct rf_minsn *i = rf_machine_at(f->m, pc);
    return i && f->visits[i - f->m->v]++ < VISITS;
}

/* False when the path ended. */
static bool jump(struct rf_follower *f, struct path *p, const struct rf_minsn *i)
{
    uint64_t target = (uint64_t)i->o[0].disp;
    if (i->op == M_JMP && i->o[0].kind != M_IMM)
        return jump_indirect(f, p, &i->o[0]);
    int holds = i->op == M_JMP ? 1 : condition(&p->flags, i->cc);
    if (holds < 0 && visit(f, target)) {
        if (f->n_todo < PATHS) {
            f->todo[f->n_todo] = *p;
            f->todo[f->n_todo++].pc = target;
        } else {
            f->out->lost = true;
        }
    }
    if (holds > 0)
        p->pc = target;
    return true;
}

static void run(struct rf_follower *f, struct path *p, unsigned *budget)
{
    while (!p->dead && p->steps < STEPS && *budget) {
        p->steps++;
        --*budget;
        const struct rf_minsn *i = rf_machine_at(f->m, p->pc);
        if (!i || i->op == M_RET || i->op == M_TRAP)
            return;
        p->pc += i->len;
        if (i->op == M_JMP || i->op == M_JCC) {
            if (!jump(f, p, i))
                return;
        } else {
            execute(f, p, i);
        }
    }
    f->out->lost = true;
}

/* A thread that stopped between a comparison and its jump: the operands are still there. */
static void compare_again(struct rf_follower *f, struct path *p)
{
    const struct rf_minsn *i = rf_machine_at(f->m, p->pc);
    if (!i || i == f->m->v || (i->op != M_JCC && i->op != M_CMOV && i->op != M_SETCC))
        return;
    const struct rf_minsn *before = i - 1;
    if (before->at + before->len == i->at && (before->op == M_CMP || before->op == M_TEST))
        arithmetic(f, p, before);
}

/* The path with the fewest instructions so far: errors are dealt with in long ways round. */
static size_t nearest(const struct rf_follower *f)
{
    size_t best = 0;
    for (size_t i = 1; i < f->n_todo; i++)
        if (f->todo[i].steps < f->todo[best].steps)
            best = i;
    return best;
}

void rf_follow(struct rf_follower *f, const struct rf_entry *from, unsigned budget, struct rf_ends *out)
{
    struct path p;
    memset(&p, 0, sizeof p);
    memset(f->visits, 0, f->m->n);
    memset(out, 0, sizeof *out);
    f->from = from;
    f->out = out;
    f->n_loads = 0;
    p.pc = from->pc;
    for (unsigned char r = 0; r < 16; r++) {
        if (!from->leaf && !(preserved >> r & 1))
            continue;
        p.reg[r] = rf_value_symbol(r);
        p.reg[r].known = from->known >> r & 1;
        p.reg[r].number = p.reg[r].known ? from->reg[r] : 0;
    }
    p.flags.op = M_OTHER;
    if (from->leaf)
        compare_again(f, &p);
    f->todo[0] = p;
    f->n_todo = 1;
    while (f->n_todo && budget) {
        size_t next = nearest(f);
        p = f->todo[next];
        f->todo[next] = f->todo[--f->n_todo];
        run(f, &p, &budget);
        out->stayed = out->stayed || !p.entered;
    }
    out->lost = out->lost || f->n_todo;
}
