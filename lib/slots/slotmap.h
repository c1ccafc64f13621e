/* slotmap.h: for each call in the interpreter, where its instruction pointer is while the call runs.
 *
 * ip is a local variable of the interpreter: a register or a word of its frame, another one at each call, in each
 * build. Which one follows from the machine code: from the call's return address to the next bytecode fetch (follow.h).
 * The result depends on the build alone, so it is derived once, stored as text, and looked up. */
#ifndef RF_SLOTMAP_H
#define RF_SLOTMAP_H

#include "follow.h"
#include "rayfall/code.h"

#include <stdio.h>

enum rf_slot_kind {
    RF_SLOT_NONE,     /* nothing sure */
    RF_SLOT_PLACE,    /* ip is in a register or on the frame */
    RF_SLOT_ENTERING, /* the function that runs is about to begin: ip is 0 */
    RF_SLOT_MOVING,   /* a call or a return is under way and the block is still that of the instruction in progress */
    RF_SLOT_ENTRY,    /* code before the first opcode of a run */
};

/* A place for ip: the sum of t, plus add, is ip itself or the address of the bytecode there. */
struct rf_place {
    bool address;
    unsigned char n;
    struct rf_term t[2];
    int32_t add;
};

struct rf_slot {
    uint32_t at; /* return address of the call, from the interpreter's start */
    unsigned char kind;
    unsigned char n; /* of RF_SLOT_PLACE: 1, or 2 when paths differ in where they take it from: both hold it then */
    struct rf_place place[2];
    rf_ops ops; /* opcodes whose handlers lead here; 0: not known */
};

struct rf_slotmap {
    struct rf_slot *v; /* ascending by at */
    size_t n;
};

enum { RF_SLOTS_MAX = 4096 };

/* Which opcodes' handlers lead to each instruction (by place in m->v), as far as jumps are direct. */
struct rf_owners {
    rf_ops *ops;
    bool *entry; /* also or only reached from the function's start */
};
bool rf_owners_find(struct rf_owners *out, const struct rf_machine *m, const uint64_t *handlers, size_t n);
void rf_owners_free(struct rf_owners *o);

/* False when out of memory. */
bool rf_slotmap_derive(struct rf_slotmap *out, const struct rf_machine *m, struct rf_follower *f,
                       const struct rf_owners *owners);
void rf_slotmap_free(struct rf_slotmap *map);
/* NULL when there is no call that returns to this offset. */
const struct rf_slot *rf_slotmap_at(const struct rf_slotmap *map, uint32_t at);

/* Reads one end of a path as a place. RF_SLOT_NONE where ip comes from memory: an operand, the return or trap stack. */
enum rf_slot_kind rf_slot_read(const struct rf_end *end, struct rf_place *out);
/* What the paths from one place say together; kind, n and place of *out are set. */
void rf_slot_conclude(struct rf_slot *out, const struct rf_ends *ends);

/* As text, one line a call: "0x1a3 0x300 index r13d +1". Lines "#..." and empty ones are skipped. */
void rf_slotmap_print(const struct rf_slotmap *map, FILE *to);
/* Strict: false, with the line's number, at the first line that print would not have written. */
bool rf_slotmap_parse(struct rf_slotmap *out, const char *text, size_t size, unsigned *line);

#endif
