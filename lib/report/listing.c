/* listing.c: the rows of a view as data, with what each has cost lately.
 *
 * A profile only grows, and its nodes keep their numbers: so what every node held at an instant, taken from what it
 * holds now, is the profile of the time between. */
#include "rows.h"
#include "view.h"

#include <stdlib.h>

struct held {
    uint64_t samples, ns;
};

struct rf_instant {
    const struct rf_profile *of;
    size_t n;
    struct held node[];
};

enum rf_status rf_instant_take(const struct rf_profile *p, struct rf_instant **out, struct rf_error *err)
{
    size_t n = rf_profile_nodes(p);
    struct rf_instant *now = malloc(sizeof *now + n * sizeof *now->node);
    *out = now;
    if (!now)
        return rf_fail(err, RF_FAILURE, 0, "out of memory with %zu stacks", n);
    now->of = p;
    now->n = n;
    for (size_t i = 0; i < n; i++) {
        struct rf_node node = rf_profile_node(p, i);
        now->node[i] = (struct held){node.self_samples, node.self_ns};
    }
    return RF_OK;
}

void rf_instant_free(struct rf_instant *i)
{
    free(i);
}

/* For each node of a printable profile, what it has been charged since. NULL when out of memory. */
static struct held *charged_since(const struct rf_profile *p, const struct rf_instant *since,
                                  const struct rf_profile *shown, const uint32_t *node)
{
    struct held *charged = calloc(rf_profile_nodes(shown), sizeof *charged);
    size_t known = since && since->of == p ? since->n : 0;
    for (size_t i = 0; charged && i < rf_profile_nodes(p); i++) {
        struct rf_node now = rf_profile_node(p, i);
        struct held then = i < known ? since->node[i] : (struct held){0};
        charged[node[i]].samples += now.self_samples - then.samples;
        charged[node[i]].ns += now.self_ns - then.ns;
    }
    return charged;
}

/* The profile of these charges: nodes that have some, and those above them. NULL when out of memory. */
static struct rf_profile *profile_of(const struct rf_profile *shown, const struct held *charged)
{
    size_t n = rf_profile_nodes(shown);
    struct rf_profile *to = rf_profile_new();
    bool *used = calloc(n, sizeof *used);
    uint32_t *node = calloc(n, sizeof *node);
    bool done = to && used && node;
    for (size_t i = n; done && i-- > 1;) { /* children follow their parents */
        used[i] = used[i] || charged[i].samples || charged[i].ns;
        used[rf_profile_node(shown, i).parent] |= used[i];
    }
    for (size_t i = 0; done && i < n; i++) {
        if (i && used[i]) {
            struct rf_node from = rf_profile_node(shown, i);
            struct rf_frame f = rf_profile_frame(shown, from.frame);
            uint32_t frame = rf_profile_intern(to, &f);
            node[i] = frame == UINT32_MAX ? frame : rf_profile_child(to, node[from.parent], frame);
        }
        done = node[i] != UINT32_MAX;
        if (done && (used[i] || !i))
            rf_profile_charge(to, node[i], charged[i].samples, (struct rf_charge){.weight_ns = charged[i].ns});
    }
    free(used);
    free(node);
    if (done)
        return to;
    rf_profile_free(to);
    return NULL;
}

static struct rf_cost cost_of(const struct rf_row *row)
{
    return (struct rf_cost){row->self_ns, row->total_ns, row->samples};
}

/* Of each frame of a printable profile, where its row is. */
static bool index_rows(struct rf_profile *printable, const struct rf_row *row, size_t n, size_t *at)
{
    bool done = true;
    for (size_t i = 0; i < n && done; i++) {
        uint32_t frame = rf_profile_intern(printable, &row[i].frame); /* finds it: it is there */
        done = frame < n;
        if (done)
            at[frame] = i;
    }
    return done;
}

/* Fills the rows; `lately` is the profile of what has come since. False when out of memory. */
static bool fill(struct rf_listing *l, const struct rf_profile *lately, struct rf_error *err)
{
    size_t n_lately = rf_profile_frames(lately);
    struct rf_row *all = NULL, *since = NULL;
    l->n = rf_profile_frames(l->texts);
    l->row = calloc(l->n + 1, sizeof *l->row);
    size_t *at = calloc(l->n + 1, sizeof *at);
    bool done = l->row && at && rf_rows(l->texts, &all, err) == RF_OK && rf_rows(lately, &since, err) == RF_OK &&
                index_rows(l->texts, all, l->n, at);
    for (size_t i = 0; done && i < l->n; i++) {
        const struct rf_frame *f = &all[i].frame;
        l->row[i] = (struct rf_listed){
            .file = f->file, .fn = f->fn, .line = f->line, .source = f->source, .all = cost_of(&all[i])};
    }
    for (size_t i = 0; done && i < n_lately; i++) {
        uint32_t frame = rf_profile_intern(l->texts, &since[i].frame);
        done = frame < l->n;
        if (done)
            l->row[at[frame]].since = cost_of(&since[i]);
    }
    free(at);
    free(all);
    free(since);
    return done;
}

enum rf_status rf_listing_make(const struct rf_profile *p, const struct rf_instant *since, const struct rf_render *how,
                               struct rf_listing **out, struct rf_error *err)
{
    struct rf_render rows = {.view = how->view, .no_text = how->no_text, .folder = how->folder};
    struct rf_listing *l = calloc(1, sizeof *l);
    struct held *charged = NULL;
    struct rf_profile *lately = NULL;
    uint32_t *node = NULL;
    *out = NULL;
    enum rf_status status = l ? rf_printable_nodes(p, &rows, 0, &l->texts, &node, err) : RF_FAILURE;
    if (status == RF_OK) {
        charged = charged_since(p, since, l->texts, node);
        lately = charged ? profile_of(l->texts, charged) : NULL;
    }
    if (lately && fill(l, lately, err)) {
        l->all_ns = rf_profile_weight_ns(l->texts);
        l->since_ns = rf_profile_weight_ns(lately);
        *out = l;
    } else {
        status = rf_fail(err, RF_FAILURE, 0, "out of memory while listing %zu stacks", rf_profile_nodes(p));
        rf_listing_free(l);
    }
    rf_profile_free(lately);
    free(charged);
    free(node);
    return status;
}

void rf_listing_free(struct rf_listing *l)
{
    if (!l)
        return;
    rf_profile_free(l->texts);
    free(l->row);
    free(l);
}
