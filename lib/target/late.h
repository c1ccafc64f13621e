/* late.h: what becomes of the CPU time that a thread used while ticks were missed.
 *
 * A sample stands for the time since the one before. When we were not given a CPU for 60 ms, or were busy with
 * something new in the last sample, the next would stand for all of that, though it says no more about it than its
 * neighbours do: one row would be 1 % too high in 5 s. So what goes beyond an ordinary gap is put off, and given to the
 * samples that follow, some to each. The sum stays what the kernel charged. Pure arithmetic. */
#ifndef RF_LATE_H
#define RF_LATE_H

#include <stdint.h>

struct rf_late {       /* of all ticks */
    uint64_t gap_ns;   /* between two ticks, on average; falls in with a machine on which all of them are late */
    uint64_t last_ns;  /* when the last one was; 0: there was none */
    uint64_t total_ns; /* by which ticks came later than usual, in all */
};

/* Of one thread. Lateness counts from its last sample on: of one that slept meanwhile and ran later some time is put
 * off that need not be, which does no harm, while one that ran in the gap and was then seen asleep must not have it in
 * one sample. */
struct rf_put_off {
    uint64_t seen_ns; /* rf_late.total_ns at its last sample, or when it was first seen */
    uint64_t ns;      /* not given to a sample yet */
};

/* Before the first tick, and when the rate changes. */
void rf_late_expect(struct rf_late *l, uint64_t period_ns);
/* A tick begins. */
void rf_late_tick(struct rf_late *l, uint64_t now_ns);
/* The weight of a sample of a thread that used fresh_ns since its last one. */
uint64_t rf_late_weight(const struct rf_late *l, struct rf_put_off *p, uint64_t fresh_ns);

#endif
