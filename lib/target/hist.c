/* hist.c: durations added up in fixed space, so that recording one can sit right beside what it times. */
#include "engine.h"

enum { SUB = 16 };

static unsigned slot_of(uint64_t v)
{
    if (v < SUB)
        return (unsigned)v;
    unsigned e = 63u - (unsigned)__builtin_clzll(v);
    return (e - 3u) * SUB + (unsigned)((v >> (e - 4u)) & (SUB - 1));
}

/* The lower edge of a slot: the inverse of slot_of. */
static uint64_t edge_of(unsigned s)
{
    if (s < SUB)
        return s;
    return (uint64_t)(SUB + s % SUB) << (s / SUB - 1u);
}

void rf_hist_add(struct rf_hist *h, uint64_t ns)
{
    h->n++;
    h->sum += ns;
    if (ns > h->max)
        h->max = ns;
    h->slot[slot_of(ns)]++;
}

uint64_t rf_hist_percentile(const struct rf_hist *h, double q)
{
    uint64_t want = (uint64_t)(q * (double)h->n), seen = 0;
    for (unsigned i = 0; i < sizeof h->slot / sizeof h->slot[0]; i++) {
        seen += h->slot[i];
        if (seen > want)
            return edge_of(i) < h->max ? edge_of(i) : h->max;
    }
    return h->max;
}
