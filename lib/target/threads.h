/* threads.h: the target's threads, and the two cheap questions asked of each: is it running, what has it used?
 * Their files stay open, since opening costs more than reading. Only for lib/target. */
#ifndef RF_THREADS_H
#define RF_THREADS_H

#include "engine.h"
#include "late.h"

/* Where a thread sleeps, as its last sample found it. It still sleeps there if it has not been given a CPU since, but
 * for our stop. */
struct rf_sleep {
    enum rf_sleep_known {
        RF_SLEEP_UNKNOWN, /* or awake */
        RF_SLEEP_STOPPED, /* and then let go: it goes back to sleep, or runs */
        RF_SLEEP_SETTLED, /* was seen to have gone back */
    } known;
    uint64_t runs, sp, pc;
    long syscall;
    bool marked; /* by the engine's user, for that sample */
    struct rf_mark mark;
};

/* What the last look at it found (watch.h). */
struct rf_look {
    uint64_t tick; /* in which it was; they are numbered from 1 */
    uint64_t ran;  /* the last look that found that it had run since the one before; 0: none did */
    bool slept;    /* in that of `tick` */
    unsigned cpu;  /* where it ran then, or had run */
    uint64_t runs; /* read before its state was: as long as this stays, it sleeps on */
};

struct rf_thread {
    pid_t tid;
    int stat_fd, sched_fd; /* -1: opened for each look */
    bool seen_running;     /* so its state will be asked for again */
    struct rf_look look;
    uint64_t charged_ns;       /* CPU time that its samples have */
    struct rf_put_off put_off; /* of the time up to its last sample, by the clock in use */
    uint64_t used_ns;          /* CPU time when last read */
    uint64_t waited_ns;        /* time spent runnable but waiting for a CPU, likewise */
    uint64_t opened_waited_ns; /* that, when it was first seen */
    uint64_t runs;             /* how often it was given a CPU, likewise */
    uint64_t sampled_ns;       /* when its last sample was, or when it was first seen */
    struct rf_sleep sleep;
    uint64_t held_ns;    /* for rf_engine_held_ns */
    uint64_t stack_root; /* 0: not known */
    size_t stack_slice;  /* of a long stack so much is copied, at either end */
    char looked;         /* for rf_engine_once: its state when it was looked at; 0: not yet */
    bool taken;          /* and there is a sample of it */
    unsigned tries;
};

struct rf_threads {
    struct rf_thread *v; /* the main thread first, as the kernel lists them */
    size_t n, room;
    unsigned open;  /* descriptors kept open */
    int highest_fd; /* of them */
    int task_fd;
    uint64_t ended;   /* how many have been seen to have gone */
    uint64_t born;    /* or to have come, since the first listing */
    uint64_t late_ns; /* of the engine's ticks so far */
    bool listed;      /* once: whatever a thread that appears later has used, it used since */
};

bool rf_threads_open(struct rf_threads *ts, const struct rf_process *p);
void rf_threads_close(struct rf_threads *ts);
/* Lists them anew. *born: some were not known before. False when out of memory. */
bool rf_threads_refresh(struct rf_threads *ts, bool *born);
/* Their number now, without a listing; 0 when the process has ended. */
size_t rf_threads_count(const struct rf_threads *ts);

/* The state letter of proc(5), 'X' when it has gone; and the CPU that it is or was last on. */
char rf_thread_state(struct rf_threads *ts, struct rf_thread *t, unsigned *cpu);
/* CPU time and time of waiting for a CPU (schedstat), right for a thread that does not run just now. Updates
 * t->used_ns, t->waited_ns and t->runs. */
bool rf_thread_read_cpu(struct rf_threads *ts, struct rf_thread *t);
/* Whether it sleeps in a system call made from there. */
bool rf_thread_sleeps_at(const struct rf_threads *ts, const struct rf_thread *t, uint64_t sp, uint64_t pc);

#endif
