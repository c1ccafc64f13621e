/* rows.h: a profile as it is printed: escaped names, and rows for tables. */
#ifndef RF_ROWS_H
#define RF_ROWS_H

#include "../profile/profile.h"

/* The same profile with every name escaped, and without lines when functions is set, so that what prints alike is
 * one frame. The caller frees it with rf_profile_free. */
enum rf_status rf_printable(const struct rf_profile *p, bool functions, struct rf_profile **out, struct rf_error *err);

struct rf_row {
    struct rf_frame frame; /* texts belong to the profile that the rows were made from */
    uint64_t self_ns, total_ns;
    uint64_t samples; /* that have it anywhere on the stack, each once however often it recurs */
};

/* One row for each frame of a printable profile, sorted by self descending, then file, line and fn by bytes. *out is
 * malloc'ed, with rf_profile_frames elements. */
enum rf_status rf_rows(const struct rf_profile *printable, struct rf_row **out, struct rf_error *err);

#endif
