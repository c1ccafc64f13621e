/* code.c: decodes bytecode and finds the operand stack's depth by abstract interpretation. */
#include "code.h"

#include <stdlib.h>
#include <string.h>

/* pops and pushes are for a fixed effect; with `args`, the operand is added to pops. */
static const struct op {
    const char *name;
    unsigned char operands, pops, pushes;
    bool args;
} ops[OP_COUNT] = {
    [OP_RET] = {"RET", 0, 1, 0, false},
    [OP_JMP] = {"JMP", 2, 0, 0, false},
    [OP_JMPF] = {"JMPF", 2, 1, 0, false},
    [OP_LOADCONST] = {"LOADCONST", 1, 0, 1, false},
    [OP_LOADENV] = {"LOADENV", 1, 0, 1, false},
    [OP_STOREENV] = {"STOREENV", 1, 1, 0, false},
    [OP_POP] = {"POP", 0, 1, 0, false},
    [OP_RESOLVE] = {"RESOLVE", 1, 0, 1, false},
    [OP_CALL1] = {"CALL1", 0, 2, 1, false},
    [OP_CALL2] = {"CALL2", 0, 3, 1, false},
    [OP_CALLN] = {"CALLN", 1, 1, 1, true},
    [OP_CALLF] = {"CALLF", 1, 1, 1, true},
    [OP_CALLS] = {"CALLS", 1, 0, 1, true},
    [OP_CALLD] = {"CALLD", 1, 1, 1, true},
    [OP_DUP] = {"DUP", 0, 0, 1, false},
    [OP_LOADCONST_W] = {"LOADCONST_W", 2, 0, 1, false},
    [OP_RESOLVE_W] = {"RESOLVE_W", 2, 0, 1, false},
    [OP_TRAP] = {"TRAP", 2, 0, 0, false},
    [OP_TRAP_END] = {"TRAP_END", 0, 0, 0, false},
    [OP_STOREGLOBAL] = {"STOREGLOBAL", 1, 1, 1, false},
    [OP_STOREGLOBAL_W] = {"STOREGLOBAL_W", 2, 1, 1, false},
    [OP_SCOPE_BEGIN] = {"SCOPE_BEGIN", 0, 1, 0, false},
    [OP_SCOPE_END] = {"SCOPE_END", 0, 1, 0, false},
    [OP_TRYH] = {"TRYH", 0, 2, 1, false},
    [OP_FORCE] = {"FORCE", 0, 1, 1, false},
    [OP_BINDCAPS] = {"BINDCAPS", 1, 0, 0, false},
    [OP_LOADSELF] = {"LOADSELF", 0, 0, 1, false},
    [OP_MKCLOSURE] = {"MKCLOSURE", 0, 3, 1, false},
    [OP_LOADENVG] = {"LOADENVG", 3, 0, 1, false},
    [OP_SCOPE_BEGIN_E] = {"SCOPE_BEGIN_E", 0, 1, 0, false},
    [OP_CALLG1] = {"CALLG1", 1, 1, 1, true},
    [OP_CALLG2] = {"CALLG2", 1, 1, 1, true},
    [OP_CALLGN] = {"CALLGN", 1, 1, 1, true},
};

/* A slot of the abstract stack is OTHER, or where it came from: a constant's index, with NAMED when the constant was
 * the name that was resolved. Deeper stacks than this are not followed. */
enum { OTHER = -1, NAMED = 1 << 16, STACK_MAX = 256 };

static int32_t origin(enum rf_op op, uint32_t arg)
{
    switch (op) {
    case OP_LOADCONST:
    case OP_LOADCONST_W:
        return (int32_t)arg;
    case OP_RESOLVE:
    case OP_RESOLVE_W:
    case OP_LOADENVG: /* its last two bytes are the name */
        return (int32_t)(arg & 0xffff) | NAMED;
    default:
        return OTHER;
    }
}

const char *rf_op_name(enum rf_op op)
{
    return ops[op].name;
}

unsigned rf_op_operands(enum rf_op op)
{
    return ops[op].operands;
}

static int32_t pops_of(enum rf_op op, uint32_t arg)
{
    int32_t k = ops[op].pops + (ops[op].args ? (int32_t)arg : 0);
    return k;
}

static bool is_call(enum rf_op op)
{
    return op == OP_CALL1 || op == OP_CALL2 || op == OP_CALLN || op == OP_CALLF || (op >= OP_CALLG1 && op <= OP_CALLGN);
}

