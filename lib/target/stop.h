/* stop.h: the one door to ptrace(2). rf_stop and rf_resume are the only functions that call it.
 *
 * A thread is SEIZEd for its stop and DETACHed at its end; between stops nobody traces it. What could not be stopped
 * in time, or not be let go of, stays in `pending` and is asked for again by rf_stop_serve until it is free.
 * Only for lib/target, and only in the holder: tracees belong to the thread that seized them. */
#ifndef RF_STOP_H
#define RF_STOP_H

#include "arch.h"

enum { RF_PENDING_MAX = 64 };

struct rf_pending {
    pid_t tid;
    bool stopped; /* we know of the stop, a DETACH is due */
    int sig;      /* what goes with it */
};

struct rf_stopper {
    pid_t pid;
    uint64_t wait_ns; /* for a stop; 0: 10 ms */
    int holds;        /* stops minus resumes, in debug builds: 0 between samples */
    unsigned n_pending;
    struct rf_pending pending[RF_PENDING_MAX];
};

struct rf_hold {
    pid_t tid;
    int sig;          /* the thread was about to take this signal: it goes on with the DETACH. 0: none */
    uint64_t from_ns; /* CLOCK_MONOTONIC: asked to stop, stopped */
    uint64_t at_ns;
};

enum rf_stop_result {
    RF_STOPPED,
    RF_STOP_EXITED, /* it has ended, or is ending */
    RF_STOP_LATE,   /* did not stop in time; pending */
    RF_STOP_DENIED, /* SEIZE is not permitted: another tracer, credentials, or it is ending */
    RF_STOP_BUSY,   /* still pending from before, or too many are */
};

/* spin_ns: poll so long before sleeping until the stop. */
enum rf_stop_result rf_stop(struct rf_stopper *s, pid_t tid, uint64_t spin_ns, struct rf_hold *hold);
/* The general registers of a held thread. */
bool rf_stop_registers(const struct rf_hold *hold, union rf_arch_regs *to);
void rf_resume(struct rf_stopper *s, const struct rf_hold *hold);
/* For how long a hold that was over at until_ns kept the thread from running. waited_ns: by how much its clock of
 * waiting for a CPU had moved when it had stopped, counted from some moment before it was asked to. For that long it
 * would not have run without us either, but only until it stopped: since then it was us. */
uint64_t rf_hold_ns(const struct rf_hold *hold, uint64_t until_ns, uint64_t waited_ns);
/* Lets go of pending threads that have stopped meanwhile. True when some are left. */
bool rf_stop_serve(struct rf_stopper *s);

#endif
