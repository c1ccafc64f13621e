/* top_page.c: how a page is laid out: what is left out first when there is little room, and where texts are cut.
 *
 * Texts come escaped out of the library: no control characters, valid UTF-8. Quotes and backslashes are as they were,
 * since nothing parses a page. What the locale cannot print, and what would turn the direction of writing around, is a
 * question mark. */
#include "top.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* Columns: of two shares, "100.0%  100.0%", and of one that stands alone; between two columns; of the narrowest name.
 * Both times are shown from BOTH columns on, the source from SOURCE on. Heads of four lines need TALL lines. */
enum {
    SHARES = 14,
    SHARE = 8,
    GAP = 2,
    LEAST = 8,
    BOTH = 64,
    SOURCE = 72,
    TALL = 9,
    HEAD = 4,
    SHORT_HEAD = 2,
    LINE_BYTES = 4096
};

/* --- texts --- */

struct letter {
    const char *s; /* what is printed for it */
    size_t n, used, width;
};

static struct letter letter_at(struct rf_text t, size_t at)
{
    wchar_t c;
    mbstate_t state = {0};
    if (t.n - at >= 2 && t.s[at] == '\\' && (t.s[at + 1] == '"' || t.s[at + 1] == '\\'))
        return (struct letter){t.s + at + 1, 1, 2, 1};
    size_t n = mbrtowc(&c, t.s + at, t.n - at, &state);
    bool whole = n && n != (size_t)-1 && n != (size_t)-2;
    int width = whole ? wcwidth(c) : -1;
    bool turns =
        whole && ((c >= 0x200e && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069));
    if (width < 0 || turns)
        return (struct letter){"?", 1, whole ? n : 1, 1};
    return (struct letter){t.s + at, n, n, (size_t)width};
}

static size_t width_of(struct rf_text t)
{
    size_t width = 0;
    for (size_t i = 0; i < t.n;) {
        struct letter l = letter_at(t, i);
        width += l.width;
        i += l.used;
    }
    return width;
}

/* A line of the page in the making. */
struct line {
    const struct top_paper *paper;
    size_t used; /* columns */
};

/* Puts t in exactly `room` columns: filled up with blanks, or cut, at its beginning or at its end, where ".." stands
 * for what is missing. What the paper has no room for is left out. */
static void put_cell(struct line *line, enum top_style style, struct rf_text t, size_t room, bool keep_end)
{
    char to[LINE_BYTES];
    size_t n = 0, used = 0, at = 0;
    size_t left = line->paper->width > line->used ? line->paper->width - line->used : 0;
    room = room < left ? room : left;
    size_t width = width_of(t);
    bool cut = width > room;
    const char *mark = room >= 2 ? ".." : "";
    size_t most = room - strlen(mark) * cut;
    for (; cut && keep_end && width > most; at += letter_at(t, at).used)
        width -= letter_at(t, at).width;
    if (cut && keep_end) {
        n = (size_t)snprintf(to, sizeof to, "%s", mark);
        used = n;
        most = room;
    }
    while (at < t.n && n + MB_LEN_MAX + 3 < sizeof to) {
        struct letter l = letter_at(t, at);
        if (used + l.width > most)
            break;
        memcpy(to + n, l.s, l.n);
        n += l.n;
        used += l.width;
        at += l.used;
    }
    if (cut && !keep_end) {
        n += (size_t)snprintf(to + n, sizeof to - n, "%s", mark);
        used += strlen(mark);
    }
    for (; used < room && n + 1 < sizeof to; used++)
        to[n++] = ' ';
    to[n] = '\0';
    line->paper->put(line->paper->ctx, style, to);
    line->used += used;
}

static struct rf_text text(const char *s)
{
    return (struct rf_text){s, strlen(s)};
}

/* All of it, as far as the paper goes. */
static void put(struct line *line, enum top_style style, const char *s)
{
    put_cell(line, style, text(s), width_of(text(s)), false);
}

static void end(struct line *line)
{
    line->paper->end_line(line->paper->ctx);
    line->used = 0;
}

/* --- the head --- */

static double percent(uint64_t part, double whole)
{
    return whole > 0 ? 100.0 * (double)part / whole : 0.0;
}

