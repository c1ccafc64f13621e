/* holder.h: the process that holds threads of the target, so that nothing which happens to ours holds them longer.
 *
 * A tracer that is stopped (SIGSTOP cannot be blocked) between the stop of a thread and its DETACH leaves that
 * thread stopped. So the tracing is done by a second process: it shares our memory and descriptors (clone(2),
 * CLONE_VM | CLONE_FILES), is in a session of its own, with every signal blocked, and dies with its creator
 * (PR_SET_PDEATHSIG); at its death the kernel lets go of whatever it traced. Ctrl-Z, SIGSTOP and SIGKILL of our
 * process, at any instant, never reach a hold. A SIGSTOP for the holder itself is undone (SIGCONT) where a job takes
 * long. Between two jobs nobody looks: a holder that is stopped there, while a thread is late to stop (stop.h), leaves
 * that one traced, and stopped when it does, until the next job has taken long.
 *
 * On a busy machine a tracer that is put off its CPU in a hold makes that milliseconds long. So the holder has a
 * real-time priority (sched(7)) where it is permitted: what it does is short, and it sleeps in between.
 *
 * It also shares the creator's thread-local storage, errno included. So while it does a job the creator waits,
 * with signals blocked; and what it does between jobs makes no call into libc. */
#ifndef RF_HOLDER_H
#define RF_HOLDER_H

#include "rfprof.h"

struct rf_holder;

struct rf_holder_work {
    void (*job)(void *ctx); /* done at each call of rf_holder_run, in the holder */
    /* Done in the holder after a job and, for as long as it returns true, at each SIGCHLD and every few
     * milliseconds until the next; only rf_raw calls. */
    bool (*between)(void *ctx);
    void *ctx;
};

enum rf_status rf_holder_open(struct rf_holder **out, const struct rf_holder_work *work, struct rf_error *err);
/* Has the job done and waits for its end. RF_FAILURE when the holder was killed. */
enum rf_status rf_holder_run(struct rf_holder *h, struct rf_error *err);
/* Ends the holder: whatever it traced is let go of by the kernel. */
void rf_holder_close(struct rf_holder *h);

#endif
