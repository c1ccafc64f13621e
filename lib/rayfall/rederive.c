/* rederive.c: walks a function's body and its bytecode side by side. */
#include "rederive.h"

#include "text.h"
#include "texts.h"

#include <stdlib.h>

enum { ELEMENTS_MAX = 1024, NESTING_MAX = 64 };

struct walk {
    struct rf_lambda *l;
    const struct rf_memory *m;
    const struct rf_runtime *rt;
    const struct rf_source *source; /* NULL: places are not wanted */
    int64_t *symbol;                /* nor are names of slots, where there is room for none */
    size_t n_symbols;
    size_t at; /* next instruction */
    unsigned nesting;
    size_t cap; /* of l->debug */
};

static const struct rf_instruction *next(const struct walk *w)
{
    return w->at < w->l->code.n ? &w->l->code.v[w->at] : NULL;
}

static bool is_next(const struct walk *w, enum rf_op op)
{
    return next(w) && next(w)->op == op;
}

/* Takes the next instruction if it is one of two; most operations come in a narrow and a wide form. */
static bool take(struct walk *w, enum rf_op op, enum rf_op or_op)
{
    if (!is_next(w, op) && !is_next(w, or_op))
        return false;
    w->at++;
    return true;
}

static void take_optional(struct walk *w, enum rf_op op)
{
    w->at += is_next(w, op);
}

/* From the next instruction on the code belongs to this node. Nodes that have no span leave the one around them in
 * charge. */
static bool mark(struct walk *w, uint64_t node)
{
    struct rf_span span;
    if (!w->source || !next(w) || !rf_source_node(w->source, node, &span))
        return true;
    uint32_t offset = next(w)->start;
    struct rf_lambda *l = w->l;
    if (l->n_debug && l->debug[l->n_debug - 1].offset == offset)
        return true; /* of equal offsets the first counts */
    if (l->n_debug == w->cap) {
        size_t cap = w->cap ? 2 * w->cap : 32;
        struct rf_debug *more = realloc(l->debug, cap * sizeof *more);
        if (!more)
            return false;
        l->debug = more;
        w->cap = cap;
    }
    l->debug[l->n_debug++] = (struct rf_debug){offset, span};
    return true;
}

/* A call's own mark also stands at an offset that an argument without code may have taken. */
static bool mark_call(struct walk *w, uint64_t node)
{
    struct rf_lambda *l = w->l;
    struct rf_span span;
    if (w->source && next(w) && l->n_debug && l->debug[l->n_debug - 1].offset == next(w)->start &&
        rf_source_node(w->source, node, &span))
        l->n_debug--;
    return mark(w, node);
}

static uint64_t constant(const struct walk *w, const struct rf_instruction *i)
{
    return i->arg < w->l->n_consts ? w->l->consts[i->arg] : 0;
}

static bool expr(struct walk *w, uint64_t node);

static bool exprs(struct walk *w, const uint64_t *node, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!expr(w, node[i]))
            return false;
    return true;
}

static bool statements(struct walk *w, const uint64_t *node, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((i && !take(w, OP_POP, OP_POP)) || !expr(w, node[i]))
            return false;
    return true;
}

static bool if_form(struct walk *w, const uint64_t *e, size_t n)
{
    if (!expr(w, e[1]))
        return false;
    take_optional(w, OP_FORCE);
    if (!take(w, OP_JMPF, OP_JMPF) || !expr(w, e[2]) || !take(w, OP_JMP, OP_JMP))
        return false;
    return n >= 4 ? expr(w, e[3]) : take(w, OP_LOADCONST, OP_LOADCONST_W);
}

/* The next instruction reads or sets a slot under the name that this node is. */
static void name_slot(struct walk *w, uint64_t node)
{
    struct rf_obj o;
    const struct rf_instruction *i = next(w);
    if (!w->n_symbols || !i || (i->op != OP_LOADENV && i->op != OP_STOREENV && i->op != OP_LOADENVG))
        return;
    size_t slot = i->op == OP_LOADENVG ? i->arg >> 16 : i->arg; /* that has a global's index behind the slot */
    if (slot < w->n_symbols && rf_obj_read(w->m, node, &o) && o.type == RAY_SYMBOL_ATOM)
        w->symbol[slot] = o.len;
}

static bool let_form(struct walk *w, const uint64_t *e)
{
    if (!expr(w, e[2]))
        return false;
    take_optional(w, OP_FORCE);
    if (!take(w, OP_DUP, OP_DUP))
        return false;
    name_slot(w, e[1]);
    return take(w, OP_STOREENV, OP_STOREENV);
}