/* A line with a remark at its right end. */
static void put_head(const struct top_page *page, struct line *line, const char *s)
{
    size_t width = line->paper->width, remark = page->remark ? strlen(page->remark) : 0;
    put_cell(line, STYLE_HEAD, text(s), width > remark ? width - remark : 0, false);
    if (remark)
        put(line, STYLE_HEAD, page->remark);
    end(line);
}

static void put_first_line(const struct top_page *page, struct line *line)
{
    const struct top_model *m = page->model;
    const struct rf_account *a = &m->account;
    uint64_t lost = a->lost_exited + a->lost_timeout + a->lost_traced + a->lost_other;
    char s[200];
    int n = snprintf(s, sizeof s, "rfprof %d  %.0f s  %.4g Hz%s  %" PRIu64 " samples", page->options->pid, m->all_s,
                     m->rate, m->rate < page->options->rate ? " (lowered: --max-stop)" : "", a->samples);
    if (a->waited)
        n += snprintf(s + n, sizeof s - (size_t)n, ", %" PRIu64 " waiting", a->waited);
    if (lost)
        snprintf(s + n, sizeof s - (size_t)n, ", %" PRIu64 " lost%s", lost,
                 a->lost_traced > lost / 2 ? " to another tracer" : "");
    put_head(page, line, s);
}

/* Instead of three lines where there is no room for them. */
static void put_only_line(const struct top_page *page, struct line *line)
{
    const struct top_model *m = page->model;
    char s[200];
    snprintf(s, sizeof s, "%d CPU %.0f%% by %s, %s %.0f s", page->options->pid,
             percent(m->lately_charged_ns, m->lately_s * 1e9), rf_views()[m->view[m->at]].name,
             m->by_all ? "all" : "last", m->by_all ? m->all_s : m->lately_s);
    put_head(page, line, s);
}

/* Some of them may have ended since. */
static size_t busy_threads(const struct top_model *m)
{
    size_t n = 0;
    while (n < m->threads->n && m->threads->row[n].since.self_ns)
        n++;
    return n;
}

static void put_cpu_line(const struct top_page *page, struct line *line)
{
    const struct top_model *m = page->model;
    char s[200];
    int n = snprintf(s, sizeof s, "CPU %.0f%% (all %.0f%%)  held %.2f%%  ",
                     percent(m->lately_charged_ns, m->lately_s * 1e9), percent(m->account.charged_ns, m->all_s * 1e9),
                     percent(m->lately_held_ns, m->lately_s * 1e9));
    if (m->account.threads)
        snprintf(s + n, sizeof s - (size_t)n, "%u thread%s%s", m->account.threads, m->account.threads == 1 ? "" : "s",
                 busy_threads(m) > m->account.threads ? " now" : "");
    else
        snprintf(s + n, sizeof s - (size_t)n, "ended");
    put(line, STYLE_PLAIN, s);
    for (size_t i = 0; i < m->threads->n && m->threads->row[i].since.self_ns; i++) {
        const struct rf_listed *t = &m->threads->row[i];
        snprintf(s, sizeof s, "%s%.*s %.0f%%", i ? ", " : ": ", (int)t->fn.n, t->fn.s,
                 percent(t->since.self_ns, m->lately_s * 1e9));
        if (line->used + width_of(text(s)) > line->paper->width)
            break;
        put(line, STYLE_PLAIN, s);
    }
    end(line);
}

/* --- rows --- */

struct columns {
    bool lately, all;         /* which times have shares */
    bool self;                /* and whether they have both: what a builtin costs itself cannot be told */
    size_t where, fn, source; /* widths; 0: not shown */
};

