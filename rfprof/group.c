/* group.c: several sessions as if they were one. */
#include "group.h"
#include "console.h"
#include "summary.h"
#include "target.h"

#include <string.h>

static void name_member(struct member *m)
{
    char path[64], comm[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", m->pid);
    FILE *file = fopen(path, "re");
    if (file && !fgets(comm, sizeof comm, file))
        comm[0] = '\0';
    if (file)
        fclose(file);
    comm[strcspn(comm, "\n")] = '\0';
    snprintf(m->name, sizeof m->name, "%s-%d", comm, m->pid);
}

enum rf_status group_open(struct group *g, const struct options *o, struct rf_session_options *how,
                          struct rf_error *err)
{
    *g = (struct group){.n = 0};
    for (size_t i = 0; i <= o->n_others; i++) {
        pid_t named = i ? o->other[i - 1] : o->pid;
        struct member *m = &g->member[g->n];
        *m = (struct member){.pid = process_of(named), .rate = o->rate};
        if (m->pid != named && !o->quiet)
            note("%d is a thread of process %d, which is sampled", named, m->pid);
        for (size_t k = 0; k < g->n; k++)
            if (g->member[k].pid == m->pid)
                return rf_fail(err, RF_USAGE, 0, "process %d is named twice", m->pid);
        name_member(m);
        how->pid = m->pid;
        enum rf_status status = rf_session_open(&m->session, how, err);
        if (status != RF_OK)
            return status;
        g->n++;
        m->waiting = !how->starting && rf_session_started(m->session, NULL) != RF_OK;
        if (o->full_paths && !rf_session_folder(m->session))
            return rf_fail(err, RF_FAILURE, 0, "cannot read the working directory of %d, for --full-paths", m->pid);
    }
    return RF_OK;
}

void group_close(struct group *g)
{
    rf_joined_free(g->joined);
    for (size_t i = 0; i < g->n; i++)
        rf_session_close(g->member[i].session);
    g->n = 0;
    g->joined = NULL;
}

bool group_runs(struct group *g, const struct pollfd *fds)
{
    bool runs = false;
    for (size_t i = 0; i < g->n; i++) {
        struct member *m = &g->member[i];
        if (m->state != RF_RUNNING)
            continue;
        m->state = rf_session_state(m->session);
        if (fds++->revents && m->state == RF_RUNNING)
            m->state = RF_EXITED;
        runs = runs || m->state == RF_RUNNING;
    }
    return runs;
}

void group_look(struct group *g)
{
    struct pollfd fds[PIDS_MAX];
    size_t n = group_fds(g, fds);
    poll(fds, n, 0);
    group_runs(g, fds);
}

uint64_t group_next_ns(const struct group *g)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < g->n; i++)
        if (g->member[i].state == RF_RUNNING && rf_session_next_ns(g->member[i].session) < next)
            next = rf_session_next_ns(g->member[i].session);
    return next;
}

enum rf_status group_tick(struct group *g, uint64_t now, struct rf_error *err)
{
    enum rf_status status = RF_OK;
    for (size_t i = 0; i < g->n && status == RF_OK; i++) {
        struct member *m = &g->member[i];
        if (m->state == RF_RUNNING && rf_session_next_ns(m->session) <= now)
            status = rf_session_tick(m->session, err);
    }
    return status;
}

size_t group_fds(const struct group *g, struct pollfd *fds)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++)
        if (g->member[i].state == RF_RUNNING)
            fds[n++] = (struct pollfd){rf_session_pidfd(g->member[i].session), POLLIN, 0};
    return n;
}

enum rf_status group_profile(struct group *g, bool full_paths, const struct rf_profile **out, struct rf_error *err)
{
    struct rf_session *session[PIDS_MAX];
    const char *name[PIDS_MAX];
    if (g->n == 1) {
        *out = rf_session_profile(g->member[0].session);
        return RF_OK;
    }
    for (size_t i = 0; i < g->n; i++) {
        session[i] = g->member[i].session;
        name[i] = g->member[i].name;
    }
    rf_joined_free(g->joined);
    enum rf_status status = rf_join(&g->joined, session, name, g->n, full_paths, err);
    if (status == RF_OK)
        *out = rf_joined_profile(g->joined);
    return status;
}

void group_account(const struct group *g, struct rf_account *out)
{
    rf_session_account(g->member[0].session, out);
    for (size_t i = 1; i < g->n; i++) {
        struct rf_account a;
        rf_session_account(g->member[i].session, &a);
        out->samples += a.samples;
        out->ticks_taken += a.ticks_taken;
        out->charged_ns += a.charged_ns;
        out->delay_ns += a.delay_ns;
        out->stopped = out->stopped && a.stopped;
        if (a.wall_ns > out->wall_ns)
            out->wall_ns = a.wall_ns;
    }
}

char *group_summary(const struct group *g, bool verbose)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    for (size_t i = 0; to && i < g->n; i++) {
        struct rf_account a;
        rf_session_account(g->member[i].session, &a);
        if (g->n > 1)
            fprintf(to, "rfprof: %s\n", g->member[i].name);
        summary_print(to, &a, verbose);
    }
    if (to)
        fclose(to);
    return text;
}

enum rf_status group_started(const struct group *g, struct rf_error *err)
{
    for (size_t i = 0; i < g->n; i++) {
        enum rf_status status = rf_session_started(g->member[i].session, err);
        if (status != RF_OK)
            return status;
    }
    return RF_OK;
}
