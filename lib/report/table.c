/* table.c: the dearest rows for a person in front of a terminal: shares first, then where and what. */
#include "builtin.h"
#include "escape.h"
#include "formats.h"
#include "rows.h"
#include "view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define STRONG "\033[1m"
#define PLAIN "\033[0m"

/* Columns: in front of the names; between them; of the narrowest name; of a column number and of milliseconds, with
 * their gaps. */
enum { NUMBERS = 27, GAP = 2, LEAST = 12, COL = 7, MS = 11 };

/* Quotes and backslashes come escaped; nothing parses this table. */
static bool is_escaped(const char *s, size_t n)
{
    return n >= 2 && s[0] == '\\' && (s[1] == '"' || s[1] == '\\');
}

/* Columns that a character takes; what the locale does not know counts as one. */
static size_t columns(const char *s, size_t n, size_t *len)
{
    uint32_t c;
    if (is_escaped(s, n)) {
        *len = 2;
        return 1;
    }
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

static void put(FILE *to, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        i += is_escaped(s + i, n - i);
        putc(s[i], to);
    }
}

/* Prints at most room columns of t, the beginning or the end of it; ".." stands for what is missing. */
static size_t put_cut(FILE *to, struct rf_text t, size_t room, bool keep_end)
{
    size_t width = width_of(t), len;
    if (width <= room) {
        put(to, t.s, t.n);
        return width;
    }
    size_t skip = 0, end = 0, used = 0;
    if (keep_end) {
        for (size_t left = width; left + 2 > room && skip < t.n; skip += len)
            left -= columns(t.s + skip, t.n - skip, &len);
        struct rf_text tail = {t.s + skip, t.n - skip};
        fputs("..", to);
        put(to, tail.s, tail.n);
        return 2 + width_of(tail);
    }
    while (end < t.n) {
        size_t w = columns(t.s + end, t.n - end, &len);
        if (used + w + 2 > room)
            break;
        used += w;
        end += len;
    }
    put(to, t.s, end);
    fputs("..", to);
    return used + 2;
}

