/* summary.h: the end summary, which closes the account of a session. */
#ifndef SUMMARY_H
#define SUMMARY_H

#include "rfprof.h"

/* Where each tick, sample and nanosecond went, in a few lines; with verbose also how well lines were found. */
void summary_print(FILE *to, const struct rf_account *a, bool verbose);
/* Share of the time that the target did not burn CPU, 0 to 100: what to say when there is little to see. */
double summary_slept_percent(const struct rf_account *a, uint64_t wall_ns);
/* Where that is most of it: did it sleep, or wait for a CPU? */
void summary_tell_idle(FILE *to, const struct rf_account *a);

#endif
