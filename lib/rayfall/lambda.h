/* lambda.h: functions of the target, decoded once: bytecode, constants, spans, file and name.
 *
 * Lambdas come and go, and their addresses with them (four addresses were seen to hold six bodies in 150 samples), so
 * an entry is known by more than its address: all its slots, its first body node, the beginning of its bytecode and the
 * source that its nfo is now. */
#ifndef RF_LAMBDA_H
#define RF_LAMBDA_H

#include "code.h"
#include "names.h"
#include "object.h"
#include "source.h"

enum {
    LAMBDA_BYTES = RAY_HEADER + 8 * LAMBDA_SLOTS, /* what a snapshot holds of each lambda */
    LAMBDA_CODE_LOOK = RAY_HEADER + 64,           /* and of its bytecode */
};

/* A stretch of bytecode and the form that it came from. */
struct rf_debug {
    uint32_t offset;
    struct rf_span span;
};

struct rf_lambda {
    uint64_t addr, code_addr; /* code_addr: of the first bytecode byte */
    struct rf_code code;
    uint64_t *consts;
    int64_t *symbols; /* parallel to consts: the symbol id of a name that is called, else -1 */
    size_t n_consts;
    int32_t n_locals;
    struct rf_debug *debug; /* ascending by offset; empty without a debug vector */
    size_t n_debug;
    uint64_t nfo;        /* address of its source object, 0 without one */
    uint64_t body;       /* list of its forms */
    struct rf_text file; /* "" without a source */
    struct rf_text name; /* from the environment, else "<fn:LINE>", else "<fn>" */
    bool named;          /* by the environment */
    uint32_t first_line; /* 1-based line of the first body form; 0 when not known */
};

struct rf_lambdas;

/* All must outlive it. live is the process itself: what is read through a snapshot is compared with it once more. NULL
 * when out of memory. */
struct rf_lambdas *rf_lambdas_new(const struct rf_runtime *rt, const struct rf_memory *live, struct rf_names *names,
                                  struct rf_sources *sources);
void rf_lambdas_free(struct rf_lambdas *c);

/* What is held of the snapshot at hand, alone: a lambda that it has whole need not be there any more. NULL: nothing. */
void rf_lambdas_hold(struct rf_lambdas *c, const struct rf_memory *held);

/* The compiled lambda at addr, read through m (snapshot first, then live memory). NULL when there is none, or
 * it changed while it was read. Valid until the first call of another epoch. */
enum { RF_LAMBDAS_KEPT = 2048 };
const struct rf_lambda *rf_lambdas_get(struct rf_lambdas *c, const struct rf_memory *m, uint64_t addr, uint64_t epoch);
/* The same for a lambda that has no bytecode (yet): the evaluator walks its body. Its code is empty. */
const struct rf_lambda *rf_lambdas_uncompiled(struct rf_lambdas *c, const struct rf_memory *m, uint64_t addr,
                                              uint64_t epoch);
/* True when a lambda at addr with these slots is known: an engine then need not copy what it points to. Reads nothing.
 */
bool rf_lambdas_known(const struct rf_lambdas *c, uint64_t addr, const uint64_t slot[LAMBDA_SLOTS]);

/* The 0-based span of the form that the instruction around ip - 1 belongs to; false without one. */
bool rf_lambda_span(const struct rf_lambda *l, uint32_t ip, struct rf_span *out);

#endif
