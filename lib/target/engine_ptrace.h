/* engine_ptrace.h: the engine that stops threads, between its two files: engine_ptrace.c says which threads a tick
 * samples, sample.c what is done to one. Only for these, and for tests. */
#ifndef RF_ENGINE_PTRACE_H
#define RF_ENGINE_PTRACE_H

#include "arch.h"
#include "engine.h"
#include "holder.h"
#include "stop.h"
#include "watch.h"

#include <sched.h>

enum {
    RF_SLOTS_MAX = 128, /* threads that run at once */
    RF_DENIED_MAX = 16,
};

struct rf_engine {
    const struct rf_process *process;
    struct rf_selector selector;
    struct rf_holder *holder;
    cpu_set_t cpus; /* that the holder may run on */
    size_t running; /* threads that were found so in this tick */
    bool crowded;   /* in the last one they were as many as these CPUs */
    struct rf_stopper stopper;
    struct rf_watch watch;
    struct rf_late late;
    struct rf_maps maps;
    uint64_t list_ns, maps_ns; /* when they were read */
    bool maps_old, list_old;
    bool idle; /* sleeping threads are sampled too */
    bool once; /* and each thread is sampled once */
    unsigned woken,
        woken_at; /* how many sleeping ones were stopped in this tick; the first for which there was no time */
    struct rf_asleep *asleep; /* this tick's */
    size_t n_asleep, asleep_room;
    struct rf_snapshot *slot[RF_SLOTS_MAX];
    size_t n_slots, n; /* there are; hold this tick's snapshots */
    bool no_memory;    /* for a single one */
    uint64_t tick_ns;  /* when this tick began */
    pid_t denied[RF_DENIED_MAX];
    size_t n_denied;
    unsigned denied_ticks; /* one after the other */
    struct rf_engine_stats stats;
    union rf_arch_regs regs;
};

/* In the holder: stops a thread whose clocks have just been read, and makes a snapshot of it in e->slot; where that
 * cannot be, or would be no fair one, counts why. cpu: the thread's. slept: it did when it was looked at. */
void rf_engine_sample(struct rf_engine *e, struct rf_thread *t, unsigned cpu, bool slept);

/* Whether a thread waited for a CPU already when the tick began (tick_ns). It was looked at since then, and stopped at
 * at_ns; waited_ns: what its clock of waiting has moved since the look, as read until now_ns. That may include some of
 * what it waited since it was let go at let_go_ns, and what our wake-up cost it. */
bool rf_waited_before(uint64_t waited_ns, uint64_t tick_ns, uint64_t at_ns, uint64_t let_go_ns, uint64_t now_ns);

#endif
