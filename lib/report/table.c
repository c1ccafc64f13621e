/* table.c: the dearest rows for a person in front of a terminal: shares first, then where and what. */
#include "escape.h"
#include "formats.h"
#include "rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { NUMBERS = 27, GAP = 2, LEAST = 12 }; /* columns: in front of the names; between them; of the narrowest name */

/* Columns that a character takes; what the locale does not know counts as one. */
static size_t columns(const char *s, size_t n, size_t *len)
{
    uint32_t c;
    *len = rf_utf8(s, n, &c);
    int w = *len ? wcwidth((wchar_t)c) : 1;
    if (!*len)
        *len = 1;
    return w < 0 ? 1 : (size_t)w;
}

static size_t width_of(struct rf_text t)
{
    size_t width = 0, len;
    for (size_t i = 0; i < t.n; i += len)
        width += columns(t.s + i, t.n - i, &len);
    return width;
}

/* Prints at most room columns of t, the beginning or the end of it; ".." stands for what is missing. */
static size_t put_cut(FILE *to, struct rf_text t, size_t room, bool keep_end)
{
    size_t width = width_of(t), len;
    if (width <= room) {
        fwrite(t.s, 1, t.n, to);
        return width;
    }
    size_t skip = 0, end = 0, used = 0;
    if (keep_end) {
        for (size_t left = width; left + 2 > room && skip < t.n; skip += len)
            left -= columns(t.s + skip, t.n - skip, &len);
        struct rf_text tail = {t.s + skip, t.n - skip};
        fputs("..", to);
        fwrite(tail.s, 1, tail.n, to);
        return 2 + width_of(tail);
    }
    while (end < t.n) {
        size_t w = columns(t.s + end, t.n - end, &len);
        if (used + w + 2 > room)
            break;
        used += w;
        end += len;
    }
    fwrite(t.s, 1, end, to);
    fputs("..", to);
    return used + 2;
}

static void pad(FILE *to, size_t n)
{
    fprintf(to, "%*s", (int)n, "");
}

/* "file:line" of a row, in a buffer that the caller frees. */
static char *where(const struct rf_frame *f)
{
    char *s = NULL;
    int n = f->line ? asprintf(&s, "%.*s:%" PRIu32, (int)f->file.n, f->file.s, f->line)
                    : asprintf(&s, "%.*s", (int)f->file.n, f->file.s);
    return n < 0 ? NULL : s;
}

/* How wide the first of the two name columns is: as its widest name needs, but not to the other's cost. */
static size_t where_width(char *const *place, size_t n, unsigned terminal)
{
    size_t widest = 5, most = 60;
    if (terminal) {
        size_t room = terminal > NUMBERS + GAP + 2 * LEAST ? terminal - NUMBERS - GAP : 2 * LEAST;
        most = room * 3 / 5;
    }
    for (size_t i = 0; i < n; i++) {
        size_t w = width_of((struct rf_text){place[i], strlen(place[i])});
        if (w > widest)
            widest = w;
    }
    return widest < most ? widest : most;
}

static void put_rows(const struct rf_row *row, char *const *place, size_t n, uint64_t all_ns,
                     const struct rf_render *how, FILE *to)
{
    size_t first = where_width(place, n, how->width);
    size_t second = SIZE_MAX;
    if (how->width)
        second = how->width > NUMBERS + GAP + first + LEAST ? how->width - NUMBERS - GAP - first : LEAST;
    const char *strong = how->colour ? "\033[1m" : "", *plain = how->colour ? "\033[0m" : "";
    fprintf(to, "%s  self   total    self ms  ", strong);
    fputs(how->functions ? "file " : "where", to);
    pad(to, first - 5 + GAP);
    fprintf(to, "fn%s\n", plain);
    for (size_t i = 0; i < n; i++) {
        double self = (double)row[i].self_ns, total = (double)row[i].total_ns, all = all_ns ? (double)all_ns : 1.0;
        bool hot = self >= 0.1 * all;
        fprintf(to, "%s%5.1f%%  %5.1f%%%s  %9.1f  ", hot ? strong : "", 100.0 * self / all, 100.0 * total / all,
                hot ? plain : "", self / 1e6);
        size_t used = put_cut(to, (struct rf_text){place[i], strlen(place[i])}, first, true);
        pad(to, first - used + GAP);
        put_cut(to, row[i].frame.fn, second, false);
        putc('\n', to);
    }
}

enum rf_status rf_write_table(const struct rf_profile *p, const struct rf_render *how, FILE *to, struct rf_error *err)
{
    struct rf_profile *shown;
    struct rf_row *row = NULL;
    char **place = NULL;
    size_t n = 0;
    enum rf_status status = rf_printable(p, how->functions, &shown, err);
    if (status != RF_OK)
        return status;
    status = rf_rows(shown, &row, err);
    if (status != RF_OK)
        goto out;
    size_t all = rf_profile_frames(shown);
    size_t most = how->rows && how->rows < all ? how->rows : all;
    place = calloc(most + 1, sizeof *place);
    while (place && n < most && (place[n] = where(&row[n].frame)))
        n++;
    if (!place || n < most) {
        status = rf_fail(err, RF_FAILURE, 0, "out of memory while writing %zu rows", most);
        goto out;
    }
    put_rows(row, place, n, rf_profile_weight_ns(shown), how, to);
    if (n < all)
        fprintf(to, "%zu more row%s: -f tsv writes all\n", all - n, all - n == 1 ? "" : "s");
out:
    for (size_t i = 0; i < n; i++)
        free(place[i]);
    free(place);
    free(row);
    rf_profile_free(shown);
    return status;
}
