/* threads.c: keeps the list of threads and reads their stat and schedstat. */
#include "threads.h"
#include "procfs.h"
#include "stop.h"

#include "clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* So many descriptors are kept, and of those that the process may have no more than this share: files are yet to be
 * written. A thread that only sleeps needs one. */
enum { KEEP_OPEN = 500, SHARE_PERCENT = 70, FIRST_STACK = 256 * 1024 };

bool rf_threads_open(struct rf_threads *ts, const struct rf_process *p)
{
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    *ts = (struct rf_threads){.task_fd = openat(p->proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    ts->highest_fd = limit.rlim_cur < INT_MAX / 100 ? (int)limit.rlim_cur * SHARE_PERCENT / 100 : INT_MAX;
    return ts->task_fd >= 0;
}

static void close_one(struct rf_threads *ts, int *fd)
{
    if (*fd < 0)
        return;
    close(*fd);
    *fd = -1;
    ts->open--;
}

static void forget(struct rf_threads *ts, struct rf_thread *t)
{
    close_one(ts, &t->stat_fd);
    close_one(ts, &t->sched_fd);
}

void rf_threads_close(struct rf_threads *ts)
{
    for (size_t i = 0; i < ts->n; i++)
        forget(ts, &ts->v[i]);
    free(ts->v);
    if (ts->task_fd >= 0)
        close(ts->task_fd);
    *ts = (struct rf_threads){.task_fd = -1};
}

size_t rf_threads_count(const struct rf_threads *ts)
{
    struct stat task;
    return fstat(ts->task_fd, &task) == 0 && task.st_nlink > 2 ? (size_t)task.st_nlink - 2 : 0;
}

static bool read_task(struct rf_threads *ts, pid_t tid, int *fd, bool keep_open, const char *name, char *to, size_t n)
{
    char path[32];
    if (*fd < 0) {
        snprintf(path, sizeof path, "%d/%s", (int)tid, name);
        if (!keep_open || ts->open >= KEEP_OPEN)
            return rf_procfs_read(ts->task_fd, path, to, n);
        *fd = openat(ts->task_fd, path, O_RDONLY | O_CLOEXEC);
        ts->open += *fd >= 0;
    }
    ssize_t got = *fd >= 0 ? pread(*fd, to, n - 1, 0) : -1;
    to[got > 0 ? got : 0] = 0;
    if (*fd > ts->highest_fd)
        close_one(ts, fd);
    return got > 0;
}

char rf_thread_state(struct rf_threads *ts, struct rf_thread *t, unsigned *cpu)
{
    char text[512];
    *cpu = ~0u;
    if (!read_task(ts, t->tid, &t->stat_fd, t->seen_running, "stat", text, sizeof text))
        return 'X';
    const char *state = rf_procfs_stat_field(text, 3);
    if (!state)
        return 'X';
    const char *processor = *state == 'R' || *state == 'S' ? rf_procfs_stat_field(text, 39) : NULL;
    if (processor)
        *cpu = (unsigned)strtoul(processor, NULL, 10);
    t->seen_running |= *state == 'R';
    return *state;
}

bool rf_thread_read_cpu(struct rf_threads *ts, struct rf_thread *t)
{
    char text[96];
    if (!read_task(ts, t->tid, &t->sched_fd, true, "schedstat", text, sizeof text))
        return false;
    char *rest;
    t->used_ns = strtoull(text, &rest, 10);
    t->waited_ns = strtoull(rest, &rest, 10);
    t->runs = strtoull(rest, NULL, 10);
    return true;
}

/* "number arguments... sp pc" of a thread that sleeps, else "running" (proc(5)). */
bool rf_thread_sleeps_at(const struct rf_threads *ts, const struct rf_thread *t, uint64_t sp, uint64_t pc)
{
    char path[32], text[256];
    unsigned long long at_sp, at_pc;
    snprintf(path, sizeof path, "%d/syscall", (int)t->tid);
    return rf_procfs_read(ts->task_fd, path, text, sizeof text) &&
           sscanf(text, "%*d %*x %*x %*x %*x %*x %*x %llx %llx", &at_sp, &at_pc) == 2 && at_sp == sp && at_pc == pc;
}

/* The order of the list is that of creation, so the search goes on where the last one ended. */
static struct rf_thread *find(struct rf_thread *v, size_t n, pid_t tid, size_t *at)
{
    for (size_t i = 0; i < n; i++) {
        size_t k = (*at + i) % n;
        if (v[k].tid == tid) {
            *at = k + 1;
            return &v[k];
        }
    }
    return NULL;
}

/* Appends one thread to *to: as known before, or new. */
static bool keep(const struct rf_threads *ts, struct rf_threads *to, pid_t tid, size_t *at, bool *born)
{
    if (to->n == to->room) {
        size_t room = to->room ? to->room * 2 : 16;
        struct rf_thread *more = realloc(to->v, room * sizeof *more);
        if (!more)
            return false;
        to->v = more;
        to->room = room;
    }
    struct rf_thread *t = &to->v[to->n++], *old = find(ts->v, ts->n, tid, at);
    if (old) {
        *t = *old;
        old->tid = 0;
        return true;
    }
    *born = true;
    *t = (struct rf_thread){.tid = tid, .stat_fd = -1, .sched_fd = -1, .stack_slice = FIRST_STACK};
    t->sampled_ns = rf_now_ns();
    t->put_off.seen_ns = ts->late_ns;
    if (!ts->listed && rf_thread_read_cpu(to, t)) {
        t->charged_ns = t->used_ns;
        t->opened_waited_ns = t->waited_ns;
    }
    to->born += ts->listed;
    return true;
}

bool rf_threads_refresh(struct rf_threads *ts, bool *born)
{
    struct rf_threads now = {.task_fd = ts->task_fd,
                             .highest_fd = ts->highest_fd,
                             .open = ts->open,
                             .late_ns = ts->late_ns,
                             .listed = true,
                             .ended = ts->ended,
                             .born = ts->born};
    _Alignas(struct dirent64) char entries[8192];
    size_t at = 0;
    bool fine = true;
    ssize_t got;
    *born = false;
    lseek(ts->task_fd, 0, SEEK_SET);
    while (fine && (got = getdents64(ts->task_fd, entries, sizeof entries)) > 0) {
        for (ssize_t k = 0; fine && k < got;) {
            const struct dirent64 *d = (const struct dirent64 *)(entries + k);
            pid_t tid = (pid_t)strtol(d->d_name, NULL, 10);
            if (tid > 0)
                fine = keep(ts, &now, tid, &at, born);
            k += d->d_reclen;
        }
    }
    /* A thread listed twice would be found once and then be new; where memory ran out the rest is forgotten. */
    for (size_t i = 0; i < ts->n; i++)
        if (ts->v[i].tid) {
            forget(&now, &ts->v[i]);
            now.ended++;
        }
    free(ts->v);
    *ts = now;
    return fine;
}
