/* join.c: the profiles of several sessions as one, in which each process has a root of its own. */
#include "rfprof.h"

#include "profile/profile.h"
#include "report/view.h"

#include <stdlib.h>
#include <string.h>

struct rf_joined {
    struct rf_profile *profile;
    struct rf_tids *tids; /* of its log */
};

/* One of those that are joined. */
struct part {
    const struct rf_profile *from;
    const char *folder; /* names are resolved against it; NULL: they are not */
    uint32_t *node;     /* its nodes -> nodes of the joined profile */
    size_t next;        /* event of its log */
};

/* Its frame in the joined profile; UINT32_MAX when out of memory. */
static uint32_t take_frame(struct rf_profile *to, const struct part *part, uint32_t frame)
{
    struct rf_frame f = rf_profile_frame(part->from, frame);
    struct rf_text path = {NULL, 0};
    if (part->folder && f.kind == RF_KIND_RAYFALL) {
        f.file = path = rf_full_path(part->folder, f.file);
        if (!path.s)
            return UINT32_MAX;
    }
    uint32_t taken = rf_profile_intern(to, &f);
    free((char *)path.s);
    return taken;
}

/* Its nodes below a root of the name. */
static bool take_nodes(struct rf_profile *to, struct part *part, const char *name)
{
    struct rf_frame root = {.kind = RF_KIND_PROCESS, .file = {"", 0}, .fn = {name, strlen(name)}, .named = true};
    size_t n = rf_profile_nodes(part->from);
    part->node = calloc(n, sizeof *part->node);
    uint32_t at = part->node ? rf_profile_place(to, 0, &root, 1) : UINT32_MAX;
    if (at == UINT32_MAX)
        return false;
    part->node[0] = at;
    for (size_t i = 1; i < n; i++) { /* parents come first */
        struct rf_node node = rf_profile_node(part->from, i);
        uint32_t frame = take_frame(to, part, node.frame);
        at = frame == UINT32_MAX ? frame : rf_profile_child(to, part->node[node.parent], frame);
        if (at == UINT32_MAX)
            return false;
        part->node[i] = at;
        rf_profile_charge(to, at, node.self_samples,
                          (struct rf_charge){.weight_ns = node.self_ns, .pool_ns = node.pool_ns});
    }
    return true;
}

/* The logs, which are ascending by time, as one that is. */
static bool take_logs(struct rf_joined *j, struct part *part, size_t n)
{
    struct rf_log *to = rf_profile_log(j->profile);
    for (;;) {
        struct part *first = NULL;
        const struct rf_event *event = NULL;
        for (size_t i = 0; i < n; i++) {
            const struct rf_log *log = rf_profile_log(part[i].from);
            if (log && part[i].next < log->n && (!event || log->event[part[i].next].time_ns < event->time_ns)) {
                first = &part[i];
                event = &log->event[part[i].next];
            }
        }
        if (!event)
            return true;
        const struct rf_tid *thread = rf_tids_find(rf_profile_log(first->from)->tids, event->tid);
        if (thread && !rf_tids_take(j->tids, thread))
            return false;
        struct rf_event taken = *event;
        taken.node = first->node[event->node];
        rf_log_add(to, taken);
        first->next++;
    }
}

enum rf_status rf_join(struct rf_joined **out, struct rf_session *const *session, const char *const *name, size_t n,
                       bool full_paths, struct rf_error *err)
{
    struct rf_joined *j = calloc(1, sizeof *j);
    struct part *part = calloc(n, sizeof *part);
    bool done = j && part && (j->profile = rf_profile_new()) != NULL;
    bool log = n && rf_profile_log(rf_session_profile(session[0]));
    if (done && log)
        done = (j->tids = rf_tids_new(0)) != NULL && rf_profile_keep_log(j->profile, j->tids);
    for (size_t i = 0; done && i < n; i++) {
        part[i].from = rf_session_profile(session[i]);
        part[i].folder = full_paths ? rf_session_folder(session[i]) : NULL;
        done = take_nodes(j->profile, &part[i], name[i]);
    }
    if (done && log)
        done = take_logs(j, part, n);
    for (size_t i = 0; part && i < n; i++)
        free(part[i].node);
    free(part);
    *out = done ? j : NULL;
    if (done)
        return RF_OK;
    rf_joined_free(j);
    return rf_fail(err, RF_FAILURE, 0, "out of memory while joining the profiles of %zu processes", n);
}

const struct rf_profile *rf_joined_profile(const struct rf_joined *j)
{
    return j->profile;
}

void rf_joined_free(struct rf_joined *j)
{
    if (!j)
        return;
    rf_profile_free(j->profile);
    rf_tids_free(j->tids);
    free(j);
}
