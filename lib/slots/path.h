/* path.h: one way through machine code: what registers, frame and memory hold along it. Only for lib/slots. */
#ifndef RF_PATH_H
#define RF_PATH_H

#include "value.h"

enum { SLOTS = 40, STORES = 40, NARROW = 12, LOADS_MAX = RF_SYM_LOADS };

/* Something written on the way: to the frame (by offset from the entry rsp), or to a known address. */
struct store {
    uint64_t at;
    unsigned size;
    struct rf_value v;
};

/* Operands of the last instruction that set the flags; op M_OTHER: not known. */
struct flags {
    enum rf_mop op;
    unsigned size;
    uint64_t a, b, result;
};

struct path {
    uint64_t pc;
    unsigned steps;
    struct rf_value reg[16];
    struct flags flags;
    struct store slot[SLOTS], store[STORES];
    unsigned n_slots, n_stores;
    uint16_t narrow[NARROW]; /* entry symbols that were used as 32-bit numbers */
    unsigned n_narrow;
    bool moved, switched, dead, entered;
};

struct rf_follower {
    const struct rf_machine *m;
    struct rf_dispatch dispatch;
    const struct rf_entry *from;
    struct path *todo; /* PATHS */
    size_t n_todo;
    struct rf_value *load; /* address of each load, by its number */
    size_t n_loads;
    unsigned char *visits; /* by instruction */
    uint32_t framed; /* from this offset on rbp is rsp + frame, by the code that begins the function; 0: it is not */
    int64_t frame;
    struct rf_ends *out;
};

/* Does one instruction that is no jump. */
void rf_path_execute(struct rf_follower *f, struct path *p, const struct rf_minsn *i);
/* 1 the condition (as encoded) holds, 0 not, -1 not known. */
int rf_path_condition(const struct path *p, unsigned cc);
/* A thread that stopped between a comparison and its jump: the operands are still there, so it is done again. */
void rf_path_compare_again(struct rf_follower *f, struct path *p);
struct rf_value rf_path_address(struct path *p, const struct rf_moperand *o);
struct rf_value rf_path_register(struct path *p, unsigned char reg, unsigned size);
struct rf_value rf_path_load(struct rf_follower *f, struct path *p, const struct rf_value *addr, unsigned size);
/* What a call returns: as good as something that was loaded. */
struct rf_value rf_path_result(struct rf_follower *f);
/* The ip that a call has put on the return stack on the way; 0: none, or not known. */
uint32_t rf_path_back(const struct rf_follower *f, const struct path *p);
/* Registers that a call preserves, by DWARF number. */
extern const uint32_t rf_path_preserved;

#endif
