/* interpreter.h: one native frame of the bytecode interpreter, turned into the functions that run on it. */
#ifndef RF_INTERPRETER_H
#define RF_INTERPRETER_H

#include "decode.h"
#include "exec.h"
#include "variables/variables.h"

/* A function in progress on an interpreter frame. */
struct rf_activation {
    const struct rf_lambda *fn; /* NULL: it is gone, or what was copied does not fit together */
    uint32_t line;              /* 1-based, 0: not known */
    bool placed;                /* the form itself is known, not only its line: it is at span */
    struct rf_span span;
    uint64_t called;   /* the function object that it runs; 0: none, or not known */
    uint64_t locals;   /* address of its first argument's or local's slot; 0: they are not there yet, or not known */
    uint64_t operands; /* address of the operands of what is called, as far as they are still there */
};

enum rf_ip_found { RF_IP_UNIQUE, RF_IP_SAME_LINE, RF_IP_OPEN, RF_IP_PROLOGUE, RF_IP_NONE };

struct rf_interpreter {
    const struct rf_runtime *rt;
    struct rf_lambdas *lambdas;
    const struct rf_names *names;
    const struct rf_memory *m; /* snapshot first, then live memory */
    const struct rf_snapshot *s;
    uint64_t epoch;
    uint64_t handlers;              /* lowest address of an opcode's handler: the entry code lies before it */
    struct rf_slots *slots;         /* NULL: without the machine code's help */
    struct rf_variables *variables; /* NULL: without that of debug information */
    uint64_t used[RF_BLOCKS_MAX];   /* execution blocks of older frames: not this one's */
    size_t n_used;
};

/* Lowest address of an opcode's handler, 0 when they are not in the interpreter. */
uint64_t rf_interpreter_handlers(const struct rf_runtime *rt, const struct rf_memory *live);

/* Does a caller go on behind a call of its own bytecode? What else is read is no return stack. */
bool rf_return_sound(const struct rf_lambda *fn, const struct rf_exec *e, const struct rf_return *r);

/* Calls emit for each function on frame k of the stack, oldest first. Older frames must have been visited before.
 * Returns how the innermost one's instruction was found; RF_IP_NONE: neither a block nor a lambda was found, nothing
 * emitted. */
enum rf_ip_found rf_interpreter_frame(struct rf_interpreter *in, const struct rf_native_stack *native, size_t k,
                                      void (*emit)(void *ctx, const struct rf_activation *a), void *ctx);

#endif
