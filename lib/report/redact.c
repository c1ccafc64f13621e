/* redact.c: what is saved with --no-text has to be without the texts itself, not only what is shown of it. */
#include "redact.h"
#include "view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The number of a text; texts are frames of `seen`. to is room for it. False when out of memory. */
static bool number(struct rf_profile *seen, struct rf_text *t, char *to, size_t size)
{
    if (!t->n)
        return true;
    uint32_t id = rf_profile_intern(seen, &(struct rf_frame){.fn = *t});
    if (id == UINT32_MAX)
        return false;
    snprintf(to, size, "<ipc #%" PRIu32 ">", id + 1);
    *t = (struct rf_text){to, strlen(to)};
    return true;
}

static uint32_t redacted_frame(struct rf_profile *to, struct rf_profile *seen, struct rf_frame f)
{
    char fn[32], query[32];
    if (!number(seen, &f.query, query, sizeof query))
        return UINT32_MAX;
    if (f.kind == RF_KIND_RAYFALL && rf_unfiled(f.file)) {
        f.expr = (struct rf_text){0};
        if (!f.named && !number(seen, &f.fn, fn, sizeof fn))
            return UINT32_MAX;
    }
    return rf_profile_intern(to, &f);
}

enum rf_status rf_redacted(const struct rf_profile *p, struct rf_profile **out, uint32_t **nodes, struct rf_error *err)
{
    size_t n = rf_profile_nodes(p), n_frames = rf_profile_frames(p);
    struct rf_profile *to = rf_profile_new(), *seen = rf_profile_new();
    uint32_t *frame = calloc(n_frames + 1, sizeof *frame), *node = calloc(n, sizeof *node);
    bool done = to && seen && frame && node;
    for (size_t i = 0; done && i < n_frames; i++) {
        frame[i] = redacted_frame(to, seen, rf_profile_frame(p, i));
        done = frame[i] != UINT32_MAX;
    }
    for (size_t i = 1; done && i < n; i++) {
        struct rf_node from = rf_profile_node(p, i);
        node[i] = rf_profile_child(to, node[from.parent], frame[from.frame]);
        done = node[i] != UINT32_MAX;
        if (done)
            rf_profile_charge(to, node[i], from.self_samples, (struct rf_charge){from.self_ns, from.pool_ns});
    }
    free(frame);
    rf_profile_free(seen);
    if (!done) {
        free(node);
        rf_profile_free(to);
        return rf_fail(err, RF_FAILURE, 0, "out of memory while writing %zu stacks", n);
    }
    *out = to;
    *nodes = node;
    return RF_OK;
}
