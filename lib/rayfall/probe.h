/* probe.h: what to copy of the VM while a thread is held: execution blocks, and the lambdas that they run.
 *
 * A selector for the engine (target/snapshot.h). It only looks at what was copied already, and asks for more:
 * round 0 the heads of everything that may be an execution block, round 1 what their indexes point to and the
 * lambdas, round 2 bytecode. Lambdas may be freed as soon as the thread runs on, so they are copied as well. So are
 * arguments and locals, where they are asked for, as far as there is room: the youngest first. */
#ifndef RF_PROBE_H
#define RF_PROBE_H

#include "lambda.h"
#include "span.h"
#include "target/snapshot.h"

struct rf_probe {
    const struct rf_runtime *rt;
    const struct rf_lambdas *lambdas; /* known ones need less copying */
    const struct rf_spans *spans;     /* NULL: not wanted */
    bool locals;                      /* the beginnings of what is on the operand stacks, too */
};

/* The select function of struct rf_selector; ctx is a struct rf_probe. */
size_t rf_probe_select(void *ctx, const struct rf_snapshot *s, unsigned round, struct rf_range *out, size_t max);

#endif
