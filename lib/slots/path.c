/* path.c: what each instruction does to what is known. */
#include "path.h"

enum { SHIFT_MAX = 3 }; /* what index registers are scaled by */

const uint32_t rf_path_preserved =
    1u << RF_RBX | 1u << RF_RBP | 1u << RF_RSP | 1u << RF_R12 | 1u << RF_R13 | 1u << RF_R14 | 1u << RF_R15;

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

struct rf_value rf_path_register(struct path *p, unsigned char reg, unsigned size)
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

struct rf_value rf_path_address(struct path *p, const struct rf_moperand *o)
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

/* Offsets from the entry rsp may be negative: the sums of these wrap. */
static bool overlap(uint64_t a, unsigned a_size, uint64_t b, unsigned b_size)
{
    return b - a < a_size || a - b < b_size;
}

/* False when there is no room: what is read from there later would be out of date. */
static bool put(struct store *v, unsigned *n, unsigned max, uint64_t at, unsigned size, const struct rf_value *value)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < *n; i++)
        if (!overlap(v[i].at, v[i].size, at, size))
            v[kept++] = v[i];
    *n = kept;
    if (kept == max)
        return false;
    v[(*n)++] = (struct store){at, size, *value};
    return true;
}

/* Does the store cover this field of the block? Where the block is known, its address tells; else that is all that a
 * register, or without optimisation a word of the frame, holds through with numbers at such small offsets. Compilers
 * store neighbouring fields as one. */
static bool covers(const struct rf_follower *f, const struct rf_value *a, unsigned size, int32_t field,
                   int32_t field_size)
{
    if (f->from->exec && a->known) {
        uint64_t at = f->from->exec + (uint64_t)field - a->number;
        return at < size && at + (uint64_t)field_size <= size;
    }
    return a->summed && a->n == 1 && (a->t[0].sym < 16 || f->framed) && a->t[0].sym != RF_RSP && a->t[0].coef == 1 &&
           a->add <= field && field + field_size <= a->add + (int64_t)size;
}

static void write_memory(const struct rf_follower *f, struct path *p, const struct rf_value *a, unsigned size,
                         const struct rf_value *v)
{
    bool kept = true;
    p->moved = p->moved || covers(f, a, size, f->dispatch.exec_rp, 4);
    p->switched = p->switched || covers(f, a, size, f->dispatch.exec_fn, 8);
    if (in_frame(a))
        kept = put(p->slot, &p->n_slots, SLOTS, (uint64_t)a->add, size, v);
    else if (a->known)
        kept = put(p->store, &p->n_stores, STORES, a->number, size, v);
    p->dead = p->dead || !kept;
}

