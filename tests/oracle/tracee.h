/* tracee.h: what the oracles share: a rayforce that is held, stepped, run to a place, and looked at as rfprof would. */
#ifndef TRACEE_H
#define TRACEE_H

#include "image/image.h"
#include "layout/layout.h"
#include "target/copy.h"
#include "unwind/unwind.h"
#include "variables/variables.h"

#include <sys/user.h>

/* The main thread of a rayforce. */
struct tracee {
    pid_t pid;
    struct rf_process *process;
    struct rf_images *images;
    struct rf_runtime rt;
    struct rf_unwinder *unwinder;
    struct rf_variables *variables; /* NULL: not to be used */
    struct rf_snapshot *s;
};

/* Reads the snapshot, and the process where the snapshot has nothing. */
struct tracee_view {
    struct rf_memory memory;
    const struct tracee *t;
};

/* Says what failed, with errno, and ends the program. */
_Noreturn void die(const char *what);

/* Finds out which release it is, and attaches; ends the program when it cannot. */
void tracee_open(struct tracee *t, pid_t pid);
void tracee_detach(struct tracee *t); /* which is stopped */

long tracee_ms(void); /* now, of a clock that only goes on */
void tracee_stop(struct tracee *t);
/* Waits for a stop after `request`; signals that are not ours are passed on. 0: stopped by request, else SIGTRAP.
 * Interrupts the thread when nothing came for `ms`. */
int tracee_wait(pid_t pid, int request, long ms);
bool tracee_step(pid_t pid);
/* Runs on until the thread is at pc with this stack pointer, by a breakpoint there. */
bool tracee_run_to(pid_t pid, uint64_t pc, uint64_t sp);
void tracee_registers(pid_t pid, struct user_regs_struct *r);

/* Copies what rfprof would copy of the stopped thread into t->s, and unwinds it. */
void tracee_snapshot(struct tracee *t, const struct rf_selector *selector, struct rf_native_stack *native);
struct tracee_view tracee_view(const struct tracee *t);

#endif
