/* expression.c: evaluates DWARF expressions over a frame. */
#include "expression.h"

#include <dwarf.h>

enum { DEPTH_MAX = 16, OPERATIONS_MAX = 64 };

struct machine {
    const struct rf_expression *x;
    const struct rf_expression_frame *f;
    uint64_t stack[DEPTH_MAX];
    size_t n;
    bool is_value;
};

static bool push(struct machine *m, uint64_t v)
{
    if (m->n == DEPTH_MAX)
        return false;
    m->stack[m->n++] = v;
    return true;
}

static bool pop(struct machine *m, uint64_t *v)
{
    if (m->n == 0)
        return false;
    *v = m->stack[--m->n];
    return true;
}

/* rip counts as a register in unwinding, but is none to expressions. */
static bool reg(const struct rf_expression_frame *f, uint64_t number, uint64_t *v)
{
    if (number >= RF_RIP || !(f->frame->known >> number & 1))
        return false;
    *v = f->frame->reg[number];
    return true;
}

static bool is_register(const Dwarf_Op *op, uint64_t *number)
{
    *number = op->atom == DW_OP_regx ? op->number : (uint64_t)op->atom - DW_OP_reg0;
    return op->atom == DW_OP_regx || (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31);
}

static uint64_t cut(uint64_t v, uint64_t bytes, bool extend)
{
    if (bytes == 0 || bytes >= 8)
        return v;
    unsigned bits = 8 * (unsigned)bytes;
    v &= ((uint64_t)1 << bits) - 1;
    return extend && v >> (bits - 1) & 1 ? v | ~(uint64_t)0 << bits : v;
}

static bool load(struct machine *m, uint64_t bytes)
{
    uint64_t addr, v = 0;
    return bytes >= 1 && bytes <= 8 && pop(m, &addr) && rf_read(m->f->memory, addr, &v, (size_t)bytes) && push(m, v);
}

/* The frame base is a register of clang: rbp, which is the caller's still or again where the function begins and ends.
 */
static bool is_callers(const struct rf_expression_frame *f)
{
    uint64_t number, v;
    return is_register(f->base->op, &number) && number == RF_RBP && f->caller && reg(f, number, &v) &&
           v + 16 != f->caller->sp;
}

/* A nested frame base has none of its own, so this goes one deep. */
static bool frame_base(struct machine *m, uint64_t *v)
{
    struct rf_expression_frame f = *m->f;
    struct rf_location at;
    f.base = NULL;
    if (!m->f->base || !m->f->base->n || is_callers(m->f) || !rf_expression_evaluate(m->f->base, &f, &at))
        return false;
    *v = at.value;
    return true;
}

/* DW_OP_entry_value holds an expression of its own: the register that is meant. */
static bool entry_value(struct machine *m, const Dwarf_Op *op)
{
    Dwarf_Attribute nested, attribute = m->x->attribute;
    Dwarf_Op *inner;
    size_t n;
    uint64_t number, v;
    return m->f->entry && dwarf_getlocation_attr(&attribute, op, &nested) == 0 &&
           dwarf_getlocation(&nested, &inner, &n) == 0 && n == 1 && is_register(inner, &number) && number < RF_RIP &&
           m->f->entry(m->f->ctx, (unsigned)number, &v) && push(m, v);
}

/* A number as another type has it: cut, and extended by its sign. */
static bool convert(struct machine *m, const Dwarf_Op *op)
{
    Dwarf_Attribute attribute = m->x->attribute, encoding;
    Dwarf_Die type;
    Dwarf_Word kind = 0;
    uint64_t v;
    if (!pop(m, &v))
        return false;
    if (op->number == 0) /* the generic type */
        return push(m, v);
    if (dwarf_getlocation_die(&attribute, op, &type) != 0 ||
        dwarf_formudata(dwarf_attr(&type, DW_AT_encoding, &encoding), &kind) != 0)
        return false;
    int bytes = dwarf_bytesize(&type);
    bool is_signed = kind == DW_ATE_signed || kind == DW_ATE_signed_char;
    bool is_number = is_signed || kind == DW_ATE_unsigned || kind == DW_ATE_unsigned_char || kind == DW_ATE_boolean;
    return is_number && bytes >= 1 && bytes <= 8 && push(m, cut(v, (uint64_t)bytes, is_signed));
}

static bool one_operand(struct machine *m, const Dwarf_Op *op)
{
    uint64_t a;
    if (!pop(m, &a))
        return false;
    switch (op->atom) {
    case DW_OP_abs:
        return push(m, (int64_t)a < 0 ? 0 - a : a);
    case DW_OP_neg:
        return push(m, 0 - a);
    case DW_OP_not:
        return push(m, ~a);
    case DW_OP_plus_uconst:
        return push(m, a + op->number);
    default:
        return false;
    }
}

