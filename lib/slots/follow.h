/* follow.h: follows machine code from a place in the interpreter to its next bytecode fetch, and says where that
 * fetch reads, in terms of what the registers and the frame held at the start.
 *
 * The fetch is the byte load whose value selects an entry of the dispatch table. Values are sums of a few entry symbols
 * and a constant; beside that, the number itself where it is known. Both sides of a condition are followed unless
 * it is decided by known numbers; calls are skipped. */
#ifndef RF_FOLLOW_H
#define RF_FOLLOW_H

#include "machine.h"

enum {
    RF_TERMS = 3,
    RF_ENDS_MAX = 16,
    RF_ENTERED_MAX = 4,
    /* Symbols: 0 to 15 a register at the start; RF_SYM_STACK + k the frame's word at rsp + k; from RF_SYM_LOADED what
     * was loaded from elsewhere, 4096 for each of the sizes 1, 2, 4, 8. */
    RF_SYM_STACK = 0x10,
    RF_SYM_STACK_END = 0x1010,
    RF_SYM_LOADED = 0x2000,
    RF_SYM_LOADS = 0x1000,
};

struct rf_term {
    uint16_t sym;
    int8_t coef;
    bool narrow; /* used as a 32-bit number: the upper half is not part of it */
};

struct rf_value {
    bool summed; /* t and add say what it is */
    bool known;  /* number says what it is */
    unsigned char n;
    struct rf_term t[RF_TERMS];
    int64_t add;
    uint64_t number;
};

/* What is known at the start. read may be NULL (nothing is known of memory). */
struct rf_entry {
    uint64_t pc;
    bool leaf;           /* all registers count; else only those that a call preserves */
    uint32_t known;      /* bit by DWARF number: reg[n] is known */
    const uint64_t *reg; /* may be NULL when none is known */
    uint64_t exec;       /* address of the execution block; 0: not known */
    bool (*read)(void *ctx, uint64_t addr, void *to, size_t n);
    void *ctx;
};

struct rf_end {
    struct rf_value addr; /* of the byte that is fetched */
    bool moved;           /* on the way, the index of the return stack was stored: a call or a return takes place */
    bool switched;        /* the function that runs was stored */
    uint32_t back;        /* of a call: what was put on the return stack for ip; 0: not known */
};

struct rf_ends {
    struct rf_end v[RF_ENDS_MAX];
    size_t n;
    bool lost; /* some path was given up */
    /* Handlers that were entered on the way: their opcode had been fetched before; stayed: some path entered none. */
    uint64_t entered[RF_ENTERED_MAX];
    size_t n_entered;
    bool stayed;
};

struct rf_follower;

/* The table of handlers, and what tells a call or a return. */
struct rf_dispatch {
    uint64_t addr;
    const uint64_t *handler;
    size_t n;
    /* offsets in an execution block: index of the return stack, function that runs, the return stack (0: not known) */
    int32_t exec_rp, exec_fn, exec_rs;
};

/* m and the handlers must outlive it. NULL when out of memory. */
struct rf_follower *rf_follower_new(const struct rf_machine *m, struct rf_dispatch dispatch);
void rf_follower_free(struct rf_follower *f);
/* Distinct ends of the paths from *from; budget: number of instructions. */
void rf_follow(struct rf_follower *f, const struct rf_entry *from, unsigned budget, struct rf_ends *out);

static inline bool rf_sym_loaded(uint16_t sym)
{
    return sym >= RF_SYM_LOADED;
}

/* 1, 2, 4 or 8 */
static inline unsigned rf_sym_load_size(uint16_t sym)
{
    return 1u << (sym / RF_SYM_LOADS - 2);
}

#endif
