/* top_model.c: what a page of `rfprof top` says. */
#include "texts.h"
#include "top.h"

#include <stdlib.h>
#include <string.h>

static void views(struct top_model *m, enum rf_view first)
{
    static const enum rf_view usual[] = {RF_VIEW_LINE, RF_VIEW_FN,    RF_VIEW_BUILTIN,
                                         RF_VIEW_FILE, RF_VIEW_QUERY, RF_VIEW_THREAD};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (usual[i] == first)
            m->at = m->n_views;
        m->view[m->n_views++] = usual[i];
    }
    if (m->view[m->at] != first) { /* one that costs more, and is kept only when asked for */
        m->at = m->n_views;
        m->view[m->n_views++] = first;
    }
}

static void forget(struct top_model *m)
{
    for (size_t i = 0; i < TOP_MOMENTS; i++) {
        rf_instant_free(m->past[i].instant);
        m->past[i] = (struct top_moment){0};
    }
}

void model_end(struct top_model *m)
{
    forget(m);
    rf_listing_free(m->rows);
    rf_listing_free(m->threads);
    m->rows = m->threads = NULL;
}

/* The one that is longest ago; there is one since model_start. */
static const struct top_moment *oldest(const struct top_model *m)
{
    size_t i = m->next;
    while (!m->past[i % TOP_MOMENTS].ns)
        i++;
    return &m->past[i % TOP_MOMENTS];
}

/* Looks at the clocks, and remembers what they and the profile say. */
static enum rf_status remember(struct top_model *m, struct rf_session *s, uint64_t now, struct rf_error *err)
{
    const struct rf_profile *p = rf_session_profile(s);
    struct rf_instant *instant;
    enum rf_status status = rf_instant_take(p, &instant, err);
    if (status != RF_OK)
        return status;
    if (m->of != p) /* the session began another when its layout was confirmed */
        forget(m);
    m->of = p;
    rf_session_account(s, &m->account);
    struct top_moment *to = &m->past[m->next];
    rf_instant_free(to->instant);
    *to = (struct top_moment){now, instant, m->account.charged_ns, m->account.hold_total_ns};
    m->next = (m->next + 1) % TOP_MOMENTS;
    return RF_OK;
}

enum rf_status model_start(struct top_model *m, const struct options *o, struct rf_session *s, uint64_t now,
                           struct rf_error *err)
{
    memset(m, 0, sizeof *m);
    views(m, o->view);
    m->no_text = o->no_text;
    m->folder = o->full_paths ? rf_session_folder(s) : NULL;
    m->begin_ns = now;
    return remember(m, s, now, err);
}

struct order {
    bool by_total, by_all;
};

static int descending(uint64_t a, uint64_t b)
{
    return (a < b) - (a > b);
}

static int compare_costs(const struct rf_cost *a, const struct rf_cost *b, bool by_total)
{
    int self = descending(a->self_ns, b->self_ns), total = descending(a->total_ns, b->total_ns);
    return by_total ? (total ? total : self) : (self ? self : total);
}

/* Callers that tie must not change places from page to page. */
static int compare_names(const struct rf_listed *a, const struct rf_listed *b)
{
    int file = rf_text_compare(a->file, b->file), line = (a->line > b->line) - (a->line < b->line);
    return file ? file : line ? line : rf_text_compare(a->fn, b->fn);
}

static int compare(const void *va, const void *vb, void *ctx)
{
    const struct rf_listed *a = va, *b = vb;
    const struct order *o = ctx;
    int all = compare_costs(&a->all, &b->all, o->by_total);
    int since = compare_costs(&a->since, &b->since, o->by_total);
    int first = o->by_all ? all : since, second = o->by_all ? since : all;
    return first ? first : second ? second : compare_names(a, b);
}

enum rf_status model_list(struct top_model *m, const struct rf_session *s, struct rf_error *err)
{
    struct rf_listing *rows;
    struct rf_render how = {.view = m->view[m->at], .no_text = m->no_text, .folder = m->folder};
    enum rf_status status = rf_listing_make(rf_session_profile(s), oldest(m)->instant, &how, &rows, err);
    if (status != RF_OK)
        return status;
    struct order order = {m->by_total || how.view == RF_VIEW_BUILTIN, m->by_all};
    qsort_r(rows->row, rows->n, sizeof *rows->row, compare, &order);
    rf_listing_free(m->rows);
    m->rows = rows;
    return RF_OK;
}

static enum rf_status list_threads(struct top_model *m, const struct rf_session *s, struct rf_error *err)
{
    struct rf_listing *threads;
    struct rf_render how = {.view = RF_VIEW_THREAD};
    enum rf_status status = rf_listing_make(rf_session_profile(s), oldest(m)->instant, &how, &threads, err);
    if (status != RF_OK)
        return status;
    struct order order = {false, false};
    qsort_r(threads->row, threads->n, sizeof *threads->row, compare, &order);
    rf_listing_free(m->threads);
    m->threads = threads;
    return RF_OK;
}

enum rf_status model_look(struct top_model *m, struct rf_session *s, uint64_t now, struct rf_error *err)
{
    enum rf_status status = remember(m, s, now, err);
    if (status == RF_OK)
        status = model_list(m, s, err);
    if (status == RF_OK)
        status = list_threads(m, s, err);
    const struct top_moment *past = oldest(m);
    m->rate = rf_session_rate(s);
    m->all_s = (double)(now - m->begin_ns) / 1e9;
    m->lately_s = (double)(now - past->ns) / 1e9;
    m->lately_charged_ns = m->account.charged_ns - past->charged_ns;
    m->lately_held_ns = m->account.hold_total_ns - past->held_ns;
    return status;
}
