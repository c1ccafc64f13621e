/* foreign.h: profiles that other programs wrote in pprof's format. */
#ifndef RF_FOREIGN_H
#define RF_FOREIGN_H

#include "../profile/profile.h"
#include "report/profile.pb-c.h"

/* Adds the samples of `from` to the profile, and what it says of its time to *about. RF_FAILURE when it has no times,
 * or makes no sense. */
enum rf_status rf_read_foreign(struct rf_profile *to, struct rf_about *about, const Rfpb__Profile *from,
                               const char *path, struct rf_error *err);

#endif
