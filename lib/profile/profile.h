/* profile.h: what was sampled, added up: interned frames, a call tree, and rows for tables. */
#ifndef RF_PROFILE_H
#define RF_PROFILE_H

#include "rfprof.h"

/* A Rayfall frame as the decoder names it. Texts are raw bytes of the target; formats escape them. */
struct rf_frame {
    struct rf_text file, fn;
    uint32_t line; /* 1-based; 0: not known */
};

struct rf_profile *rf_profile_new(void); /* NULL when out of memory */
void rf_profile_free(struct rf_profile *p);

/* Adds one sample: frames root first, its weight in nanoseconds of CPU time. Texts are copied on first sight.
 * A stack of no frames is not added. RF_FAILURE when out of memory. */
enum rf_status rf_profile_add(struct rf_profile *p, const struct rf_frame *frame, size_t n, uint64_t weight_ns,
                              struct rf_error *err);

uint64_t rf_profile_samples(const struct rf_profile *p);
uint64_t rf_profile_weight_ns(const struct rf_profile *p);

/* Interned frames are numbered 0 .. rf_profile_frames - 1. */
size_t rf_profile_frames(const struct rf_profile *p);
struct rf_frame rf_profile_frame(const struct rf_profile *p, size_t i);

/* The call tree: node 0 is the root, without a frame; children follow their parents in number. */
struct rf_node {
    uint32_t parent, frame;
    uint64_t self_samples, self_ns;
};
size_t rf_profile_nodes(const struct rf_profile *p);
struct rf_node rf_profile_node(const struct rf_profile *p, size_t i);

/* A row of a table: names as they are printed (escaped), so that what prints alike is one row. */
struct rf_row {
    char *file, *fn;
    uint32_t line;
    uint64_t self_ns, total_ns;
    uint64_t samples; /* that have it anywhere on the stack, each once */
};
enum rf_view { RF_BY_LINE, RF_BY_FN };
/* Rows sorted by self descending, then file, line, fn by bytes. The caller frees with rf_rows_free. */
enum rf_status rf_profile_rows(const struct rf_profile *p, enum rf_view view, struct rf_row **out, size_t *n,
                               struct rf_error *err);
void rf_rows_free(struct rf_row *rows, size_t n);

#endif
