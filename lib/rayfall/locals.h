/* locals.h: the arguments and locals of a function in progress.
 *
 * The bytecode interpreter keeps them on its operand stack, first the arguments, then what `let` binds (src/lang/eval.c
 * of the engine: vm_exec). Their names are in the lambda's parameters and in its body. */
#ifndef RF_LOCALS_H
#define RF_LOCALS_H

#include "lambda.h"
#include "show.h"
#include "target/snapshot.h"

/* Where they are; see stack.h, which hands these out. */
struct rf_locals {
    const struct rf_lambda *fn; /* NULL: the frame is none of a function's, or the function was named before */
    uint64_t at;                /* address of the first; 0: they are not in an execution block, or not yet */
};

struct rf_local {
    struct rf_text name; /* malloc'ed; empty: not known */
    bool argument;
    enum rf_local_state { RF_LOCAL_SET, RF_LOCAL_UNSET, RF_LOCAL_CHANGED } state; /* changed while it was read */
    struct rf_shown value;                                                        /* of one that is set */
};

struct rf_locals_view {
    const struct rf_snapshot *s;
    const struct rf_memory *m;    /* snapshot first, then live memory */
    const struct rf_memory *live; /* what is not in the snapshot must not have changed there meanwhile */
    const struct rf_runtime *rt;
    const struct rf_names *names;
};

/* Reads at most max of them; how many there are, more than max perhaps, is returned. `at` must have a function and an
 * address. */
size_t rf_locals_read(const struct rf_locals_view *v, const struct rf_locals *at, struct rf_local *out, size_t max);

#endif