/* 1: found; 0: nothing was written there; -1: something else was. */
static int written(const struct store *v, unsigned n, uint64_t at, unsigned size, struct rf_value *out)
{
    for (unsigned i = 0; i < n; i++) {
        if (v[i].at == at && v[i].size >= size) {
            *out = rf_value_cut(&v[i].v, size);
            return 1;
        }
        if (overlap(v[i].at, v[i].size, at, size))
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

struct rf_value rf_path_load(struct rf_follower *f, struct path *p, const struct rf_value *a, unsigned size)
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

/* An entry is {function, fp, ip}, 16 bytes; compilers store its last two as one, too. */
uint32_t rf_path_back(const struct rf_follower *f, const struct path *p)
{
    const struct rf_entry *from = f->from;
    struct rf_value v;
    int32_t rp;
    if (!p->moved || !from->exec || !from->read || f->dispatch.exec_rs <= 0 ||
        !from->read(from->ctx, from->exec + (uint64_t)f->dispatch.exec_rp, &rp, sizeof rp) || rp < 0)
        return 0;
    uint64_t entry = from->exec + (uint64_t)f->dispatch.exec_rs + 16 * (uint64_t)rp;
    if (written(p->store, p->n_stores, entry + 12, 4, &v) > 0)
        return v.known ? (uint32_t)v.number : 0;
    return written(p->store, p->n_stores, entry + 8, 8, &v) > 0 && v.known ? (uint32_t)(v.number >> 32) : 0;
}

static struct rf_value value_of(struct rf_follower *f, struct path *p, const struct rf_moperand *o)
{
    if (o->kind == M_IMM) {
        struct rf_value c = rf_value_constant((uint64_t)o->disp);
        return c;
    }
    if (o->kind == M_REG)
        return rf_path_register(p, o->reg, o->size);
    if (o->kind != M_MEM)
        return unknown();
    struct rf_value a = rf_path_address(p, o);
    return rf_path_load(f, p, &a, o->size);
}

static void assign(const struct rf_follower *f, struct path *p, const struct rf_moperand *o, const struct rf_value *v)
{
    if (o->kind == M_REG) {
        write_reg(p, o->reg, o->size, v);
    } else if (o->kind == M_MEM) {
        struct rf_value a = rf_path_address(p, o), cut = rf_value_cut(v, o->size);
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

int rf_path_condition(const struct path *p, unsigned cc)
{
    const struct flags *f = &p->flags;
    uint64_t mask = f->size >= 8 ? UINT64_MAX : ((uint64_t)1 << 8 * f->size) - 1;
    uint64_t sign = f->size ? (uint64_t)1 << (8 * f->size - 1) : 0;
    uint64_t a = f->a & mask, b = f->b & mask, r = f->result & mask;
    bool compare = f->op == M_CMP || f->op == M_SUB,
         logic = f->op == M_TEST || f->op == M_AND || f->op == M_OR || f->op == M_XOR;
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

static struct rf_value combine(enum rf_mop op, const struct rf_minsn *i, const struct rf_value *a,
                               const struct rf_value *b)
{
    bool same = i->o[0].kind == M_REG && i->o[1].kind == M_REG && i->o[0].reg == i->o[1].reg && i->o[0].reg != M_NO_REG;
    if (op == M_ADD || op == M_SUB || op == M_CMP)
        return rf_value_add(a, b, op == M_ADD ? 1 : -1);
    if (op == M_XOR && same)
        return rf_value_constant(0);
    if (op == M_SHL && b->known && b->number <= SHIFT_MAX) {
        struct rf_value zero = rf_value_constant(0);
        return rf_value_add(&zero, a, 1 << b->number);
    }
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

struct rf_value rf_path_result(struct rf_follower *f)
{
    struct rf_value from = unknown();
    return fresh(f, &from, 8);
}

static void skip_call(struct rf_follower *f, struct path *p)
{
    for (unsigned char r = 0; r < 16; r++)
        if (!(rf_path_preserved >> r & 1))
            p->reg[r] = unknown();
    p->reg[RF_RAX] = rf_path_result(f);
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
        v = rf_path_load(f, p, sp, 8);
        *sp = rf_value_add(sp, &step, 1);
        assign(f, p, &i->o[0], &v);
    }
}

static void set_or_move(struct rf_follower *f, struct path *p, const struct rf_minsn *i)
{
    int holds = rf_path_condition(p, i->cc);
    struct rf_value v = unknown();
    if (i->op == M_SETCC) {
        v.known = holds >= 0;
        v.number = holds > 0;
    } else if (holds == 0) {
        v = rf_path_register(p, i->o[0].reg, i->o[0].size); /* a 32-bit cmov that does not move clears the upper half */
    } else if (holds > 0) {
        v = value_of(f, p, &i->o[1]);
    }
    assign(f, p, &i->o[0], &v);
}

void rf_path_execute(struct rf_follower *f, struct path *p, const struct rf_minsn *i)
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
        v = rf_path_address(p, &i->o[1]);
        assign(f, p, &i->o[0], &v);
        break;
    case M_ADD:
    case M_SUB:
    case M_AND:
    case M_OR:
    case M_XOR:
    case M_SHL:
    case M_SHR:
    case M_CMP:
    case M_TEST:
        arithmetic(f, p, i);
        break;
    case M_CMOV:
    case M_SETCC:
        set_or_move(f, p, i);
        break;
    case M_PUSH:
    case M_POP:
        push_pop(f, p, i);
        break;
    case M_CALL:
        skip_call(f, p);
        break;
    default:
        other(f, p, i);
        break;
    }
}

void rf_path_compare_again(struct rf_follower *f, struct path *p)
{
    const struct rf_minsn *i = rf_machine_at(f->m, p->pc);
    if (!i || i == f->m->v || (i->op != M_JCC && i->op != M_CMOV && i->op != M_SETCC))
        return;
    const struct rf_minsn *before = i - 1;
    if (before->at + before->len == i->at && (before->op == M_CMP || before->op == M_TEST))
        arithmetic(f, p, before);
}
