/* exec.h: the bytecode interpreter's execution blocks (ray_exec_t), and which of them a machine frame runs.
 *
 * No variable of the process points to a block while it runs, but its shape is strict: 32 bytes into an aligned buddy
 * block of known order, with plausible stack indexes and a compiled lambda. In 4,785 frames that had one no frame
 * ever had two (releases §2.2). */
#ifndef RF_EXEC_H
#define RF_EXEC_H

#include "lambda.h"
#include "target/snapshot.h"

struct rf_exec {
    uint64_t addr;
    int32_t sp, fp, rp;
    uint64_t fn; /* the lambda that runs */
};

/* What a call left behind on the return stack: the caller's lambda (0 for a call to itself), and where it goes on. */
struct rf_return {
    uint64_t fn;
    int32_t fp, ip;
};
_Static_assert(sizeof(struct rf_return) == 16, "as vm_ctx_t is laid out in the target, all releases");

enum { EXEC_INDEX_MAX = 1024 };

/* Can this word be the address of an exec block? A cheap test, of alignment and range only. */
static inline bool rf_exec_word(const struct rf_layout *l, uint64_t word)
{
    uint64_t mask = ((uint64_t)1 << l->exec_order) - 1;
    return (word & mask) == RAY_HEADER && word > mask && word < (uint64_t)1 << 47;
}

/* Reads the block at addr and tests everything but the lambda itself. */
bool rf_exec_read(const struct rf_memory *m, const struct rf_layout *l, uint64_t addr, struct rf_exec *out);
/* Reads n entries of the return stack from entry first on, 0 being the oldest; they must be in use (e->rp). */
bool rf_exec_returns(const struct rf_memory *m, const struct rf_layout *l, const struct rf_exec *e, int32_t first,
                     int32_t n, struct rf_return *out);

#endif
