/* launch.h: a program that rfprof starts itself, to sample it from its first instruction.
 *
 * A child is made that waits. The recording is opened on it with `starting`, so that the child's process is watched
 * while it is still ours; then the child is let go and executes the program. So no instruction of the program runs
 * unwatched, and nobody has to be stopped at the exec.
 *
 * The program has our standard descriptors, environment, signal actions and process group, as it would have without us;
 * under sudo(8) it runs as the user who called that, with HOME, USER and LOGNAME to match. */
#ifndef LAUNCH_H
#define LAUNCH_H

#include "rfprof.h"

#include <signal.h>

struct launch {
    pid_t pid;
    char *const *command;
    int go;        /* a byte written here lets the child execute the program */
    int failed;    /* the child's errno, where it could not; ends without one when it did */
    int pidfd;     /* of the child; -1 without one */
    bool released; /* it executes the program */
    int code;      /* what a shell would return for that: 127 not found, 126 not to be executed; else 0 */
};

/* Makes the child. command: the program, found along PATH, and its arguments; ends with NULL, and must outlive l. */
enum rf_status launch_prepare(struct launch *l, char *const *command, struct rf_error *err);
/* Lets the child execute the program. RF_TARGET, and l->code set, when it could not. */
enum rf_status launch_go(struct launch *l, struct rf_error *err);
/* From here on these signals, which are blocked, are for the program to decide about, whatever we are doing: those that
 * were sent to us alone are passed on, those of the terminal, or of its end, have reached it too. Once it has ended
 * they do nothing until *written, which must outlive us, is not 0: the profile is about to be written anyway. Then they
 * do to us what they do by default. For one program at a time. */
void launch_pass_on(const struct launch *l, const sigset_t *signals, const volatile sig_atomic_t *written);
/* Waits for the end of the program. Returns its exit status, or 128 and the number of the signal that ended it. Where
 * the program was not started, the child is ended, and l->code is what comes back. */
int launch_wait(struct launch *l);

#endif
