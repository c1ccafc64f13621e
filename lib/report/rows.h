/* rows.h: the rows of a table, added up from the call tree. */
#ifndef RF_ROWS_H
#define RF_ROWS_H

#include "../profile/profile.h"

struct rf_row {
    struct rf_frame frame; /* texts belong to the profile that the rows were made from */
    uint64_t self_ns, total_ns;
    uint64_t pool_ns; /* the part of self_ns that workers of the pool used */
    uint64_t samples; /* that have it anywhere on the stack, each once however often it recurs */
};

/* One row for each frame of a printable profile, sorted by self descending, then file, line, fn, col, expr and thread;
 * texts by bytes. *out is malloc'ed, with rf_profile_frames elements. */
enum rf_status rf_rows(const struct rf_profile *printable, struct rf_row **out, struct rf_error *err);
/* For people: of rows with the same self, who is responsible for more comes first. */
void rf_rows_by_both(struct rf_row *row, size_t n);

#endif
