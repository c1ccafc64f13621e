/* engine.h: what takes snapshots of a live process.
 *
 * An engine is three functions. engine_ptrace.c is the first: SEIZE, INTERRUPT, copy, DETACH for each running
 * thread and tick, so that between ticks the target is nobody's tracee. */
#ifndef RF_ENGINE_H
#define RF_ENGINE_H

#include "process.h"
#include "snapshot.h"

struct rf_hist { /* log-linear, 16 buckets for each power of two: percentiles are right to 6 % */
    uint64_t n, sum, max;
    uint32_t slot[64 * 16];
};
void rf_hist_add(struct rf_hist *h, uint64_t ns);
uint64_t rf_hist_percentile(const struct rf_hist *h, double q); /* q in 0..1; 0 when empty */

struct rf_engine_stats {
    uint64_t ticks, samples, slept, eintr;
    uint64_t opened_cpu_ns; /* of the process, when the engine was opened */
    uint64_t cpu_ns;        /* and behind the last tick that it lived through */
    uint64_t sampled_ns;    /* CPU time of all samples */
    uint64_t waited;        /* looks that found a thread runnable, but waiting for a CPU: not counted as samples */
    uint64_t lost_exited, lost_timeout, lost_traced, lost_other;
    struct rf_hist
        hold; /* from INTERRUPT to DETACH by our clock, less what it waited for a CPU until it stopped: rf_hold_ns */
};

struct rf_engine;

/* The selector is copied; its ctx must outlive the engine. All buffers are allocated here. */
enum rf_status rf_engine_open(struct rf_engine **out, const struct rf_process *p, const struct rf_selector *selector,
                              struct rf_error *err);
/* Takes one snapshot of every thread that is running. *out points to *n snapshots, main thread first, valid
 * until the next tick. RF_PERMISSION when attaching is not allowed; threads that merely could not be
 * taken are counted in the stats, not errors. */
enum rf_status rf_engine_tick(struct rf_engine *e, struct rf_snapshot *const **out, size_t *n, struct rf_error *err);
/* So far apart are the ticks that follow: by that the engine knows which one is late, and spreads the time that it
 * would stand for over the samples that follow (late.h). Until then none is. */
void rf_engine_expect(struct rf_engine *e, uint64_t period_ns);
/* Wall clock: from now on sleeping threads are sampled too. Each is stopped once and then let be for as long as it
 * sleeps: after a tick rf_engine_asleep lists those that still are where their last snapshot found them. */
void rf_engine_idle(struct rf_engine *e);
struct rf_mark {
    uint32_t node[2]; /* what the caller made of the snapshot, in each of its profiles */
    uint8_t how[2];
    bool pool;
};
struct rf_asleep {
    pid_t tid;
    uint64_t time_ns, weight_ns;
    struct rf_mark mark;
};
const struct rf_asleep *rf_engine_asleep(const struct rf_engine *e, size_t *n);
/* For the last snapshot of a thread; one without is stopped again, as are all after rf_engine_unmark. */
void rf_engine_mark(struct rf_engine *e, pid_t tid, struct rf_mark mark);
void rf_engine_unmark(struct rf_engine *e);

/* For a look at all threads instead of a recording: each is sampled once, in whatever state it is, its stack as a
 * whole; a thread that is stopped by a signal stays so. Tick until rf_engine_left is 0: one that does not stop in
 * time is asked some more times, best with a pause before. */
void rf_engine_once(struct rf_engine *e);
size_t rf_engine_left(const struct rf_engine *e);
struct rf_looked {
    pid_t tid;
    char state;   /* its letter in proc(5), before the stop; 'X': it has ended */
    bool sampled; /* else it did not stop in time, or another tracer has it */
};
/* Thread i, 0 being the main thread; false behind the last. */
bool rf_engine_looked(const struct rf_engine *e, size_t i, struct rf_looked *out);

/* What is in no sample yet. */
struct rf_engine_rest {
    uint64_t
        pending_ns;    /* CPU time that the threads have used since their last samples, and what was put off (late.h) */
    uint64_t wall_ns;  /* wall-clock time since then, of all */
    uint64_t delay_ns; /* for which they waited for a CPU since the engine was opened, of those that are left */
    bool changed;      /* threads have come or gone since the engine was opened */
};
struct rf_engine_rest rf_engine_rest(struct rf_engine *e);
/* Lets everything go; no thread stays stopped or traced. */
void rf_engine_close(struct rf_engine *e);

/* Tells where the outermost frame of a thread's stack lies (its CFA): later copies reach to there and no
 * further. 0: the copy did not reach it, copy more next time. */
void rf_engine_stack_root(struct rf_engine *e, pid_t tid, uint64_t cfa);
const struct rf_engine_stats *rf_engine_stats(const struct rf_engine *e);
/* Longest time for which any one thread was held, in all, since the last call. */
uint64_t rf_engine_held_ns(struct rf_engine *e);

#endif