/* "file:line" of a row, which the view may not have. The caller frees; NULL when out of memory. */
static char *where(const struct rf_listed *row)
{
    char *s = NULL;
    int n = row->line ? asprintf(&s, "%.*s:%" PRIu32, (int)row->file.n, row->file.s, row->line)
                      : asprintf(&s, "%.*s", (int)row->file.n, row->file.s);
    return n < 0 ? NULL : s;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Names get what they need, but of a narrow page not to each other's cost: the last column has the rest. */
static struct columns fit(const struct top_page *page, size_t width, size_t n)
{
    const struct top_model *m = page->model;
    enum rf_view view = m->view[m->at];
    bool both = width >= BOTH;
    struct columns c = {.lately = both || !m->by_all, .all = both || m->by_all, .self = view != RF_VIEW_BUILTIN};
    bool lines = view == RF_VIEW_LINE;
    bool names = view != RF_VIEW_FILE, files = view != RF_VIEW_BUILTIN && view != RF_VIEW_THREAD;
    size_t shares = (c.self ? (size_t)SHARES : SHARE) + GAP;
    size_t taken = shares * ((size_t)c.lately + c.all), widest_where = 5, widest_fn = 2;
    size_t room = width > taken + LEAST ? width - taken : LEAST;
    for (size_t i = page->from; i < m->rows->n && i < page->from + n; i++) {
        const struct rf_listed *row = &m->rows->row[i];
        char *place = where(row);
        size_t w = place ? width_of(text(place)) : 0, f = width_of(row->fn);
        widest_where = w > widest_where ? w : widest_where;
        widest_fn = f > widest_fn ? f : widest_fn;
        free(place);
    }
    bool source = lines && width >= SOURCE;
    if (files)
        c.where = names ? least(widest_where, source ? room * 2 / 5 : room * 2 / 3) : room;
    size_t rest = room > c.where + GAP ? room - c.where - GAP : 0;
    if (!files)
        rest = room;
    if (names)
        c.fn = source ? least(widest_fn, rest * 2 / 5) : rest;
    if (source)
        c.source = rest > c.fn + GAP ? rest - c.fn - GAP : 0;
    return c;
}

static void put_gap(struct line *line)
{
    put(line, STYLE_PLAIN, "  ");
}

/* The title of a share has a mark where rows are sorted by it. */
static void put_share_title(struct line *line, const char *name, bool sorted, bool alone)
{
    char s[16];
    snprintf(s, sizeof s, "%s%s", sorted ? "*" : "", name);
    char padded[16];
    snprintf(padded, sizeof padded, "%*s", alone ? SHARE : 6, s);
    put(line, STYLE_TITLE, padded);
}

static void put_titles(const struct top_page *page, const struct columns *c, struct line *line)
{
    const struct top_model *m = page->model;
    bool by_total = m->by_total || !c->self;
    for (int all = 0; all < 2; all++) {
        bool sorted = m->by_all == (all == 1);
        if (!(all ? c->all : c->lately))
            continue;
        if (c->self) {
            put_share_title(line, "self", sorted && !by_total, false);
            put(line, STYLE_TITLE, "  ");
        }
        put_share_title(line, "total", sorted && by_total, !c->self);
        put(line, STYLE_TITLE, "  ");
    }
    enum rf_view view = m->view[m->at];
    if (c->where) {
        put_cell(line, STYLE_TITLE, text(view == RF_VIEW_LINE ? "where" : "file"), c->where, false);
        put(line, STYLE_TITLE, "  ");
    }
    const char *name = view == RF_VIEW_BUILTIN || view == RF_VIEW_THREAD ? rf_views()[view].name : "fn";
    if (c->fn)
        put_cell(line, STYLE_TITLE, text(view == RF_VIEW_QUERY ? "text" : name), c->fn, false);
    if (c->source) {
        put(line, STYLE_TITLE, "  ");
        put_cell(line, STYLE_TITLE, text("source"), c->source, false);
    }
    put_cell(line, STYLE_TITLE, text(""), line->paper->width, false);
    end(line);
}

/* Says over the shares which time they are of, and what the rows are. */
static void put_times(const struct top_page *page, const struct columns *c, struct line *line)
{
    const struct top_model *m = page->model;
    size_t shares = c->self ? (size_t)SHARES : SHARE;
    char s[80];
    if (c->lately) {
        snprintf(s, sizeof s, "last %.0f s", m->lately_s);
        put_cell(line, STYLE_PLAIN, text(s), shares, false);
        put_gap(line);
    }
    if (c->all) {
        snprintf(s, sizeof s, "all %.0f s", m->all_s);
        put_cell(line, STYLE_PLAIN, text(s), shares, false);
        put_gap(line);
    }
    snprintf(s, sizeof s, "by %s", rf_views()[m->view[m->at]].name);
    put(line, STYLE_PLAIN, s);
    if (m->view[m->at] == RF_VIEW_BUILTIN)
        put(line, STYLE_PLAIN, ", with what they call");
    end(line);
}

static void put_share(struct line *line, uint64_t part, uint64_t whole, bool alone)
{
    char s[16];
    double share = whole ? 100.0 * (double)part / (double)whole : 0.0;
    snprintf(s, sizeof s, "%*.1f%%", alone ? SHARE - 1 : 5, share);
    put(line, share >= 20 ? STYLE_HOT : share >= 5 ? STYLE_WARM : STYLE_PLAIN, s);
}

static void put_shares(struct line *line, const struct rf_cost *cost, uint64_t whole, bool self)
{
    if (self) {
        put_share(line, cost->self_ns, whole, false);
        put_gap(line);
    }
    put_share(line, cost->total_ns, whole, !self);
    put_gap(line);
}

static void put_row(const struct top_model *m, const struct rf_listed *row, const struct columns *c, struct line *line)
{
    if (c->lately)
        put_shares(line, &row->since, m->rows->since_ns, c->self);
    if (c->all)
        put_shares(line, &row->all, m->rows->all_ns, c->self);
    char *place = where(row);
    if (c->where) {
        put_cell(line, STYLE_WHERE, text(place ? place : ""), c->where, true);
        put_gap(line);
    }
    if (c->fn)
        put_cell(line, STYLE_PLAIN, row->fn, c->fn, false);
    if (c->source) {
        put_gap(line);
        put_cell(line, STYLE_SOURCE, row->source, c->source, false);
    }
    free(place);
    end(line);
}

static size_t head_lines(const struct top_paper *paper)
{
    return !paper->height || paper->height >= TALL ? HEAD : SHORT_HEAD;
}

size_t page_rows(const struct top_paper *paper)
{
    size_t head = head_lines(paper);
    return !paper->height ? SIZE_MAX / 2 : paper->height > head ? paper->height - head : 1;
}

static void put_no_samples(const struct top_page *page, struct line *line)
{
    char s[80];
    const struct rf_account *a = &page->model->account;
    if (a->stopped)
        snprintf(s, sizeof s, "no samples yet: it is stopped (SIGSTOP): kill -CONT %d", page->options->pid);
    else
        snprintf(s, sizeof s, "no samples yet: it %s",
                 (double)a->delay_ns > page->model->all_s * 1e9 / 2 ? "waits for a CPU: the machine is full"
                                                                    : "sleeps");
    put(line, STYLE_PLAIN, s);
    end(line);
}

void page_draw(const struct top_page *page, const struct top_paper *paper)
{
    const struct top_model *m = page->model;
    struct line line = {.paper = paper};
    size_t n = page_rows(paper), left = paper->height ? paper->height : SIZE_MAX;
    struct columns c = fit(page, paper->width, n);
    if (head_lines(paper) == HEAD) {
        put_first_line(page, &line);
        put_cpu_line(page, &line);
        put_times(page, &c, &line);
    } else {
        put_only_line(page, &line);
    }
    if (left > 1)
        put_titles(page, &c, &line);
    if (left > 2 && !m->rows->n && !m->account.samples && m->all_s >= 1) {
        put_no_samples(page, &line);
    }
    for (size_t i = page->from; left > 2 && i < m->rows->n && i < page->from + n; i++)
        put_row(m, &m->rows->row[i], &c, &line);
}

void page_help(const char *found, const struct top_paper *paper)
{
    static const char *const lines[] = {
        "Tab, v     the next view: line, fn,",
        "           builtin, file, query, thread",
        "V          the view before",
        "s t        sort by self, by total",
        "w          sort by the last seconds,",
        "           or by all since the start",
        "space      stand still; sampling goes on",
        "Up Down PgUp PgDn Home   move",
        "q, Ctrl-C  leave     ?  this help",
        "",
        "self    CPU time in the row itself",
        "total   and in what it calls",
        "        (shares of what was sampled)",
        "held    how long threads were stopped",
        "        by rfprof, of all time",
        "waiting looks that found a thread",
        "        waiting for a CPU",
        "lost    it did not stop in time;",
        "        shares are right without it",
        "",
    };
    struct line line = {.paper = paper};
    size_t n = sizeof lines / sizeof *lines;
    for (size_t i = 0; i < n && (!paper->height || i < paper->height); i++) {
        put(&line, STYLE_PLAIN, lines[i]);
        end(&line);
    }
    if (!paper->height || n < paper->height) {
        put(&line, STYLE_PLAIN, found);
        end(&line);
    }
}
