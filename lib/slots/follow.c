/* follow.c: the executor. A path is a state (path.h); conditions that are not decided fork it. */
#include "path.h"

#include <stdlib.h>

enum { PATHS = 48, STEPS = 400, VISITS = 4, FRAMED_TIMES = 16 };

static bool is_reg(const struct rf_moperand *o, unsigned char reg)
{
    return o->kind == M_REG && o->reg == reg;
}

/* Code that was not optimised, or keeps a frame pointer, begins with push rbp; mov rbp, rsp; more pushes; sub rsp, n.
 * What it does to rsp later it has undone at each call, unless it passes arguments there: then nothing is concluded. */
static void find_frame(struct rf_follower *f)
{
    const struct rf_machine *m = f->m;
    size_t k = m->n && m->v[0].op == M_NOP ? 1 : 0; /* endbr64 */
    int64_t frame = 0;
    if (m->n < k + 3 || m->v[k].op != M_PUSH || !is_reg(&m->v[k].o[0], RF_RBP) || m->v[k + 1].op != M_MOV ||
        !is_reg(&m->v[k + 1].o[0], RF_RBP) || !is_reg(&m->v[k + 1].o[1], RF_RSP))
        return;
    for (k += 2; k < m->n && m->v[k].op == M_PUSH; k++)
        frame += 8;
    if (k < m->n && m->v[k].op == M_SUB && is_reg(&m->v[k].o[0], RF_RSP) && m->v[k].o[1].kind == M_IMM)
        frame += m->v[k++].o[1].disp;
    for (size_t i = k; i < m->n; i++) {
        const struct rf_minsn *in = &m->v[i];
        bool lowers = in->op == M_SUB && is_reg(&in->o[0], RF_RSP);
        bool sets =
            in->op != M_POP && in->op != M_OTHER && in->op != M_CMP && in->op != M_TEST && is_reg(&in->o[0], RF_RBP);
        if (in->op == M_PUSH || lowers || sets)
            return;
    }
    if (k < m->n) {
        f->framed = m->v[k].at;
        f->frame = frame;
    }
}

struct rf_follower *rf_follower_new(const struct rf_machine *m, struct rf_dispatch dispatch)
{
    struct rf_follower *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->m = m;
    f->dispatch = dispatch;
    f->todo = malloc(PATHS * sizeof *f->todo);
    f->load = malloc(LOADS_MAX * sizeof *f->load);
    f->visits = malloc(m->n + 1);
    if (!f->todo || !f->load || !f->visits) {
        rf_follower_free(f);
        return NULL;
    }
    find_frame(f);
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

/* --- ends --------------------------------------------------------------------------------------------------------- */

static void add_end(struct rf_follower *f, const struct path *p, const struct rf_value *addr)
{
    struct rf_end e = {*addr, p->moved, p->switched, rf_path_back(f, p)};
    for (unsigned i = 0; i < e.addr.n; i++)
        for (unsigned k = 0; k < p->n_narrow; k++)
            if (e.addr.t[i].sym == p->narrow[k])
                e.addr.t[i].narrow = true;
    for (size_t i = 0; i < f->out->n; i++)
        if (f->out->v[i].moved == e.moved && f->out->v[i].switched == e.switched && f->out->v[i].back == e.back &&
            rf_value_same(&f->out->v[i].addr, &e.addr))
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
    struct rf_value a = {.summed = false}, target;
    const struct rf_value *fetch;
    if (o->kind == M_MEM) {
        a = rf_path_address(p, o);
        target = rf_path_load(f, p, &a, 8);
    } else {
        target = rf_path_register(p, o->reg, 8);
        if (target.summed && target.n == 1 && target.add == 0 && target.t[0].coef == 1 &&
            rf_sym_loaded(target.t[0].sym) && rf_sym_load_size(target.t[0].sym) == 8)
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
    int holds = i->op == M_JMP ? 1 : rf_path_condition(p, i->cc);
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
            rf_path_execute(f, p, i);
        }
    }
    f->out->lost = true;
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

/* Where both registers are known they must be as the beginning of the function left them. */
static void set_frame(const struct rf_follower *f, struct path *p)
{
    struct rf_value *rsp = &p->reg[RF_RSP], *rbp = &p->reg[RF_RBP], distance = rf_value_constant((uint64_t)f->frame);
    bool both = rsp->known && rbp->known;
    if (!f->framed || p->pc - f->m->base < f->framed || (both && rbp->number - rsp->number != (uint64_t)f->frame))
        return;
    struct rf_value v = rf_value_add(rsp, &distance, 1);
    v.known = rbp->known;
    v.number = rbp->number;
    *rbp = v;
}

void rf_follow(struct rf_follower *f, const struct rf_entry *from, unsigned budget, struct rf_ends *out)
{
    struct path p;
    memset(&p, 0, sizeof p);
    memset(f->visits, 0, f->m->n);
    memset(out, 0, sizeof *out);
    f->from = from;
    f->out = out;
    budget *= f->framed ? FRAMED_TIMES : 1; /* without optimisation the same takes many more instructions */
    f->n_loads = 0;
    p.pc = from->pc;
    for (unsigned char r = 0; r < 16; r++) {
        if (!from->leaf && !(rf_path_preserved >> r & 1))
            continue;
        p.reg[r] = rf_value_symbol(r);
        p.reg[r].known = from->known >> r & 1;
        p.reg[r].number = p.reg[r].known ? from->reg[r] : 0;
    }
    if (!from->leaf)
        p.reg[RF_RAX] = rf_path_result(f);
    set_frame(f, &p);
    p.flags.op = M_OTHER;
    if (from->leaf)
        rf_path_compare_again(f, &p);
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
