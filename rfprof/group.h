/* group.h: the processes that a recording samples, one session for each, side by side: most recordings have one. */
#ifndef GROUP_H
#define GROUP_H

#include "options.h"

#include <poll.h>

struct member {
    pid_t pid;
    char name[48]; /* "rayforce-4242" */
    struct rf_session *session;
    enum rf_target_state state; /* not RF_RUNNING: it is over, and what it had is kept */
    bool waiting;               /* for a runtime that was expected to be there */
    bool told;                  /* the user, that it is over */
    double rate;                /* as last told to the user */
};

struct group {
    struct member member[PIDS_MAX];
    size_t n;
    struct rf_joined *joined; /* the profile of several, as it was last made */
};

/* Opens a session for each process that the options name. A thread is taken for its process. */
enum rf_status group_open(struct group *g, const struct options *o, struct rf_session_options *how,
                          struct rf_error *err);
void group_close(struct group *g);

/* Looks which have ended. */
void group_look(struct group *g);
/* The same where `fds`, which group_fds filled, have been polled. True while one goes on. */
bool group_runs(struct group *g, const struct pollfd *fds);
/* When the next tick of any of them is due. */
uint64_t group_next_ns(const struct group *g);
/* Takes all ticks that are due at `now`. */
enum rf_status group_tick(struct group *g, uint64_t now, struct rf_error *err);
/* What becomes readable when one ends; returns how many, at most PIDS_MAX. */
size_t group_fds(const struct group *g, struct pollfd *fds);

/* The profile as it is now: with several, their processes are kept apart. It lives until the next call or the end of
 * the group. */
enum rf_status group_profile(struct group *g, bool full_paths, const struct rf_profile **out, struct rf_error *err);
/* Of one its account; of several what can be added up of theirs. */
void group_account(const struct group *g, struct rf_account *out);
/* The summary of each, with its name before it where there are several: malloc'ed, NULL when out of memory. */
char *group_summary(const struct group *g, bool verbose);
/* RF_OK when every runtime is up that was waited for; else what is missing. */
enum rf_status group_started(const struct group *g, struct rf_error *err);

#endif
