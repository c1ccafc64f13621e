/* code.h: bytecode: its instructions, and how deep the operand stack is before each.
 *
 * Opcodes 0 to 24 never changed their numbers, later ones were appended (releases §1.6). Facts about 25 to 32 come
 * from the handlers of release 2.4.0 and were checked on live bytecode: every path ends at RET with depth 1. */
#ifndef RF_CODE_H
#define RF_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rf_op {
    OP_RET,
    OP_JMP,
    OP_JMPF,
    OP_LOADCONST,
    OP_LOADENV,
    OP_STOREENV,
    OP_POP,
    OP_RESOLVE,
    OP_CALL1,
    OP_CALL2,
    OP_CALLN,
    OP_CALLF,
    OP_CALLS,
    OP_CALLD,
    OP_DUP,
    OP_LOADCONST_W,
    OP_RESOLVE_W,
    OP_TRAP,
    OP_TRAP_END,
    OP_STOREGLOBAL,
    OP_STOREGLOBAL_W,
    OP_SCOPE_BEGIN,
    OP_SCOPE_END,
    OP_TRYH,
    OP_FORCE,
    OP_BINDCAPS,
    OP_LOADSELF,
    OP_MKCLOSURE,
    OP_LOADENVG,
    OP_SCOPE_BEGIN_E,
    OP_CALLG1,
    OP_CALLG2,
    OP_CALLGN,
    OP_COUNT,
};

/* Sets of opcodes, as bits. */
typedef uint64_t rf_ops;
#define RF_OP(op) ((rf_ops)1 << (op))
/* Those that call a function object which they found on the operand stack. */
#define RF_CALLS                                                                                                       \
    (RF_OP(OP_CALL1) | RF_OP(OP_CALL2) | RF_OP(OP_CALLN) | RF_OP(OP_CALLF) | RF_OP(OP_CALLG1) | RF_OP(OP_CALLG2) |     \
     RF_OP(OP_CALLGN))
/* Those that may run the bytecode of another function, or of the same from its beginning, on the same block. */
#define RF_RUNS (RF_OP(OP_CALLF) | RF_OP(OP_CALLS) | RF_OP(OP_CALLG1) | RF_OP(OP_CALLG2) | RF_OP(OP_CALLGN))

enum { RF_CODE_MAX = 1 << 16, RF_DEPTH_UNKNOWN = -1 };

struct rf_instruction {
    uint32_t start, end;
    enum rf_op op;
    uint32_t arg;
    int32_t depth; /* of the operand stack before it; RF_DEPTH_UNKNOWN where no path leads */
    int32_t pops;
    int32_t callee; /* of a call: index of the constant that is called or that names it, -1 when neither */
    bool by_name;   /* the constant is a name that was resolved */
};

struct rf_code {
    struct rf_instruction *v;
    size_t n;
    uint32_t len; /* bytes */
    bool sound;   /* decoded to its end, and every path ends at RET with depth 1 */
};

/* Decodes and analyses len bytes; opcodes is how many the release has. False when out of memory; code that makes no
 * sense is cut before the first bad instruction and is not sound. */
bool rf_code_decode(struct rf_code *out, const unsigned char *bytes, size_t len, int32_t opcodes);
void rf_code_free(struct rf_code *c);

/* The instruction that starts or ends at byte offset pos, NULL when none does. */
const struct rf_instruction *rf_code_starting(const struct rf_code *c, uint32_t pos);
const struct rf_instruction *rf_code_ending(const struct rf_code *c, uint32_t pos);
/* The instruction that the byte at this offset belongs to, NULL when there is none. */
const struct rf_instruction *rf_code_with(const struct rf_code *c, uint64_t pos);

/* Where a JMP, JMPF or TRAP leads to. */
uint32_t rf_code_target(const struct rf_instruction *i);

const char *rf_op_name(enum rf_op op);
unsigned rf_op_operands(enum rf_op op); /* bytes of operand */

#endif
