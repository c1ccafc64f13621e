/* watch.h: which threads are looked at in a tick.
 *
 * A look costs the caller's CPU time even where the thread sleeps, and a target may have hundreds that do. So those
 * that ran lately are looked at each time, and of the others a part in turn. That part is small, but what it finds is
 * still a fair draw: a thread that is looked at less often has fewer samples, each of the CPU time since its last. All
 * are looked at when the process's clock has moved by more than the threads' own clocks, as last read, explain: one of
 * the others has run, or one that is not in the list. Only for lib/target. */
#ifndef RF_WATCH_H
#define RF_WATCH_H

#include "threads.h"

struct rf_watch {
    const struct rf_process *process;
    struct rf_threads threads;
    uint64_t tick;
    size_t turn;       /* where the next part begins */
    int64_t others_ns; /* CPU time of the process that is none of the listed threads' */
    uint64_t cpu_ns;   /* of the process, when that was last read */
    uint64_t changes;  /* of the list, up to when that was read */
    bool strangers;    /* somebody runs who is not in the list */
};

/* Reads w->cpu_ns. */
void rf_watch_clock(struct rf_watch *w);
/* Whether nobody has run since the last tick, as far as this can be told without a look. Cheaper than a tick. */
bool rf_watch_quiet(struct rf_watch *w);
/* Calls look for each thread that is due and does not sleep for sure, and returns for how many it did not. look reads
 * the thread's state and says in t->look whether it slept, and its CPU. */
size_t rf_watch_tick(struct rf_watch *w, void (*look)(void *ctx, struct rf_thread *t), void *ctx);

#endif
