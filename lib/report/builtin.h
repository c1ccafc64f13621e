/* builtin.h: tables by builtin, which have columns of their own. */
#ifndef RF_BUILTIN_H
#define RF_BUILTIN_H

#include "../profile/profile.h"

enum rf_status rf_write_builtin_tsv(const struct rf_profile *p, const struct rf_render *how, FILE *to,
                                    struct rf_error *err);
enum rf_status rf_write_builtin_table(const struct rf_profile *p, const struct rf_render *how, FILE *to,
                                      struct rf_error *err);

#endif
