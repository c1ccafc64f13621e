/* recording.h: a recording, from the options to the files: outputs, session, ticks, and the end.
 *
 * Between two ticks the target is nobody's tracee, so the loop may be paused with Ctrl-Z, starved or blocked at any
 * point of its waiting without holding it. The profile is rendered before the session is closed and written after it:
 * a pager that does not read holds nobody but us.
 *
 * The commands that record differ in what else they wait for, and in what happens at the beginning; for that there are
 * watches and hooks. */
#ifndef RECORDING_H
#define RECORDING_H

#include "group.h"
#include "output.h"

#include <signal.h>

enum watch_result {
    WATCH_GOES_ON,
    WATCH_ENDS, /* the recording */
    WATCH_RESTS /* nothing could be read: look again, but not at once */
};

/* A descriptor of the caller to wait for besides the session's. */
struct recording_watch {
    int fd;
    enum watch_result (*ready)(void *ctx); /* it can be read */
    void *ctx;
    uint64_t rests_until_ns; /* recording.c's */
};

enum { WATCHES_MAX = 4 };

struct recording {
    /* Filled by the caller; all may be left zero but the first. What `options` points to is changed: the pid becomes
     * that of the process where it was a thread's. */
    struct options *options;
    uint64_t started_ns; /* when the program began, on CLOCK_MONOTONIC */
    struct recording_watch watch[WATCHES_MAX];
    size_t n_watches;
    bool starting;   /* the process need not run rayforce yet: see struct rf_session_options */
    bool to_stderr;  /* what would go to stdout, which is another's */
    bool background; /* stdout is looked at when the recording has ended, and `rfprof stop` is how to end it */
    void *ctx;       /* of the hooks, each of which may be NULL */
    /* The session is open: from here on nothing of the target is missed. An error ends it before the first tick. */
    enum rf_status (*opened)(void *ctx, struct rf_error *err);
    void (*begun)(void *ctx); /* the first tick was taken, whether it found something running or not */
    void (*ended)(void *ctx); /* the last tick was taken; nothing has been said or written about it yet */
    /* stdout, which is the only output, could not be written. Where the caller keeps what it was to get, he says so in
     * a hint. */
    void (*unwritten)(void *ctx, const char *bytes, size_t n, struct rf_error *err);

    /* The rest is recording.c's. */
    struct group group;
    struct output output[OUTPUTS_MAX];
    size_t n_outputs;
    /* The signals that mean: finish and write. With `starting` SIGQUIT is one of them, and `opened` may unblock and
     * handle them all. */
    sigset_t ending;
    int signals; /* signalfd(2) for them and SIGUSR1 */
    /* The files are complete, or never will be: signals may end the program. For a handler to read. */
    volatile sig_atomic_t written;
    uint64_t begin_ns, end_ns, first_tick_ns;
    bool progress; /* stderr is a terminal */
    /* Of a process that was starting: it ended, and its runtime was not up yet. To be reported by the caller, who knows
     * how it ended; status RF_OK where that is not so. */
    struct rf_error unstarted;
    enum rf_target_state state; /* at the end; of the first process, where there are several */
};

/* Records as the options say, and tells the user about it on stderr. Returns the exit code; every error was reported.
 */
int recording_run(struct recording *r);

#endif
