/* slots.h: where the interpreter's frames keep ip: the slot map of the build at hand, and the code itself for what the
 * map does not answer and for frames that were stopped inside the interpreter. */
#ifndef RF_SLOTS_H
#define RF_SLOTS_H

#include "layout/layout.h"
#include "slotmap.h"
#include "unwind/unwind.h"

enum rf_slots_origin { RF_SLOTS_ABSENT, RF_SLOTS_CATALOG, RF_SLOTS_CACHE, RF_SLOTS_DERIVED };

struct rf_slots;

/* Takes the map from the catalog by build-id, else from the cache, else derives it and caches it. Without a map (no
 * disassembler, unreadable code) everything is answered by RF_AT_UNKNOWN. rt and live must outlive it. NULL when out of
 * memory. */
struct rf_slots *rf_slots_new(const struct rf_runtime *rt, const struct rf_memory *live);
void rf_slots_free(struct rf_slots *s);
enum rf_slots_origin rf_slots_origin(const struct rf_slots *s);

/* Code that was not optimised: there are many calls, and at none of them ip is in a register. What the code itself does
 * not tell is then not told by numbers in registers and frames either. */
bool rf_slots_blind(const struct rf_slots *s);
/* Is there a call at which it is known where ip is? */
bool rf_slots_tells(const struct rf_slots *s);

enum rf_at {
    RF_AT_UNKNOWN,
    RF_AT_IP,       /* the next fetch is at `ip`: the end of the instruction in progress */
    RF_AT_TARGET,   /* as before, but a jump may have led there: the instruction in progress may be that jump */
    RF_AT_END,      /* the instruction in progress is the one that ends at `ip`, whatever else seems to be */
    RF_AT_ENTERING, /* the function is about to run its first instruction */
    RF_AT_LEAVING,  /* it will fetch nothing more: a return is in progress */
};

/* Before the next fetch, does a call of bytecode, or a return, change the return stack, or has it done so already, but
 * not yet the function that runs? */
enum rf_move { RF_MOVE_UNKNOWN, RF_MOVE_AHEAD, RF_MOVE_HALF_DONE };

struct rf_whereabouts {
    enum rf_at at;
    enum rf_move move; /* told where `at` is not known */
    uint32_t ip;
    rf_ops ops; /* only these can be in progress; 0: not known */
};

/* A frame of the interpreter, as the decoder sees it. */
struct rf_slots_frame {
    const struct rf_native *native;
    const struct rf_snapshot *snapshot;
    bool leaf;
    uint64_t exec;              /* address of its execution block; 0: not known */
    const struct rf_code *code; /* bytecode that runs, and the address of its first byte */
    uint64_t code_addr;
};
struct rf_whereabouts rf_slots_locate(struct rf_slots *s, const struct rf_slots_frame *frame);

/* Does code at pc (of a frame that was stopped there, or to which a call returns) only run before the first opcode? */
enum rf_slots_part { RF_PART_UNKNOWN, RF_PART_ENTRY, RF_PART_HANDLER };
enum rf_slots_part rf_slots_part(struct rf_slots *s, uint64_t pc, bool leaf);

/* Derives the map of a build: bytes of the interpreter function and the table of handlers come through read, at the
 * addresses that rt has. False without a disassembler, when they cannot be read, or out of memory. */
bool rf_slots_derive(struct rf_slotmap *out, const struct rf_runtime *rt, const struct rf_memory *from);

/* Maps that ship: texts "build-id HEX" lines, then the map; ends with NULL. */
extern const char *const rf_slots_catalog[];

#endif
