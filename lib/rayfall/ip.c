/* ip.c: the candidates for an interpreter frame's instruction. */
#include "ip.h"

/* Opcodes in progress while native code runs below the interpreter for long. */
static const rf_ops call_like = RF_CALLS | RF_OP(OP_CALLD) | RF_OP(OP_FORCE) | RF_OP(OP_TRYH) | RF_OP(OP_SCOPE_BEGIN) |
                                RF_OP(OP_SCOPE_END) | RF_OP(OP_SCOPE_BEGIN_E) | RF_OP(OP_JMPF) | RF_OP(OP_MKCLOSURE);
static const rf_ops any_op = ((rf_ops)1 << OP_COUNT) - 1;
static const rf_ops jumps = RF_OP(OP_JMP) | RF_OP(OP_JMPF);
static const rf_ops returns = RF_OP(OP_RET);

/* Which opcodes can have this function directly below them (releases §2.4). */
static const struct {
    const char *name;
    rf_ops ops;
} below_class[] = {
    {"ray_eval", RF_OP(OP_CALLD)},
    {"vm_call_binary", RF_OP(OP_CALL2) | RF_OP(OP_CALLG2)},
    {"ray_env_resolve", RF_OP(OP_RESOLVE) | RF_OP(OP_RESOLVE_W) | RF_OP(OP_LOADENVG)},
    {"ray_env_resolve_compiled", RF_OP(OP_RESOLVE) | RF_OP(OP_RESOLVE_W) | RF_OP(OP_LOADENVG)},
    {"ray_env_set", RF_OP(OP_STOREGLOBAL) | RF_OP(OP_STOREGLOBAL_W)},
    {"ray_retain", RF_OP(OP_LOADCONST) | RF_OP(OP_LOADCONST_W) | RF_OP(OP_LOADENV) | RF_OP(OP_LOADENVG) |
                       RF_OP(OP_DUP) | RF_OP(OP_LOADSELF) | RF_OP(OP_RESOLVE) | RF_OP(OP_RESOLVE_W) | RF_OP(OP_CALLF) |
                       RF_OP(OP_CALLS)},
    {"ray_lazy_materialize", RF_OP(OP_FORCE) | RF_CALLS | RF_OP(OP_LOADENV) | RF_OP(OP_LOADENVG) | RF_OP(OP_JMPF)},
    {"ray_release", RF_OP(OP_POP) | RF_OP(OP_STOREENV) | RF_OP(OP_RET) | RF_OP(OP_JMPF) | RF_CALLS | RF_OP(OP_CALLS) |
                        RF_OP(OP_CALLD) | RF_OP(OP_TRYH) | RF_OP(OP_SCOPE_BEGIN) | RF_OP(OP_SCOPE_END) |
                        RF_OP(OP_FORCE)},
};

/* ray_free is what ray_release becomes once it is inlined. */
static rf_ops below_ops(const char *name)
{
    if (rf_symbol_is(name, "ray_free") || rf_symbol_is(name, "ray_free_last_ref"))
        return below_ops("ray_release");
    for (size_t i = 0; i < sizeof below_class / sizeof *below_class; i++)
        if (rf_symbol_is(name, below_class[i].name))
            return below_class[i].ops;
    return call_like;
}

/* Does the block in memory agree with the frame being at this instruction? A handler pops before it calls. */
static bool fits(const struct rf_ip_view *v, const struct rf_instruction *i)
{
    if (i->depth == RF_DEPTH_UNKNOWN || i->depth - i->pops != v->depth)
        return false;
    if (i->callee < 0 || i->by_name || !v->called)
        return true;
    return (size_t)i->callee < v->fn->n_consts && v->fn->consts[i->callee] == v->called;
}

/* As fits, and where the callee was looked up by its name, the name stands for the function object. */
static bool fits_by_name(const struct rf_ip_view *v, const struct rf_instruction *i)
{
    if (!fits(v, i))
        return false;
    if (!i->by_name || !v->called || !v->names || (size_t)i->callee >= v->fn->n_consts)
        return true;
    uint64_t value = rf_names_value(v->names, v->fn->symbols[i->callee]);
    return !value || value == v->called;
}

/* A half-done handler may not have popped, or may have pushed. */
static bool nearly_fits(const struct rf_ip_view *v, const struct rf_instruction *i)
{
    return i->depth != RF_DEPTH_UNKNOWN &&
           (i->depth == v->depth || i->depth - i->pops == v->depth || i->depth - i->pops + 1 == v->depth);
}

/* Whatever a handler may have done to the stack by now; a call may also have taken its frame down. */
static bool can_be(const struct rf_ip_view *v, const struct rf_instruction *i)
{
    if (v->where.ops && !(v->where.ops & RF_OP(i->op)))
        return false;
    return i->depth == RF_DEPTH_UNKNOWN || (v->depth <= i->depth + 1 && v->depth >= i->depth - i->pops - 1);
}

