/* machine.h: the machine code of one function, decoded once, as far as it matters to follow values through it.
 *
 * What an instruction does to general registers, to flags and to memory is kept; anything else it may do is
 * M_OTHER with the registers that it writes. Built without capstone (CAPSTONE=0), nothing can be decoded. */
#ifndef RF_MACHINE_H
#define RF_MACHINE_H

#include "target/snapshot.h"

enum rf_mop {
    M_OTHER,
    M_NOP,
    M_MOV,
    M_MOVZX,
    M_MOVSX,
    M_LEA,
    M_ADD,
    M_SUB,
    M_AND,
    M_OR,
    M_XOR,
    M_SHL,
    M_SHR,
    M_CMP,
    M_TEST,
    M_CMOV,
    M_SETCC,
    M_JCC,
    M_JMP,
    M_CALL,
    M_RET,
    M_TRAP,
    M_PUSH,
    M_POP,
};

enum { M_NO_REG = 0xff };
enum rf_mkind { M_NONE, M_REG, M_IMM, M_MEM };

struct rf_moperand {
    unsigned char kind, size; /* size in bytes */
    unsigned char reg;        /* by DWARF number; M_NO_REG: not a general register, or a high byte */
    unsigned char base, index, scale;
    bool segment; /* fs: or gs: */
    int64_t disp; /* of a memory operand; the immediate; a jump's target. rip-relative is absolute here */
};

struct rf_minsn {
    uint32_t at; /* from the function's start */
    unsigned char len, op, cc /* condition as encoded */, keeps_flags;
    uint16_t writes; /* M_OTHER: bit by DWARF number */
    struct rf_moperand o[2];
};

struct rf_machine {
    uint64_t base; /* address of the function in the target */
    uint32_t size;
    struct rf_minsn *v;
    size_t n;
    uint16_t *index; /* by offset: 1 + place in v, 0 where none starts */
};

enum { RF_MACHINE_MAX = 64 * 1024 - 1 };

/* Decodes size bytes that are at address base in the target. False when out of memory or built without capstone. */
bool rf_machine_decode(struct rf_machine *out, const unsigned char *bytes, size_t size, uint64_t base);
void rf_machine_free(struct rf_machine *m);
/* The instruction that starts at this address, NULL when none does. */
const struct rf_minsn *rf_machine_at(const struct rf_machine *m, uint64_t addr);

#endif
