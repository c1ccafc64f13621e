/* formats.h: the writers behind the table of rf_formats, one file each. To add a format: its file, its line here,
 * its entry in formats.c. */
#ifndef RF_FORMATS_H
#define RF_FORMATS_H

#include "rfprof.h"

enum rf_status rf_write_table(const struct rf_profile *p, const struct rf_render *how, FILE *to, struct rf_error *err);
enum rf_status rf_write_tsv(const struct rf_profile *p, const struct rf_render *how, FILE *to, struct rf_error *err);
enum rf_status rf_write_folded(const struct rf_profile *p, const struct rf_render *how, FILE *to, struct rf_error *err);
enum rf_status rf_write_perf(const struct rf_profile *p, const struct rf_render *how, FILE *to, struct rf_error *err);
enum rf_status rf_write_svg(const struct rf_profile *p, const struct rf_render *how, FILE *to, struct rf_error *err);
enum rf_status rf_write_pprof(const struct rf_profile *p, const struct rf_render *how, FILE *to, struct rf_error *err);
enum rf_status rf_write_speedscope(const struct rf_profile *p, const struct rf_render *how, FILE *to,
                                   struct rf_error *err);

#endif
