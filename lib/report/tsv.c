/* tsv.c: the table for databases. rayforce itself loads it with (.csv.read "cpu.tsv").
 *
 * Its reader takes each quote, wherever it stands, for the beginning or the end of a quoted part that may hold tabs and
 * line ends (seen on 2.1.0, 2.3.0 and 2.4.0: a single \" in a row swallows the next row). So the last quote of a name
 * that has an odd number of them is written as \x22. */
#include "tsv.h"
#include "builtin.h"
#include "formats.h"
#include "rows.h"
#include "view.h"

#include <inttypes.h>
#include <stdlib.h>

void rf_tsv_name(FILE *to, struct rf_text name)
{
    size_t quotes = 0, last = 0;
    for (size_t i = 0; i < name.n; i++) {
        if (name.s[i] != '"')
            continue;
        quotes++;
        last = i;
    }
    if (quotes % 2 == 0) {
        fwrite(name.s, 1, name.n, to);
        return;
    }
    /* escaped names have a backslash before each quote */
    fwrite(name.s, 1, last, to);
    fputs("x22", to);
    fwrite(name.s + last + 1, 1, name.n - last - 1, to);
}

static uint64_t to_us(uint64_t ns)
{
    return (ns + 500) / 1000;
}

static void put_us(FILE *to, uint64_t us)
{
    fprintf(to, "\t%" PRIu64 ".%03" PRIu64, us / 1000, us % 1000);
}

void rf_tsv_ms(FILE *to, uint64_t ns)
{
    put_us(to, to_us(ns));
}

static void put_column(FILE *to, const struct rf_row *row, enum rf_column column)
{
    const struct rf_frame *f = &row->frame;
    switch (column) {
    case RF_COLUMN_COL:
        fprintf(to, "\t%" PRIu32, f->col);
        break;
    case RF_COLUMN_EXPR:
        putc('\t', to);
        rf_tsv_name(to, f->expr);
        break;
    case RF_COLUMN_POOL_MS:
        put_us(to, to_us(row->pool_ns));
        break;
    case RF_COLUMN_MAIN_MS: /* what makes the printed numbers add up */
        put_us(to, to_us(row->self_ns) - to_us(row->pool_ns));
        break;
    case RF_COLUMN_THREAD:
        putc('\t', to);
        rf_tsv_name(to, f->thread);
        break;
    case RF_COLUMN_PROCESS:
        putc('\t', to);
        rf_tsv_name(to, f->process);
        break;
    case RF_COLUMNS:
        break;
    }
}

enum rf_status rf_write_tsv(const struct rf_profile *p, const struct rf_render *how, FILE *to, struct rf_error *err)
{
    if (how->view == RF_VIEW_BUILTIN)
        return rf_write_builtin_tsv(p, how, to, err);
    struct rf_profile *shown;
    struct rf_row *row = NULL;
    enum rf_column column[RF_COLUMNS];
    size_t n_columns = rf_columns_shown(p, how, column);
    enum rf_status status = rf_printable(p, how, rf_columns_apart(column, n_columns), &shown, err);
    if (status != RF_OK)
        return status;
    status = rf_rows(shown, &row, err);
    if (status != RF_OK)
        goto out;
    fputs("file\tline\tfn\tself_ms\ttotal_ms\tsamples", to);
    for (size_t k = 0; k < n_columns; k++)
        fprintf(to, "\t%s", rf_columns()[column[k]].name);
    putc('\n', to);
    for (size_t i = 0; i < rf_profile_frames(shown); i++) {
        const struct rf_frame *f = &row[i].frame;
        rf_tsv_name(to, f->file);
        fprintf(to, "\t%" PRIu32 "\t", f->line);
        rf_tsv_name(to, f->fn);
        rf_tsv_ms(to, row[i].self_ns);
        rf_tsv_ms(to, row[i].total_ns);
        fprintf(to, "\t%" PRIu64, row[i].samples);
        for (size_t k = 0; k < n_columns; k++)
            put_column(to, &row[i], column[k]);
        putc('\n', to);
    }
out:
    free(row);
    rf_profile_free(shown);
    return status;
}
