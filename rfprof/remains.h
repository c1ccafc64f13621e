/* remains.h: what a recorder that ended before anybody stopped it has left for a later `rfprof stop`.
 *
 * In the folder of its socket (control.h): a file with its exit code and what it had to say, and beside it what would
 * have gone to stdout, if anything. Kept until the next stop or start for that target; of one that has gone, for a
 * day. */
#ifndef REMAINS_H
#define REMAINS_H

#include "control.h"

#define REMAINS_ENDED "ended" /* a kind: by itself, with its target, or by a signal; for whoever asks first */

/* The kind of one that another start took over: for its owner only. */
void remains_taken_kind(const char *owner, char *to, size_t size);
/* From here on stdout and stderr are these files. False when they cannot be had. */
bool remains_begin(const struct control_place *p, const char *kind);
/* All is said: only now can it be found. */
void remains_end(const struct control_place *p, const char *kind, int code);
/* Puts there what somebody who asked could not be given, for the next who asks, and says so in a hint. */
void remains_keep(const struct control_place *p, const char *kind, const char *bytes, size_t n, struct rf_error *err);
/* Says it all again, on our stdout and stderr, and removes it. Returns the exit code; -1 when there is nothing. */
int remains_tell(const struct control_place *p, const char *kind);
void remains_remove(const struct control_place *p, const char *kind);
/* Removes what nobody asked for within a day of a process that has gone. */
void remains_sweep(const struct control_place *p);
/* For a process that has gone: finds which one of that pid left something, and completes p->name. */
bool remains_find(struct control_place *p, const char *kind);

#endif
