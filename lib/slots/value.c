/* value.c: sums stay sums while they are short; numbers follow the machine exactly. */
#include "value.h"

static void add_term(struct rf_value *v, struct rf_term t, int k)
{
    for (unsigned i = 0; i < v->n; i++) {
        if (v->t[i].sym != t.sym)
            continue;
        int coef = v->t[i].coef + t.coef * k;
        v->t[i].narrow = v->t[i].narrow || t.narrow;
        if (coef == 0)
            v->t[i] = v->t[--v->n];
        else if (coef >= -64 && coef <= 64)
            v->t[i].coef = (int8_t)coef;
        else
            v->summed = false;
        return;
    }
    int coef = t.coef * k;
    if (v->n == RF_TERMS || coef < -64 || coef > 64) {
        v->summed = false;
        return;
    }
    v->t[v->n++] = (struct rf_term){t.sym, (int8_t)coef, t.narrow};
}

struct rf_value rf_value_add(const struct rf_value *a, const struct rf_value *b, int k)
{
    struct rf_value r = *a;
    r.summed = a->summed && b->summed;
    r.known = a->known && b->known;
    r.number = a->number + (uint64_t)(int64_t)k * b->number;
    r.add = (int64_t)((uint64_t)a->add + (uint64_t)(int64_t)k * (uint64_t)b->add);
    for (unsigned i = 0; r.summed && i < b->n; i++)
        add_term(&r, b->t[i], k);
    return r;
}

static uint64_t mask_of(unsigned size)
{
    return size >= 8 ? UINT64_MAX : ((uint64_t)1 << 8 * size) - 1;
}

/* Does the sum survive being cut? 32 bits are what the interpreter counts in; less only what was loaded as such. */
static bool survives(const struct rf_value *v, unsigned size)
{
    if (!v->summed || size >= 4)
        return v->summed;
    return v->n == 1 && v->add == 0 && v->t[0].coef == 1 && rf_sym_loaded(v->t[0].sym) &&
           rf_sym_load_size(v->t[0].sym) <= size;
}

struct rf_value rf_value_cut(const struct rf_value *v, unsigned size)
{
    struct rf_value r = *v;
    if (size >= 8)
        return r;
    r.number &= mask_of(size);
    if (r.summed && r.n == 0)
        r.add = (int64_t)((uint64_t)r.add & mask_of(size));
    else
        r.summed = survives(v, size);
    for (unsigned i = 0; size == 4 && i < r.n; i++)
        r.t[i].narrow = true;
    return r;
}

struct rf_value rf_value_extend(const struct rf_value *v, unsigned size)
{
    struct rf_value r = rf_value_cut(v, size);
    if (size >= 8)
        return r;
    uint64_t sign = (uint64_t)1 << (8 * size - 1);
    r.number = (r.number ^ sign) - sign;
    if (r.summed && r.n == 0)
        r.add = (int64_t)r.number;
    else if (size < 4)
        r.summed = false;
    return r;
}

/* Of what was loaded only the size is asked for. */
static bool same_symbol(uint16_t a, uint16_t b)
{
    return rf_sym_loaded(a) && rf_sym_loaded(b) ? rf_sym_load_size(a) == rf_sym_load_size(b) : a == b;
}

static bool same_term(struct rf_term a, struct rf_term b)
{
    return same_symbol(a.sym, b.sym) && a.coef == b.coef && a.narrow == b.narrow;
}

/* Each term of a has one of b to itself: several loads of a size are the same symbol. */
static bool same_terms(const struct rf_value *a, const struct rf_value *b)
{
    unsigned used = 0;
    for (unsigned i = 0; i < a->n; i++) {
        unsigned k = 0;
        while (k < b->n && ((used >> k & 1) || !same_term(a->t[i], b->t[k])))
            k++;
        if (k == b->n)
            return false;
        used |= 1u << k;
    }
    return a->n == b->n;
}

bool rf_value_same(const struct rf_value *a, const struct rf_value *b)
{
    if (a->known != b->known || a->summed != b->summed || (a->known && a->number != b->number))
        return false;
    if (!a->summed)
        return true;
    return a->add == b->add && same_terms(a, b);
}
