/* decode.h: native frames to Rayfall frames: what a thread was doing, in the words of its source. */
#ifndef RF_DECODE_H
#define RF_DECODE_H

#include "layout/layout.h"
#include "locals.h"
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
    pid_t tid;
    bool owner;       /* it has the VM: it runs Rayfall */
    bool worker;      /* the thread belongs to the pool */
    uint32_t samples; /* to charge the stack with; n is 0 when nothing is, or not yet */
    uint64_t weight_ns;
};

struct rf_decode_stats {
    /* Interpreter frames by how their instruction was found: one candidate, several on one line, several lines, entry
     * code. */
    uint64_t ip_unique, ip_same_line, ip_open, ip_prologue;
    uint64_t interpreters, bare; /* interpreter frames met; those with neither block nor lambda */
};

struct rf_decoder;

/* rt and live must outlive it. NULL when out of memory. */
struct rf_decoder *rf_decoder_new(const struct rf_runtime *rt, const struct rf_memory *live);
void rf_decoder_free(struct rf_decoder *d);
/* What is wanted besides functions and lines: see struct rf_session_options. False when out of memory. */
bool rf_decoder_want(struct rf_decoder *d, const struct rf_session_options *o);
/* Looks for spans that the target names itself; again when there are new images. */
void rf_decoder_find_spans(struct rf_decoder *d, const struct rf_images *images);
/* Each function's frame is wanted with where its arguments and locals are. False when out of memory. */
bool rf_decoder_want_locals(struct rf_decoder *d);
/* Of frame i of what rf_decode returned last for a thread of its own: valid as long as that is. */
struct rf_locals rf_decoder_locals(const struct rf_decoder *d, const struct rf_decoded *of, size_t i);
const struct rf_names *rf_decoder_names(const struct rf_decoder *d);
/* What the engine's selector should consult. */
struct rf_probe *rf_decoder_probe(struct rf_decoder *d);
/* The thread that runs Rayfall; 0 until it was seen. */
pid_t rf_decoder_owner(const struct rf_decoder *d);
/* That thread's snapshot of a tick goes first: the work of pool workers stands on its stack. */
struct rf_decoded rf_decode(struct rf_decoder *d, const struct rf_snapshot *s, const struct rf_native_stack *native);
/* What else can be charged now: samples of pool workers that waited for the main thread's. To be called after rf_decode
 * until it returns false. */
bool rf_decode_waiting(struct rf_decoder *d, struct rf_decoded *out);
/* Time of workers that has not been charged to a stack yet. */
uint64_t rf_decoder_waiting_ns(const struct rf_decoder *d);
const struct rf_decode_stats *rf_decoder_stats(const struct rf_decoder *d);

#endif
