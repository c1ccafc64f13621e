/* slotmap.c: from the ends of paths to one answer for each call. */
#include "slotmap.h"

#include <stdlib.h>

enum { SITE_BUDGET = 6000 };

void rf_slotmap_free(struct rf_slotmap *map)
{
    free(map->v);
    *map = (struct rf_slotmap){NULL, 0};
}

const struct rf_slot *rf_slotmap_at(const struct rf_slotmap *map, uint32_t at)
{
    size_t lo = 0, hi = map->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (map->v[mid].at == at)
            return &map->v[mid];
        if (map->v[mid].at < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

/* --- one place ---------------------------------------------------------------------------------------------- */

/* The fetch reads at [bytecode object + 32 + ip] or at [first byte + ip], and ip is at most 3 ahead of what is kept. */
static int64_t without_header(int64_t add)
{
    return add >= 24 ? add - 32 : add;
}

/* Its address is a base that was loaded, or an entry symbol used with 64 bits, and an index that is an entry symbol
 * used with 32 bits; or a sum of entry symbols. */
enum rf_slot_kind rf_slot_read(const struct rf_end *end, struct rf_place *out)
{
    const struct rf_value *a = &end->addr;
    const struct rf_term *index = NULL;
    unsigned loaded = 0;
    *out = (struct rf_place){.n = 0};
    if (!a->summed)
        return RF_SLOT_NONE;
    for (unsigned i = 0; i < a->n; i++) {
        const struct rf_term *t = &a->t[i];
        bool from_memory = rf_sym_loaded(t->sym);
        if (t->coef != 1 || (from_memory && (rf_sym_load_size(t->sym) != 8 || t->narrow)) || (t->narrow && index))
            return RF_SLOT_NONE;
        loaded += from_memory;
        if (t->narrow)
            index = t;
    }
    int64_t add = index || loaded ? without_header(a->add) : a->add;
    if (loaded > 1 || a->n - loaded > 2 || add < -64 || add > 64)
        return RF_SLOT_NONE;
    if (loaded && a->n == 1)
        return add == 0 ? RF_SLOT_ENTERING : RF_SLOT_NONE;
    out->address = !index && !loaded;
    out->add = (int32_t)add;
    for (unsigned i = 0; i < a->n; i++)
        if (index ? &a->t[i] == index : !rf_sym_loaded(a->t[i].sym))
            out->t[out->n++] = a->t[i];
    return out->n ? RF_SLOT_PLACE : RF_SLOT_NONE;
}

static bool same_place(const struct rf_place *a, const struct rf_place *b)
{
    if (a->address != b->address || a->n != b->n || a->add != b->add)
        return false;
    for (unsigned i = 0; i < a->n; i++)
        if (a->t[i].sym != b->t[i].sym || a->t[i].narrow != b->t[i].narrow)
            return false;
    return true;
}

void rf_slot_conclude(struct rf_slot *out, const struct rf_ends *ends)
{
    bool moved = false, entering = false;
    out->n = 0;
    for (size_t i = 0; i < ends->n; i++) {
        struct rf_place p;
        enum rf_slot_kind kind = rf_slot_read(&ends->v[i], &p);
        bool moves = ends->v[i].moved || ends->v[i].switched;
        moved = moved || moves;
        entering = entering || (kind == RF_SLOT_ENTERING && !moves);
        if (moves || kind != RF_SLOT_PLACE)
            continue;
        unsigned k = 0;
        while (k < out->n && !same_place(&out->place[k], &p))
            k++;
        if (k == 2) {
            out->n = 0;
            out->kind = RF_SLOT_NONE;
            return;
        }
        if (k == out->n)
            out->place[out->n++] = p;
    }
    out->kind = out->n ? RF_SLOT_PLACE : moved ? RF_SLOT_MOVING : entering ? RF_SLOT_ENTERING : RF_SLOT_NONE;
}

/* --- all places ----------------------------------------------------------------------------------------------- */

void rf_owners_free(struct rf_owners *o)
{
    free(o->ops);
    free(o->entry);
    *o = (struct rf_owners){NULL, NULL};
}

/* Marks everything that direct jumps reach from addr; todo has room for every instruction. */
static void reach(const struct rf_machine *m, uint64_t addr, rf_ops bit, struct rf_owners *o, uint32_t *todo)
{
    size_t n = 0;
    const struct rf_minsn *i = rf_machine_at(m, addr);
    for (;;) {
        while (i) {
            size_t k = (size_t)(i - m->v);
            if (bit ? o->ops[k] & bit : o->entry[k])
                break;
            if (bit)
                o->ops[k] |= bit;
            else
                o->entry[k] = true;
            uint64_t next = m->base + i->at + i->len;
            if (i->op == M_RET || i->op == M_TRAP || (i->op == M_JMP && i->o[0].kind != M_IMM))
                break;
            if (i->op == M_JCC)
                todo[n++] = (uint32_t)k;
            i = rf_machine_at(m, i->op == M_JMP ? (uint64_t)i->o[0].disp : next);
        }
        if (n == 0)
            return;
        i = rf_machine_at(m, (uint64_t)m->v[todo[--n]].o[0].disp);
    }
}

/* A jump through a table that the compiler made for a switch: the table's entry was added to its own address. */
static bool is_switch(const struct rf_machine *m, size_t k)
{
    const struct rf_minsn *i = &m->v[k], *before = k ? i - 1 : NULL;
    return i->op == M_JMP && i->o[0].kind == M_REG && before && before->op == M_ADD && before->o[0].kind == M_REG &&
           before->o[0].reg == i->o[0].reg;
}

/* What no direct jump reaches is a case of some switch: it may belong to any opcode that has one. */
static void share_cases(const struct rf_machine *m, struct rf_owners *o)
{
    rf_ops ops = 0;
    for (size_t k = 0; k < m->n; k++)
        if (is_switch(m, k))
            ops |= o->ops[k];
    for (size_t k = 0; k < m->n; k++)
        if (!o->ops[k] && !o->entry[k])
            o->ops[k] = ops;
}

bool rf_owners_find(struct rf_owners *out, const struct rf_machine *m, const uint64_t *handlers, size_t n)
{
    uint32_t *todo = malloc((m->n + 1) * sizeof *todo);
    out->ops = calloc(m->n + 1, sizeof *out->ops);
    out->entry = calloc(m->n + 1, sizeof *out->entry);
    bool ok = todo && out->ops && out->entry;
    if (ok)
        reach(m, m->base, 0, out, todo);
    for (size_t i = 0; ok && i < n && i < OP_COUNT; i++)
        reach(m, handlers[i], RF_OP(i), out, todo);
    if (ok)
        share_cases(m, out);
    free(todo);
    if (!ok)
        rf_owners_free(out);
    return ok;
}

bool rf_slotmap_derive(struct rf_slotmap *out, const struct rf_machine *m, struct rf_follower *f,
                       const struct rf_owners *owners)
{
    struct rf_ends ends;
    size_t calls = 0;
    for (size_t i = 0; i < m->n; i++)
        calls += m->v[i].op == M_CALL;
    out->n = 0;
    out->v = calloc(calls + 1, sizeof *out->v);
    if (!out->v)
        return false;
    for (size_t i = 0; i < m->n && out->n < RF_SLOTS_MAX; i++) {
        if (m->v[i].op != M_CALL)
            continue;
        struct rf_slot *s = &out->v[out->n++];
        s->at = m->v[i].at + m->v[i].len;
        s->ops = owners->ops[i];
        if (owners->entry[i] && !s->ops) {
            s->kind = RF_SLOT_ENTRY;
            continue;
        }
        rf_follow(f, &(struct rf_entry){.pc = m->base + s->at}, SITE_BUDGET, &ends);
        rf_slot_conclude(s, &ends);
    }
    return true;
}
