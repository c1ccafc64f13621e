/* rederive.h: the lines of a function that was compiled without a debug vector.
 *
 * Up to release 2.3.1 a function that is made while another runs (in a timer, a hook, under map) has neither nfo nor
 * debug vector, but it shares its body's nodes with the function around it. The compiler walks that body in a fixed
 * order (compile.c of cores 2.1 to 2.5.12), so walking it again beside the bytecode gives each call its node; every
 * step must agree with the bytecode, else nothing is derived. */
#ifndef RF_REDERIVE_H
#define RF_REDERIVE_H

#include "lambda.h"

/* Fills l->debug from the body list at `body`, whose nodes stand in `source`. l->code and l->consts must be there.
 * False when body and bytecode disagree (l->debug is then empty) or out of memory. */
bool rf_rederive(struct rf_lambda *l, const struct rf_memory *m, const struct rf_runtime *rt, uint64_t body,
                 const struct rf_source *source);

/* What the function's source calls its slots, as far as body and bytecode agree: symbol ids of those that are read or
 * set under a name, into symbol[0 .. n); others are left as they are. */
void rf_name_slots(const struct rf_lambda *l, const struct rf_memory *m, const struct rf_runtime *rt, int64_t *symbol,
                   size_t n);

#endif
