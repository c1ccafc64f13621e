/* expression.h: what a DWARF location expression says about one frame of a snapshot.
 *
 * DWARF 5, section 2.5 and 2.6: a small stack machine. What a compiler writes for variables of C is done: registers,
 * the frame base, arithmetic, values that are in no memory, and values that a register had at entry, where the caller
 * can tell. Pieces, branches and anything that needs the thread to run are not: no answer then. Without branches every
 * expression ends. */
#ifndef RF_EXPRESSION_H
#define RF_EXPRESSION_H

#include "target/memory.h"
#include "unwind/unwind.h"

#include <elfutils/libdw.h>

/* As libdw has parsed it; n 0: none. Lives as long as the image. */
struct rf_expression {
    Dwarf_Attribute attribute; /* that it came from */
    const Dwarf_Op *op;
    size_t n;
};

/* What an expression is about. */
struct rf_expression_frame {
    const struct rf_native *frame;
    const struct rf_native *caller; /* NULL: not known; its stack pointer is the frame's CFA */
    const struct rf_memory *memory;
    const struct rf_expression *base; /* DW_AT_frame_base of the function */
    uint64_t bias;
    /* What a register held when the function was entered; NULL: nobody can tell. */
    bool (*entry)(void *ctx, unsigned reg, uint64_t *value);
    void *ctx;
};

struct rf_location {
    bool in_memory; /* at address `value`, else `value` is it */
    uint64_t value;
};

/* False where the expression cannot be evaluated: a register that is not known, memory that cannot be read, an
 * operation that is not done here. */
bool rf_expression_evaluate(const struct rf_expression *x, const struct rf_expression_frame *f,
                            struct rf_location *out);

#endif
