/* span.h: spans that the target names itself (include/rfprof_span.h): found, copied and read. */
#ifndef RF_RAYFALL_SPAN_H
#define RF_RAYFALL_SPAN_H

#include "image/tls.h"
#include "profile/profile.h"
#include "target/snapshot.h"

enum { RF_SPANS_MAX = 4, RF_SPAN_FILE = 256, RF_SPAN_FUNCTION = 128 };

/* Where threads have theirs: one for each file that defines the variable. */
struct rf_spans {
    struct {
        struct rf_tls tls;
        uint64_t offset;
    } at[RF_SPANS_MAX];
    size_t n;
};

/* What a thread's span says; the texts end with a zero, whatever they were in the target. */
struct rf_named_span {
    uint32_t line;
    char file[RF_SPAN_FILE], function[RF_SPAN_FUNCTION];
};

/* Looks through all images; again when there are new ones. */
void rf_spans_find(struct rf_spans *spans, const struct rf_images *images, const struct rf_memory *live);

/* What is to be copied next of the spans of the snapshot's thread: calls ask for each range, some of which may have
 * been copied already. To be called in each round: what is needed shows as what leads there is copied. */
void rf_spans_select(const struct rf_spans *spans, const struct rf_snapshot *s,
                     void (*ask)(void *ctx, uint64_t addr, uint32_t size), void *ctx);

/* The span that is set in the snapshot's thread, as a frame whose texts are in *named. False where there is none, where
 * it was being changed, and where it makes no sense. */
bool rf_spans_read(const struct rf_spans *spans, const struct rf_snapshot *s, struct rf_named_span *named,
                   struct rf_frame *frame);

#endif