static struct rf_text text(const char *s)
{
    return (struct rf_text){s, strlen(s)};
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

/* The names in the rows: process and thread, where they are shown, where, fn and, likewise, expr. */
struct widths {
    bool files, names;                       /* are there where, and fn? */
    size_t process, thread, where, fn, expr; /* SIZE_MAX: as the name needs, since nothing follows */
};

static size_t widest(size_t least, size_t most, size_t width)
{
    size_t w = width > least ? width : least;
    return w < most ? w : most;
}

/* How wide the first of the name columns is: as its widest name needs, but not to the others' cost; so on with the
 * next. The last has the rest of the terminal. */
static struct widths fit(const struct rf_row *row, char *const *place, size_t n, const struct rf_render *how,
                         const bool *extra)
{
    unsigned terminal = how->width;
    bool col = extra[RF_COLUMN_COL], expr = extra[RF_COLUMN_EXPR], apart = extra[RF_COLUMN_THREAD];
    size_t where = 0, fn = 0, thread = 6, process = 7, most = 60;
    size_t taken = (size_t)NUMBERS + GAP + (col ? (size_t)COL : 0) + (expr ? (size_t)GAP : 0) +
                   (size_t)MS * (extra[RF_COLUMN_POOL_MS] + (size_t)extra[RF_COLUMN_MAIN_MS]);
    size_t room = 2 * LEAST;
    for (size_t i = 0; i < n; i++) {
        where = widest(where, SIZE_MAX, width_of(text(place[i])));
        fn = widest(fn, SIZE_MAX, width_of(row[i].frame.fn));
        thread = widest(thread, 20, width_of(row[i].frame.thread));
        process = widest(process, 24, width_of(row[i].frame.process));
    }
    if (apart)
        taken += thread + GAP;
    if (extra[RF_COLUMN_PROCESS])
        taken += process + GAP;
    if (terminal > taken + 2 * LEAST)
        room = terminal - taken;
    if (terminal)
        most = room * (expr ? 2u : 3u) / 5;
    struct widths w = {.files = how->view != RF_VIEW_THREAD,
                       .names = how->view != RF_VIEW_FILE,
                       .process = process,
                       .thread = thread,
                       .where = widest(5, most, where),
                       .fn = SIZE_MAX,
                       .expr = SIZE_MAX};
    if (!w.files || !w.names) {
        w.where = w.fn = terminal ? room : SIZE_MAX;
        return w;
    }
    size_t rest = room > w.where + LEAST ? room - w.where : LEAST;
    if (expr)
        w.fn = widest(2, terminal ? rest / 2 : most, fn);
    else if (col)
        w.fn = widest(2, terminal ? rest : most, fn);
    else if (terminal)
        w.fn = rest;
    if (expr && terminal)
        w.expr = rest > w.fn + LEAST ? rest - w.fn : LEAST;
    return w;
}

static void put_name(FILE *to, struct rf_text name, size_t room, bool keep_end, bool last)
{
    size_t used = put_cut(to, name, room, keep_end);
    if (!last)
        pad(to, room - used + GAP);
}

static void put_titles(const struct widths *w, const bool *extra, const struct rf_render *how, FILE *to)
{
    bool col = extra[RF_COLUMN_COL], expr = extra[RF_COLUMN_EXPR];
    bool lines = how->view == RF_VIEW_LINE || how->view == RF_VIEW_EXPR;
    fprintf(to, "%s  self   total    self ms  %s%s", how->colour ? STRONG : "",
            extra[RF_COLUMN_POOL_MS] ? "  pool ms  " : "", extra[RF_COLUMN_MAIN_MS] ? "  main ms  " : "");
    if (extra[RF_COLUMN_PROCESS])
        put_name(to, text("process"), w->process, false, false);
    if (extra[RF_COLUMN_THREAD])
        put_name(to, text("thread"), w->thread, false, false);
    if (w->files)
        put_name(to, text(lines ? "where" : "file"), w->where, false, !w->names);
    if (w->names)
        put_name(to,
                 text(how->view == RF_VIEW_QUERY ? "text"
                      : w->files                 ? "fn"
                                                 : "thread"),
                 w->fn, false, !col && !expr);
    fprintf(to, "%s%s%s%s\n", col ? "  col" : "", col && expr ? "  " : "", expr ? "expr" : "",
            how->colour ? PLAIN : "");
}

static void put_rows(const struct rf_profile *p, const struct rf_row *row, char *const *place, size_t n,
                     uint64_t all_ns, const struct rf_render *how, FILE *to)
{
    enum rf_column column[RF_COLUMNS];
    bool extra[RF_COLUMNS] = {false};
    for (size_t k = rf_columns_shown(p, how, column); k-- > 0;)
        extra[column[k]] = true;
    bool col = extra[RF_COLUMN_COL], expr = extra[RF_COLUMN_EXPR], apart = extra[RF_COLUMN_THREAD];
    struct widths w = fit(row, place, n, how, extra);
    const char *strong = how->colour ? STRONG : "", *plain = how->colour ? PLAIN : "";
    put_titles(&w, extra, how, to);
    for (size_t i = 0; i < n; i++) {
        double self = (double)row[i].self_ns, total = (double)row[i].total_ns, all = all_ns ? (double)all_ns : 1.0;
        bool hot = self >= 0.1 * all;
        fprintf(to, "%s%5.1f%%  %5.1f%%%s  %9.1f  ", hot ? strong : "", 100.0 * self / all, 100.0 * total / all,
                hot ? plain : "", self / 1e6);
        if (extra[RF_COLUMN_POOL_MS])
            fprintf(to, "%9.1f  ", (double)row[i].pool_ns / 1e6);
        if (extra[RF_COLUMN_MAIN_MS])
            fprintf(to, "%9.1f  ", (double)(row[i].self_ns - row[i].pool_ns) / 1e6);
        if (extra[RF_COLUMN_PROCESS])
            put_name(to, row[i].frame.process, w.process, true, false);
        if (apart)
            put_name(to, row[i].frame.thread, w.thread, false, false);
        if (w.files)
            put_name(to, text(place[i]), w.where, true, !w.names);
        if (w.names)
            put_name(to, row[i].frame.fn, w.fn, false, !col && !expr);
        if (col)
            fprintf(to, "%5" PRIu32 "%s", row[i].frame.col, expr ? "  " : "");
        if (expr)
            put_name(to, row[i].frame.expr, w.expr, false, true);
        putc('\n', to);
    }
}

enum rf_status rf_write_table(const struct rf_profile *p, const struct rf_render *how, FILE *to, struct rf_error *err)
{
    if (how->view == RF_VIEW_BUILTIN)
        return rf_write_builtin_table(p, how, to, err);
    struct rf_profile *shown;
    struct rf_row *row = NULL;
    char **place = NULL;
    size_t n = 0;
    enum rf_column column[RF_COLUMNS];
    size_t n_columns = rf_columns_shown(p, how, column);
    enum rf_status status = rf_printable(p, how, rf_columns_apart(column, n_columns), &shown, err);
    if (status != RF_OK)
        return status;
    status = rf_rows(shown, &row, err);
    if (status != RF_OK)
        goto out;
    size_t all = rf_profile_frames(shown);
    rf_rows_by_both(row, all);
    size_t most = how->rows && how->rows < all ? how->rows : all;
    place = calloc(most + 1, sizeof *place);
    while (place && n < most && (place[n] = where(&row[n].frame)))
        n++;
    if (!place || n < most) {
        status = rf_fail(err, RF_FAILURE, 0, "out of memory while writing %zu rows", most);
        goto out;
    }
    if (n)
        put_rows(p, row, place, n, rf_profile_weight_ns(shown), how, to);
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
