/* copy.h: copying memory of a held thread into a snapshot. Only for lib/target. */
#ifndef RF_COPY_H
#define RF_COPY_H

#include "arch.h"

/* A snapshot with its buffers, in one mapping whose pages cost nothing until they are used; NULL: no memory. */
struct rf_snapshot *rf_snapshot_new(void);
void rf_snapshot_free(struct rf_snapshot *s);

/* The stack: from the page of rsp up to `top`, at most RF_STACK_MAX. Of a long one only `slice` bytes at either end:
 * what makes a stack long is some array on it (seen: 1 MB in one frame), which nobody needs. */
void rf_copy_stack(struct rf_snapshot *s, uint64_t top, size_t slice);
/* What the selector asks for, round by round. */
void rf_copy_blocks(struct rf_snapshot *s, const struct rf_selector *selector);

#endif
