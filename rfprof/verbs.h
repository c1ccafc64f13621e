/* verbs.h: one function for each command of rfprof; each returns the exit code. */
#ifndef VERBS_H
#define VERBS_H

#include "options.h"

/* started_ns: when the program began, on CLOCK_MONOTONIC. */
int verb_record(const struct options *o, uint64_t started_ns);
int verb_check(const struct options *o, uint64_t started_ns);
int verb_layout(const struct options *o, uint64_t started_ns);

#endif