static const struct rf_instruction *find(const struct rf_code *c, uint32_t pos, size_t member)
{
    size_t lo = 0, hi = c->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        uint32_t at;
        memcpy(&at, (const char *)&c->v[mid] + member, sizeof at);
        if (at == pos)
            return &c->v[mid];
        if (at < pos)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

const struct rf_instruction *rf_code_starting(const struct rf_code *c, uint32_t pos)
{
    return find(c, pos, offsetof(struct rf_instruction, start));
}

const struct rf_instruction *rf_code_ending(const struct rf_code *c, uint32_t pos)
{
    return find(c, pos, offsetof(struct rf_instruction, end));
}

const struct rf_instruction *rf_code_with(const struct rf_code *c, uint64_t pos)
{
    size_t lo = 0, hi = c->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (c->v[mid].end <= pos)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < c->n && c->v[lo].start <= pos ? &c->v[lo] : NULL;
}

/* Fills c->v with instructions up to the first byte that is none. */
static void decode(struct rf_code *c, const unsigned char *b, size_t len, int32_t opcodes)
{
    size_t at = 0;
    while (at < len) {
        unsigned op = b[at];
        if (op >= OP_COUNT || op >= (unsigned)opcodes || at + 1 + ops[op].operands > len)
            return;
        struct rf_instruction *i = &c->v[c->n++];
        uint32_t arg = 0;
        for (unsigned k = 0; k < ops[op].operands; k++)
            arg = arg << 8 | b[at + 1 + k];
        *i = (struct rf_instruction){.start = (uint32_t)at,
                                     .end = (uint32_t)(at + 1 + ops[op].operands),
                                     .op = (enum rf_op)op,
                                     .arg = arg,
                                     .depth = RF_DEPTH_UNKNOWN,
                                     .pops = pops_of((enum rf_op)op, arg),
                                     .callee = -1};
        at = i->end;
    }
    c->sound = true;
}

/* A path to follow: from an instruction, with the stack as it is there. */
struct path {
    const struct rf_instruction *at;
    int32_t depth;
    int32_t slot[STACK_MAX];
};

struct walk {
    struct rf_code *c;
    struct path *todo; /* branch targets not yet followed; each branch is met once, so c->n suffice */
    size_t n;
    unsigned char *joins; /* by instruction: 2 where more than one way leads to it */
};

uint32_t rf_code_target(const struct rf_instruction *i)
{
    int32_t jump = (int16_t)(uint16_t)i->arg;
    return (uint32_t)((int32_t)i->end + jump);
}

static void lead_to(struct walk *w, uint32_t target)
{
    const struct rf_instruction *to = rf_code_starting(w->c, target);
    if (to && w->joins[to - w->c->v] < 2)
        w->joins[to - w->c->v]++;
}

static void find_joins(struct walk *w)
{
    for (size_t k = 0; k < w->c->n; k++) {
        const struct rf_instruction *i = &w->c->v[k];
        if (i->op == OP_JMP || i->op == OP_JMPF || i->op == OP_TRAP)
            lead_to(w, rf_code_target(i));
        if (i->op != OP_JMP && i->op != OP_RET)
            lead_to(w, i->end);
    }
}

static void branch(struct walk *w, const struct path *from, uint32_t target, int32_t depth)
{
    const struct rf_instruction *to = rf_code_starting(w->c, target);
    if (!to || depth > STACK_MAX) {
        w->c->sound = false;
        return;
    }
    if (to->depth != RF_DEPTH_UNKNOWN) {
        w->c->sound = w->c->sound && to->depth == depth;
        return;
    }
    struct path *p = &w->todo[w->n++];
    *p = *from;
    p->at = to;
    if (depth > p->depth)
        p->slot[depth - 1] = OTHER;
    p->depth = depth;
}

/* Follows one path until it ends or meets ground already walked. */
static void follow(struct walk *w, struct path *p)
{
    for (const struct rf_instruction *i = p->at;;) {
        struct rf_instruction *in = &w->c->v[i - w->c->v];
        if (in->depth != RF_DEPTH_UNKNOWN) {
            w->c->sound = w->c->sound && in->depth == p->depth;
            return;
        }
        in->depth = p->depth;
        /* The arms of a branch leave their value on top, each its own: "((if a f g) x)". */
        if (p->depth > 0 && w->joins[i - w->c->v] > 1)
            p->slot[p->depth - 1] = OTHER;
        if (in->pops > p->depth || p->depth + 1 > STACK_MAX) {
            w->c->sound = false;
            return;
        }
        int32_t left = p->depth - in->pops;
        if (is_call(in->op) && p->slot[left] != OTHER) {
            in->callee = p->slot[left] & 0xffff;
            in->by_name = p->slot[left] & NAMED;
        }
        uint32_t target = rf_code_target(in);
        if (in->op == OP_RET) {
            w->c->sound = w->c->sound && left == 0;
            return;
        }
        if (in->op == OP_JMPF)
            branch(w, p, target, left);
        else if (in->op == OP_TRAP)
            branch(w, p, target, p->depth + 1); /* its handler finds the error on the stack */
        p->depth = left;
        if (ops[in->op].pushes) {
            int32_t pushed = in->op == OP_DUP && left > 0 ? p->slot[left - 1] : origin(in->op, in->arg);
            p->slot[p->depth++] = pushed;
        }
        i = rf_code_starting(w->c, in->op == OP_JMP ? target : in->end);
        if (!i) {
            w->c->sound = false;
            return;
        }
    }
}

bool rf_code_decode(struct rf_code *out, const unsigned char *bytes, size_t len, int32_t opcodes)
{
    memset(out, 0, sizeof *out);
    if (len > RF_CODE_MAX)
        return true;
    out->len = (uint32_t)len;
    out->v = calloc(len ? len : 1, sizeof *out->v);
    if (!out->v)
        return false;
    if (len)
        decode(out, bytes, len, opcodes);
    size_t branches = 1;
    for (size_t i = 0; i < out->n; i++)
        branches += out->v[i].op == OP_JMPF || out->v[i].op == OP_TRAP;
    struct walk w = {out, calloc(branches, sizeof *w.todo), 0, calloc(out->n + 1, 1)};
    bool ok = w.todo && w.joins;
    if (ok && out->n) {
        find_joins(&w);
        w.todo[w.n++] = (struct path){.at = out->v};
        while (w.n) {
            struct path p = w.todo[--w.n];
            follow(&w, &p);
        }
    }
    free(w.todo);
    free(w.joins);
    if (!ok)
        rf_code_free(out);
    return ok;
}

void rf_code_free(struct rf_code *c)
{
    free(c->v);
    memset(c, 0, sizeof *c);
}
