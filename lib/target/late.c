/* late.c: sees by the gaps which ticks were late, puts off and gives back. */
#include "late.h"

enum {
    ORDINARY = 2, /* two instants of neighbouring periods are at most two periods apart (ticker.h) */
    SHARES = 64,  /* of what is put off a sample gets so large a part, or as much as an ordinary gap */
    MEMORY = 16,  /* gaps of which the average is, */
    OUTLIER = 4,  /* none of them counted as more than so many averages: one stop of 10 s is not how the machine is */
};

void rf_late_expect(struct rf_late *l, uint64_t period_ns)
{
    l->gap_ns = period_ns;
}

void rf_late_tick(struct rf_late *l, uint64_t now_ns)
{
    uint64_t gap = l->last_ns && now_ns > l->last_ns ? now_ns - l->last_ns : 0;
    if (l->gap_ns && gap > ORDINARY * l->gap_ns)
        l->total_ns += gap - ORDINARY * l->gap_ns;
    if (gap > OUTLIER * l->gap_ns)
        gap = OUTLIER * l->gap_ns;
    if (gap)
        l->gap_ns = l->gap_ns - l->gap_ns / MEMORY + gap / MEMORY;
    l->last_ns = now_ns;
}

uint64_t rf_late_weight(const struct rf_late *l, struct rf_put_off *p, uint64_t fresh_ns)
{
    uint64_t late = l->total_ns - p->seen_ns, beyond = fresh_ns > l->gap_ns ? fresh_ns - l->gap_ns : 0;
    uint64_t off = late < beyond ? late : beyond;
    uint64_t back = p->ns / SHARES > l->gap_ns ? p->ns / SHARES : l->gap_ns;
    if (back > p->ns)
        back = p->ns;
    p->seen_ns = l->total_ns;
    p->ns += off - back;
    return fresh_ns - off + back;
}
