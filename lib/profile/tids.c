/* tids.c: a table of threads by their id. A name stays with its id for as long as the table lives. */
#include "tids.h"

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(item) ((void)(item))
#include <uthash.h>

struct thread {
    struct rf_tid shown; /* first member */
    UT_hash_handle hh;
    char comm[16], name[32];
};

struct rf_tids {
    pid_t pid;
    unsigned workers;
    struct thread *threads;
};

struct rf_tids *rf_tids_new(pid_t pid)
{
    struct rf_tids *t = calloc(1, sizeof *t);
    if (t)
        t->pid = pid;
    return t;
}

void rf_tids_free(struct rf_tids *t)
{
    if (!t)
        return;
    struct thread *one, *next;
    HASH_ITER (hh, t->threads, one, next) {
        HASH_DEL(t->threads, one);
        free(one);
    }
    free(t);
}

pid_t rf_tids_pid(const struct rf_tids *t)
{
    return t->pid;
}

static struct thread *find(const struct rf_tids *t, pid_t tid)
{
    struct thread *one;
    HASH_FIND(hh, t->threads, &tid, sizeof tid, one);
    return one;
}

const struct rf_tid *rf_tids_find(const struct rf_tids *t, pid_t tid)
{
    struct thread *one = find(t, tid);
    return one ? &one->shown : NULL;
}

const struct rf_tid *rf_tids_next(const struct rf_tids *t, const struct rf_tid *after)
{
    const struct thread *one = after ? ((const struct thread *)after)->hh.next : t->threads;
    return one ? &one->shown : NULL;
}

static void name(struct rf_tids *t, struct thread *one, bool worker)
{
    int n;
    if (one->shown.tid == t->pid) {
        n = snprintf(one->name, sizeof one->name, "main");
    } else if (worker) {
        one->shown.worker = ++t->workers;
        n = snprintf(one->name, sizeof one->name, "worker-%u", one->shown.worker);
    } else {
        n = snprintf(one->name, sizeof one->name, "%.*s-%d", (int)one->shown.comm.n, one->comm, (int)one->shown.tid);
    }
    one->shown.name = (struct rf_text){one->name, (size_t)n};
}

const struct rf_tid *rf_tids_add(struct rf_tids *t, pid_t tid, struct rf_text comm, bool worker)
{
    struct thread *one = find(t, tid);
    if (one) {
        if (worker && !one->shown.worker)
            name(t, one, true);
        return &one->shown;
    }
    one = calloc(1, sizeof *one);
    if (!one)
        return NULL;
    one->shown.tid = tid;
    one->shown.pid = t->pid;
    one->shown.number = HASH_COUNT(t->threads);
    one->shown.comm = (struct rf_text){one->comm, comm.n < sizeof one->comm ? comm.n : sizeof one->comm};
    if (comm.n)
        memcpy(one->comm, comm.s, one->shown.comm.n);
    HASH_ADD(hh, t->threads, shown.tid, sizeof tid, one);
    if (!one->hh.tbl) {
        free(one);
        return NULL;
    }
    name(t, one, worker);
    return &one->shown;
}

const struct rf_tid *rf_tids_take(struct rf_tids *t, const struct rf_tid *from)
{
    const struct rf_tid *known = rf_tids_find(t, from->tid);
    if (known || !rf_tids_add(t, from->tid, from->comm, from->worker != 0))
        return known;
    struct thread *one = find(t, from->tid);
    one->shown.pid = from->pid;
    return &one->shown;
}
