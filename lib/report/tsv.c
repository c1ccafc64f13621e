/* tsv.c: the table for databases. rayforce itself loads it with (.csv.read "cpu.tsv"). */
#include "formats.h"
#include "rows.h"

#include <inttypes.h>
#include <stdlib.h>

static void put_ms(FILE *to, uint64_t ns)
{
    uint64_t us = (ns + 500) / 1000;
    fprintf(to, "\t%" PRIu64 ".%03" PRIu64, us / 1000, us % 1000);
}

enum rf_status rf_write_tsv(const struct rf_profile *p, const struct rf_render *how, FILE *to, struct rf_error *err)
{
    struct rf_profile *shown;
    struct rf_row *row = NULL;
    enum rf_status status = rf_printable(p, how->functions, &shown, err);
    if (status != RF_OK)
        return status;
    status = rf_rows(shown, &row, err);
    if (status != RF_OK)
        goto out;
    fputs("file\tline\tfn\tself_ms\ttotal_ms\tsamples\n", to);
    for (size_t i = 0; i < rf_profile_frames(shown); i++) {
        const struct rf_frame *f = &row[i].frame;
        fwrite(f->file.s, 1, f->file.n, to);
        fprintf(to, "\t%" PRIu32 "\t", f->line);
        fwrite(f->fn.s, 1, f->fn.n, to);
        put_ms(to, row[i].self_ns);
        put_ms(to, row[i].total_ns);
        fprintf(to, "\t%" PRIu64 "\n", row[i].samples);
    }
out:
    free(row);
    rf_profile_free(shown);
    return status;
}