static bool set_form(struct walk *w, const uint64_t *e)
{
    if (!expr(w, e[2]))
        return false;
    take_optional(w, OP_FORCE);
    return take(w, OP_STOREGLOBAL, OP_STOREGLOBAL_W);
}

static bool try_form(struct walk *w, const uint64_t *e)
{
    if (!take(w, OP_TRAP, OP_TRAP) || !expr(w, e[1]) || !take(w, OP_TRAP_END, OP_TRAP_END) ||
        !take(w, OP_JMP, OP_JMP) || !take(w, OP_STOREENV, OP_STOREENV) || !expr(w, e[2]) ||
        !take(w, OP_LOADENV, OP_LOADENV))
        return false;
    return is_next(w, OP_CALLF) ? take(w, OP_CALLF, OP_CALLF) : take(w, OP_TRYH, OP_TRYH);
}

static bool return_form(struct walk *w, const uint64_t *e, size_t n)
{
    if (n == 2 ? !expr(w, e[1]) : !take(w, OP_LOADCONST, OP_LOADCONST_W))
        return false;
    while (is_next(w, OP_TRAP_END))
        w->at++;
    return take(w, OP_RET, OP_RET);
}

static bool loop_body(struct walk *w, const uint64_t *e, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!expr(w, e[i]) || !take(w, OP_POP, OP_POP))
            return false;
    return true;
}

/* Loops are compiled from core 2.11 on (seen on release 2.3.1). */
static bool while_form(struct walk *w, const uint64_t *e, size_t n)
{
    if (!expr(w, e[1]))
        return false;
    take_optional(w, OP_FORCE);
    return take(w, OP_JMPF, OP_JMPF) && loop_body(w, e + 2, n - 2) && take(w, OP_JMP, OP_JMP) &&
           take(w, OP_LOADCONST, OP_LOADCONST_W);
}

/* The count is made a number, kept in a local, and taken down by one behind the body. */
static bool times_form(struct walk *w, const uint64_t *e, size_t n)
{
    return take(w, OP_LOADCONST, OP_LOADCONST_W) && expr(w, e[1]) && take(w, OP_CALL1, OP_CALL1) &&
           take(w, OP_STOREENV, OP_STOREENV) && take(w, OP_LOADENV, OP_LOADENV) && take(w, OP_JMPF, OP_JMPF) &&
           loop_body(w, e + 2, n - 2) && take(w, OP_LOADCONST, OP_LOADCONST_W) && take(w, OP_LOADENV, OP_LOADENV) &&
           take(w, OP_CALL1, OP_CALL1) && take(w, OP_STOREENV, OP_STOREENV) && take(w, OP_JMP, OP_JMP) &&
           take(w, OP_LOADCONST, OP_LOADCONST_W);
}

/* A form that is evaluated as a tree: its node is a constant. Locals that it mentions are put into a scope around it.
 */
static bool dynamic_form(struct walk *w, uint64_t node)
{
    bool scope = next(w) && constant(w, next(w)) != node;
    if (scope && (!take(w, OP_LOADCONST, OP_LOADCONST_W) || !take(w, OP_SCOPE_BEGIN, OP_SCOPE_BEGIN_E)))
        return false;
    if (!next(w) || constant(w, next(w)) != node || !take(w, OP_LOADCONST, OP_LOADCONST_W) ||
        !take(w, OP_CALLD, OP_CALLD))
        return false;
    return !scope || (take(w, OP_LOADCONST, OP_LOADCONST_W) && take(w, OP_SCOPE_END, OP_SCOPE_END));
}

/* Does the code that comes next treat this form as a tree? Its node is then the next constant, or the second after a
 * scope. */
static bool is_dynamic(const struct walk *w, uint64_t node)
{
    const struct rf_instruction *i = next(w);
    if (!i || (i->op != OP_LOADCONST && i->op != OP_LOADCONST_W))
        return false;
    if (constant(w, i) == node)
        return true;
    return w->at + 2 < w->l->code.n && (i[1].op == OP_SCOPE_BEGIN || i[1].op == OP_SCOPE_BEGIN_E) &&
           constant(w, &i[2]) == node;
}