/* The machine code says which byte is fetched next: what ends there is in progress, or a jump that leads there. */
static size_t settle(const struct rf_ip_view *v, const struct rf_instruction *out[IP_CANDIDATES])
{
    const struct rf_code *c = &v->fn->code;
    const struct rf_instruction *last = rf_code_ending(c, v->where.ip);
    size_t n = 0;
    if (last && can_be(v, last))
        out[n++] = last;
    for (size_t k = 0; (n == 0 || v->where.at == RF_AT_TARGET) && k < c->n && n < IP_CANDIDATES; k++) {
        const struct rf_instruction *i = &c->v[k];
        if ((jumps & RF_OP(i->op)) && i != last && rf_code_target(i) == v->where.ip && can_be(v, i))
            out[n++] = i;
    }
    /* A return has already put its caller's function in place, which goes on behind a call. */
    if (n == 0 && last && (v->where.ops & RF_OP(OP_RET)) && (RF_RUNS & RF_OP(last->op)))
        out[n++] = last;
    return n;
}

/* The numbers seen: the ip after this instruction, or, where it has an operand, after its opcode; also as a pointer
 * into the bytecode. */
static bool shows(const struct rf_ip_view *v, uint64_t word, const struct rf_instruction *i)
{
    uint64_t low = word & 0xffffffff, into = word - v->fn->code_addr;
    bool operand = i->end - i->start > 1;
    return low == i->end || (operand && low == i->start + 1u) || into == i->end || (operand && into == i->start + 1u);
}

static bool any_shows(const struct rf_ip_view *v, const uint64_t *word, size_t n, const struct rf_instruction *i)
{
    for (size_t k = 0; k < n; k++)
        if (shows(v, word[k], i))
            return true;
    return false;
}

static bool seen(const struct rf_ip_view *v, const struct rf_instruction *i)
{
    return any_shows(v, v->saved, v->n_saved, i) || any_shows(v, v->word, v->n_words, i);
}

static bool anywhere(const struct rf_ip_view *v, const struct rf_instruction *i)
{
    (void)v;
    (void)i;
    return true;
}

typedef bool test(const struct rf_ip_view *v, const struct rf_instruction *i);

static size_t choose(const struct rf_ip_view *v, rf_ops ops, test *memory, test *machine,
                     const struct rf_instruction *out[IP_CANDIDATES])
{
    size_t n = 0;
    for (size_t k = 0; k < v->fn->code.n && n < IP_CANDIDATES; k++) {
        const struct rf_instruction *i = &v->fn->code.v[k];
        if ((ops & RF_OP(i->op)) && (!v->where.ops || (v->where.ops & RF_OP(i->op))) && memory(v, i) &&
            (!machine || machine(v, i)))
            out[n++] = i;
    }
    return n;
}

/* In a leaf frame the number may stand for the start of the next instruction or the end of this one, in any register;
 * what was in a callee-saved one is likelier. */
static bool leaf_saved(const struct rf_ip_view *v, const struct rf_instruction *i)
{
    return any_shows(v, v->saved, v->n_saved, i);
}

static bool leaf_any(const struct rf_ip_view *v, const struct rf_instruction *i)
{
    return seen(v, i) || any_shows(v, v->other, v->n_other, i);
}

static size_t leaf_candidates(const struct rf_ip_view *v, const struct rf_instruction *out[IP_CANDIDATES])
{
    size_t n = choose(v, any_op, nearly_fits, leaf_saved, out);
    return n ? n : choose(v, any_op, nearly_fits, leaf_any, out);
}

static size_t caller_candidates(const struct rf_ip_view *v, const struct rf_instruction *out[IP_CANDIDATES])
{
    rf_ops ops = v->where.ops ? v->where.ops : below_ops(v->below);
    size_t n = choose(v, ops, fits_by_name, seen, out);
    if (!n)
        n = choose(v, ops, fits, seen, out);
    if (!n)
        n = choose(v, any_op, nearly_fits, seen, out);
    return n ? n : choose(v, ops, fits, NULL, out);
}

size_t rf_ip_candidates(const struct rf_ip_view *v, const struct rf_instruction *out[IP_CANDIDATES])
{
    size_t n = 0;
    if (v->where.at == RF_AT_END && (out[0] = rf_code_ending(&v->fn->code, v->where.ip)))
        return 1;
    if (v->where.at == RF_AT_LEAVING)
        n = choose(v, returns, anywhere, NULL, out);
    else if (v->where.at == RF_AT_IP || v->where.at == RF_AT_TARGET)
        n = settle(v, out);
    /* While a return is taken the block may be the callee's or, at its call, the caller's: nothing to choose from. */
    if (n || (v->where.ops & returns))
        return n;
    n = v->below ? caller_candidates(v, out) : leaf_candidates(v, out);
    /* The number may be gone from the frame and the depth be in between: but it is one of these. */
    return n ? n : choose(v, v->where.ops, anywhere, NULL, out);
}
