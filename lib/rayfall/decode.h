/* decode.h: native frames to Rayfall frames: what a thread was doing, in the words of its source. */
#ifndef RF_DECODE_H
#define RF_DECODE_H

#include "layout/layout.h"
#include "pool.h"
#include "probe.h"
#include "profile/profile.h"
#include "unwind/unwind.h"

enum rf_explained {
    RF_BY_A_LINE,     /* the innermost Rayfall frame has its line */
    RF_BY_A_FUNCTION, /* the function is known, its line is not */
    RF_BY_RUNTIME,    /* no Rayfall: a named part of the runtime */
    RF_NOT_EXPLAINED, /* <unknown>, with the reason as function name */
};

struct rf_decoded {
    const struct rf_frame *frame; /* root first; valid until the next call */
    size_t n;
    enum rf_explained how;
    uint64_t weight_ns;           /* to charge it with. n is 0 when nothing is charged now */
    bool own;                     /* the snapshot's thread stands there itself; else only those that had waited */
    bool pool;                    /* the snapshot is of a thread of the pool */
    const struct rf_share *share; /* and for workers that had waited for a stack such as this */
    size_t n_shares;
};

struct rf_decode_stats {
    /* Interpreter frames by how their instruction was found: one candidate, several on one line, several lines, entry code. */
    uint64_t ip_unique, ip_same_line, ip_open, ip_prologue;
    uint64_t interpreters, bare; /* interpreter frames met; those with neither block nor lambda */
};

struct rf_decoder;

/* rt and live must outlive it. NULL when out of memory. */
struct rf_decoder *rf_decoder_new(const struct rf_runtime *rt, const struct rf_memory *live);
void rf_decoder_free(struct rf_decoder *d);
/* Whether frames have the text of their form, and that of a client's whole request. False when out of memory. */
bool rf_decoder_want(struct rf_decoder *d, bool expr, bool query);
/* What the engine's selector should consult. */
struct rf_probe *rf_decoder_probe(struct rf_decoder *d);
/* The main thread's snapshot of a tick goes first: the work of pool workers stands on its stack. */
struct rf_decoded rf_decode(struct rf_decoder *d, const struct rf_snapshot *s, const struct rf_native_stack *native);
const struct rf_decode_stats *rf_decoder_stats(const struct rf_decoder *d);

#endif
