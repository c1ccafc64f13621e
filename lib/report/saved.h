/* saved.h: the parts of a file of format pprof that are ours: all of the profile, for `rfprof report`. */
#ifndef RF_SAVED_H
#define RF_SAVED_H

#include "../profile/profile.h"
#include "gzip.h"

/* Writes all of p. Where log is given, its events are at nodes[event.node], or, where nodes is NULL, at event.node. */
bool rf_save_parts(struct rf_gzip *to, const struct rf_profile *p, const struct rf_log *log, const uint32_t *nodes,
                   const struct rf_about *about, bool no_text);

#endif
