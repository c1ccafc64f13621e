/* ip.h: which instruction an interpreter frame is at.
 *
 * The instruction pointer is a C local of the interpreter: it is in a register or on the frame, where exactly differs
 * by call site, compiler and release. Two sets are intersected (releases §2.4): positions that agree with the block in
 * memory (operand depth, the function object being called, what can be below the frame), and numbers that are
 * seen in the frame's callee-saved registers and its lowest words. What the interpreter's machine code says (slots/)
 * goes before that, as far as the bytecode does not contradict it. */
#ifndef RF_IP_H
#define RF_IP_H

#include "lambda.h"
#include "slots/slots.h"

enum { IP_WINDOW = 0x70, IP_WORDS = IP_WINDOW / 8, IP_SAVED = 6, IP_ALL = 16, IP_CANDIDATES = 64 };

struct rf_ip_view {
    const struct rf_lambda *fn;
    const struct rf_names *names; /* what a name stands for now; NULL: not known */
    int32_t depth;                /* of the operand stack: sp - fp - n_locals */
    uint64_t called;              /* ps[sp]: during a call the function object; 0 when not copied */
    uint64_t saved[IP_SAVED];
    size_t n_saved; /* rbx rbp r12 to r15, as far as they were recovered */
    uint64_t other[IP_ALL];
    size_t n_other; /* the other registers: only in a leaf frame */
    uint64_t word[IP_WORDS];
    size_t n_words;    /* [rsp, rsp + IP_WINDOW) */
    const char *below; /* name of the function directly below; NULL in a leaf frame */
    uint32_t back; /* a function that called itself: where the caller goes on; 0: it did not, or that is not known */
    struct rf_whereabouts where; /* by the machine code; zero: not known */
};

/* Instructions that the frame may be at, none twice; at most IP_CANDIDATES. */
size_t rf_ip_candidates(const struct rf_ip_view *v, const struct rf_instruction *out[IP_CANDIDATES]);

#endif
