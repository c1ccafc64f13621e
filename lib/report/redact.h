/* redact.h: a profile that may be given away: without the texts that clients sent. */
#ifndef RF_REDACT_H
#define RF_REDACT_H

#include "../profile/profile.h"

/* A copy in which a number, as <ipc #3>, stands for each text that --no-text withholds, for equal texts the same one;
 * of what is shown with --no-text nothing else differs. *nodes says which of its nodes each node of p became. The
 * caller frees both. */
enum rf_status rf_redacted(const struct rf_profile *p, struct rf_profile **out, uint32_t **nodes, struct rf_error *err);

#endif
