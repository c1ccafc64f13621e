/* builtin.c: what each builtin costs, with what it calls. A sampler sees time, not calls: their number and what one
 * takes stay empty. */
#include "builtin.h"
#include "rows.h"
#include "texts.h"
#include "tsv.h"
#include "view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *rf_builtin_note(void)
{
    return "times of builtins include what they call, so the column does not sum to the CPU time";
}

/* Most expensive first, ties by name. */
static int by_total(const void *va, const void *vb)
{
    const struct rf_row *a = va, *b = vb;
    if (a->total_ns != b->total_ns)
        return a->total_ns < b->total_ns ? 1 : -1;
    return rf_text_compare(a->frame.fn, b->frame.fn);
}

static enum rf_status builtin_rows(const struct rf_profile *p, const struct rf_render *how, struct rf_profile **shown,
                                   struct rf_row **row, struct rf_error *err)
{
    struct rf_render merged = *how;
    merged.threads = false; /* there is no column for them */
    enum rf_status status = rf_printable(p, &merged, rf_profile_joined(p) ? RF_APART_PROCESSES : 0, shown, err);
    if (status != RF_OK)
        return status;
    status = rf_rows(*shown, row, err);
    if (status == RF_OK)
        qsort(*row, rf_profile_frames(*shown), sizeof **row, by_total);
    else
        rf_profile_free(*shown);
    return status;
}

enum rf_status rf_write_builtin_tsv(const struct rf_profile *p, const struct rf_render *how, FILE *to,
                                    struct rf_error *err)
{
    struct rf_profile *shown;
    struct rf_row *row;
    enum rf_status status = builtin_rows(p, how, &shown, &row, err);
    if (status != RF_OK)
        return status;
    fprintf(to, "name\ttotal_ms\tcalls\tavg_ms%s\n", rf_profile_joined(p) ? "\tprocess" : "");
    for (size_t i = 0; i < rf_profile_frames(shown); i++) {
        rf_tsv_name(to, row[i].frame.fn);
        rf_tsv_ms(to, row[i].total_ns);
        fputs("\t\t", to);
        if (rf_profile_joined(p)) {
            putc('\t', to);
            rf_tsv_name(to, row[i].frame.process);
        }
        putc('\n', to);
    }
    free(row);
    rf_profile_free(shown);
    return RF_OK;
}

enum rf_status rf_write_builtin_table(const struct rf_profile *p, const struct rf_render *how, FILE *to,
                                      struct rf_error *err)
{
    struct rf_profile *shown;
    struct rf_row *row;
    const char *strong = how->colour ? "\033[1m" : "", *plain = how->colour ? "\033[0m" : "";
    enum rf_status status = builtin_rows(p, how, &shown, &row, err);
    if (status != RF_OK)
        return status;
    size_t all = rf_profile_frames(shown), n = how->rows && how->rows < all ? how->rows : all;
    uint64_t all_ns = rf_profile_weight_ns(shown);
    if (n)
        fprintf(to, "%s total   total ms  builtin%s\n", strong, plain);
    for (size_t i = 0; i < n; i++) {
        double total = (double)row[i].total_ns;
        fprintf(to, "%5.1f%%  %9.1f  ", all_ns ? 100.0 * total / (double)all_ns : 0.0, total / 1e6);
        fwrite(row[i].frame.fn.s, 1, row[i].frame.fn.n, to);
        if (row[i].frame.process.n)
            fprintf(to, "  (%.*s)", (int)row[i].frame.process.n, row[i].frame.process.s);
        putc('\n', to);
    }
    if (n < all)
        fprintf(to, "%zu more row%s: -f tsv writes all\n", all - n, all - n == 1 ? "" : "s");
    if (n)
        fprintf(to, "%s\n", rf_builtin_note());
    free(row);
    rf_profile_free(shown);
    return RF_OK;
}