static bool compare(struct machine *m, unsigned atom, int64_t a, int64_t b)
{
    switch (atom) {
    case DW_OP_eq:
        return push(m, a == b);
    case DW_OP_ne:
        return push(m, a != b);
    case DW_OP_lt:
        return push(m, a < b);
    case DW_OP_le:
        return push(m, a <= b);
    case DW_OP_gt:
        return push(m, a > b);
    case DW_OP_ge:
        return push(m, a >= b);
    default:
        return false;
    }
}

static bool two_operands(struct machine *m, unsigned atom)
{
    uint64_t a, b;
    if (!pop(m, &b) || !pop(m, &a))
        return false;
    switch (atom) {
    case DW_OP_plus:
        return push(m, a + b);
    case DW_OP_minus:
        return push(m, a - b);
    case DW_OP_mul:
        return push(m, a * b);
    case DW_OP_and:
        return push(m, a & b);
    case DW_OP_or:
        return push(m, a | b);
    case DW_OP_xor:
        return push(m, a ^ b);
    case DW_OP_shl:
        return push(m, b < 64 ? a << b : 0);
    case DW_OP_shr:
        return push(m, b < 64 ? a >> b : 0);
    case DW_OP_shra:
        return push(m, (uint64_t)((int64_t)a >> (b < 64 ? b : 63)));
    default:
        return compare(m, atom, (int64_t)a, (int64_t)b);
    }
}

static bool rearrange(struct machine *m, const Dwarf_Op *op)
{
    uint64_t deep = op->atom == DW_OP_dup ? 0 : op->atom == DW_OP_over ? 1 : op->number, top;
    switch (op->atom) {
    case DW_OP_dup:
    case DW_OP_over:
    case DW_OP_pick:
        return deep < m->n && push(m, m->stack[m->n - 1 - deep]);
    case DW_OP_drop:
        return pop(m, &top);
    case DW_OP_swap:
        if (m->n < 2)
            return false;
        top = m->stack[m->n - 1];
        m->stack[m->n - 1] = m->stack[m->n - 2];
        m->stack[m->n - 2] = top;
        return true;
    default:
        return false;
    }
}

static bool literal(struct machine *m, const Dwarf_Op *op)
{
    uint64_t v;
    if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
        return push(m, (uint64_t)op->atom - DW_OP_lit0);
    if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
        return reg(m->f, (uint64_t)op->atom - DW_OP_breg0, &v) && push(m, v + op->number);
    switch (op->atom) {
    case DW_OP_addr:
        return push(m, op->number + m->f->bias);
    case DW_OP_const1u:
    case DW_OP_const1s: /* libdw has extended it */
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_const8u:
    case DW_OP_const8s:
    case DW_OP_constu:
    case DW_OP_consts:
        return push(m, op->number);
    case DW_OP_bregx:
        return reg(m->f, op->number, &v) && push(m, v + op->number2);
    case DW_OP_fbreg:
        return frame_base(m, &v) && push(m, v + op->number);
    case DW_OP_call_frame_cfa:
        return m->f->caller && push(m, m->f->caller->sp);
    default:
        return false;
    }
}

static bool execute(struct machine *m, const Dwarf_Op *op)
{
    switch (op->atom) {
    case DW_OP_nop:
        return true;
    case DW_OP_deref:
        return load(m, 8);
    case DW_OP_deref_size:
        return load(m, op->number);
    case DW_OP_dup:
    case DW_OP_over:
    case DW_OP_pick:
    case DW_OP_drop:
    case DW_OP_swap:
        return rearrange(m, op);
    case DW_OP_abs:
    case DW_OP_neg:
    case DW_OP_not:
    case DW_OP_plus_uconst:
        return one_operand(m, op);
    case DW_OP_entry_value:
    case DW_OP_GNU_entry_value:
        return entry_value(m, op);
    case DW_OP_convert:
    case DW_OP_GNU_convert:
        return convert(m, op);
    case DW_OP_stack_value:
        m->is_value = true;
        return true;
    default:
        return literal(m, op) || two_operands(m, op->atom);
    }
}

bool rf_expression_evaluate(const struct rf_expression *x, const struct rf_expression_frame *f, struct rf_location *out)
{
    struct machine m = {.x = x, .f = f};
    uint64_t number;
    *out = (struct rf_location){false, 0};
    if (x->n == 0 || x->n > OPERATIONS_MAX)
        return false;
    if (is_register(x->op, &number))
        return x->n == 1 && reg(f, number, &out->value);
    for (size_t i = 0; i < x->n; i++)
        if (m.is_value || !execute(&m, &x->op[i])) /* nothing but pieces may follow a value */
            return false;
    out->in_memory = !m.is_value;
    return pop(&m, &out->value);
}