static bool call_form(struct walk *w, uint64_t node, const uint64_t *e, size_t n, bool self)
{
    /* A builtin that was found by its name when the function was compiled is a constant. */
    if (!self && !take(w, OP_LOADCONST, OP_LOADCONST_W) && !expr(w, e[0]))
        return false;
    if (!exprs(w, e + 1, n - 1))
        return false;
    const struct rf_instruction *i = next(w);
    if (!i || !mark_call(w, node))
        return false;
    w->at++;
    switch (i->op) {
    case OP_CALL1:
        return n == 2;
    case OP_CALL2:
        return n == 3;
    case OP_CALLN:
    case OP_CALLF:
    case OP_CALLG1:
    case OP_CALLG2:
    case OP_CALLGN:
        return !self && i->arg == n - 1;
    case OP_CALLS:
        return self && i->arg == n - 1;
    default:
        return false;
    }
}

static bool list(struct walk *w, uint64_t node, const uint64_t *e, size_t n)
{
    struct rf_obj o;
    struct rf_text head = {NULL, 0};
    bool ok, is_name = rf_obj_read(w->m, e[0], &o) && o.type == RAY_SYMBOL_ATOM && !(o.attrs & RAY_ATTR_QUOTED);
    if (is_dynamic(w, node))
        return dynamic_form(w, node);
    if (is_name && !rf_symbol_read(w->m, w->rt, o.len, &head))
        return false;
    if (head.s && rf_text_is(head, "set") && n == 3)
        ok = set_form(w, e);
    else if (head.s && rf_text_is(head, "let") && n == 3)
        ok = let_form(w, e);
    else if (head.s && rf_text_is(head, "if") && n >= 3)
        ok = if_form(w, e, n);
    else if (head.s && rf_text_is(head, "do") && n >= 2)
        ok = statements(w, e + 1, n - 1);
    else if (head.s && rf_text_is(head, "try") && n == 3)
        ok = try_form(w, e);
    else if (head.s && rf_text_is(head, "return") && n <= 2)
        ok = return_form(w, e, n);
    else if (head.s && rf_text_is(head, "while") && n >= 2)
        ok = while_form(w, e, n);
    else if (head.s && rf_text_is(head, "times") && n >= 2)
        ok = times_form(w, e, n);
    else
        ok = call_form(w, node, e, n, head.s && rf_text_is(head, "self"));
    free((char *)head.s);
    return ok;
}

static bool expr(struct walk *w, uint64_t node)
{
    struct rf_obj o;
    uint64_t e[ELEMENTS_MAX];
    if (!rf_obj_read(w->m, node, &o) || !mark(w, node))
        return false;
    if (o.type != RAY_LIST || o.len == 0) {
        bool is_name = o.type == RAY_SYMBOL_ATOM && !(o.attrs & RAY_ATTR_QUOTED);
        if (is_name)
            name_slot(w, node);
        if (is_name && (take(w, OP_LOADENV, OP_LOADENVG) || take(w, OP_RESOLVE, OP_RESOLVE_W) ||
                        take(w, OP_LOADSELF, OP_LOADSELF)))
            return true;
        return take(w, OP_LOADCONST, OP_LOADCONST_W);
    }
    if (o.len < 0 || o.len > ELEMENTS_MAX || w->nesting >= NESTING_MAX ||
        !rf_read(w->m, node + RAY_DATA, e, 8 * (size_t)o.len))
        return false;
    w->nesting++;
    bool ok = list(w, node, e, (size_t)o.len);
    w->nesting--;
    return ok;
}

bool rf_rederive(struct rf_lambda *l, const struct rf_memory *m, const struct rf_runtime *rt, uint64_t body,
                 const struct rf_source *source)
{
    struct rf_obj o;
    uint64_t e[ELEMENTS_MAX];
    struct walk w = {.l = l, .m = m, .rt = rt, .source = source};
    l->n_debug = 0;
    if (rf_obj_vector(m, body, RAY_LIST, ELEMENTS_MAX, &o) && rf_read(m, body + RAY_DATA, e, 8 * (size_t)o.len) &&
        statements(&w, e, (size_t)o.len) && take(&w, OP_RET, OP_RET) && w.at == l->code.n)
        return true;
    l->n_debug = 0;
    return false;
}

void rf_name_slots(const struct rf_lambda *l, const struct rf_memory *m, const struct rf_runtime *rt, int64_t *symbol,
                   size_t n)
{
    struct rf_obj o;
    uint64_t e[ELEMENTS_MAX];
    struct rf_lambda own = *l; /* of which nothing is changed without a source */
    struct walk w = {.l = &own, .m = m, .rt = rt, .symbol = symbol, .n_symbols = n};
    if (!rf_obj_vector(m, l->body, RAY_LIST, ELEMENTS_MAX, &o) || !rf_read(m, l->body + RAY_DATA, e, 8 * (size_t)o.len))
        return;
    take_optional(&w, OP_BINDCAPS);
    statements(&w, e, (size_t)o.len);
}
