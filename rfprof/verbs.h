/* verbs.h: the commands of rfprof. One table describes them; --help and the completions of shells are made from it. To
 * add a command: its file, its function here, its entry in verbs.c, its place in the manual. */
#ifndef VERBS_H
#define VERBS_H

#include "options.h"

struct verb {
    const char *name;
    const char *synopsis; /* what stands behind "rfprof " in the usage line */
    const char *about;    /* one line */
    unsigned bit;         /* FOR_...: which options are its own */
    /* Returns the exit code. started_ns: when the program began, on CLOCK_MONOTONIC. */
    int (*run)(const struct options *o, uint64_t started_ns);
    const char *details; /* --help of this command alone: more lines; may be NULL */
};

/* Ends with an entry whose name is NULL; the first is what is done without a command. */
const struct verb *verbs_table(void);
/* NULL: there is no such command. */
const struct verb *verb_named(const char *name);
/* The command that a mistyped name may be meant for; NULL: none comes near. */
const struct verb *verb_like(const char *name);

int verb_record(const struct options *o, uint64_t started_ns);
int verb_start(const struct options *o, uint64_t started_ns);
int verb_stop(const struct options *o, uint64_t started_ns);
int verb_check(const struct options *o, uint64_t started_ns);
int verb_top(const struct options *o, uint64_t started_ns);
int verb_report(const struct options *o, uint64_t started_ns);
int verb_dump(const struct options *o, uint64_t started_ns);
int verb_completion(const struct options *o, uint64_t started_ns);
int verb_layout(const struct options *o, uint64_t started_ns);

#endif
