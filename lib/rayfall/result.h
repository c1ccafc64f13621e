/* result.h: whose result is being computed, once its expression is gone.
 *
 * Lazy builtins hand out a deferred graph. Where a client's or a typed text ends in one, the engine frees the text's
 * tree and its source first and computes afterwards, in a tail call (internals §4.5): no line can be read then. But the
 * C function that had the text evaluated is still at the same call, with the same registers. If the thread's last
 * sample with Rayfall in it was below that very call, nothing else has run between, and the work belongs to what was
 * sampled. */
#ifndef RF_RESULT_H
#define RF_RESULT_H

#include "profile/profile.h"
#include "unwind/unwind.h"

enum { RF_CALLS_KEPT = 32 };

/* A native frame as it looks while one call in it is in progress. */
struct rf_call {
    uint64_t pc, sp, saved[6];
};

struct rf_result {
    struct rf_call call[RF_CALLS_KEPT]; /* of the last sample with Rayfall frames, outermost first */
    size_t n;
    struct rf_frame root; /* its outermost Rayfall frame; texts are a copy */
    char *texts;
    size_t size;
};

/* Remembers a sample that has Rayfall frames; root is the outermost of them. Forgets the one before. */
void rf_result_remember(struct rf_result *r, const struct rf_native_stack *native, const struct rf_frame *root);
/* A sample without: true when it computes the result of what was remembered; *out is then its frame. Anything else that
 * runs is forgotten about. */
bool rf_result_explains(struct rf_result *r, const struct rf_native_stack *native, struct rf_frame *out);
void rf_result_free(struct rf_result *r);

#endif
