/* names.h: what user code calls a function: the global environment, read backwards. */
#ifndef RF_NAMES_H
#define RF_NAMES_H

#include "layout/layout.h"

struct rf_names;

/* rt must outlive it. NULL when out of memory. */
struct rf_names *rf_names_new(const struct rf_runtime *rt);
void rf_names_free(struct rf_names *n);
/* Reads the environment again if it was last read before now_ns - 0.1 s. */
void rf_names_refresh(struct rf_names *n, const struct rf_memory *live, uint64_t now_ns);
/* Reads it again, whatever the time, but once between two refreshes: for a function that may be younger than what was
 * read, at an address that was another's then. What is in dictionaries is read again only when the environment differs:
 * a function that was not found is looked for once more after the refresh. */
void rf_names_renew(struct rf_names *n, const struct rf_memory *live);
/* Changes whenever the environment did, or what is in dictionaries after a function was not found there. */
uint64_t rf_names_generation(const struct rf_names *n);
/* The name of the function object at addr: the first that user code gave it, else the first, else the path to it, as in
 * "lib.math.mean", through dictionaries that user code gave names. *out is malloc'ed. False when it has none. */
bool rf_names_find(const struct rf_names *n, const struct rf_memory *live, uint64_t addr, struct rf_text *out);
/* The values of all globals; valid until the next refresh or renewal. */
size_t rf_names_values(const struct rf_names *n, const uint64_t **values);
/* The value that the global with this symbol has now, 0 without one. */
uint64_t rf_names_value(const struct rf_names *n, int64_t symbol);

#endif
