/* engine_ptrace.c: the engine that stops threads. A tick, from the top:
 *
 *   rf_engine_tick           in the caller: is the list of threads still right? then hands over and waits
 *     tick                   in the holder (holder.h): who may be running? (watch.h)
 *       look                 its state; if it runs:
 *         rf_engine_sample   stop, registers, stack, blocks, let go (sample.c)
 *
 * The file of a thread is read before each stop, never for all threads first: in between they would fall asleep. */
#include "engine_ptrace.h"
#include "copy.h"
#include "procfs.h"

#include "clock.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

enum {
    WOKEN_MAX = 16,                 /* sleeping threads stopped in one tick */
    LIST_EVERY_NS = 1000 * 1000000, /* at least */
    MAPS_EVERY_NS = 100 * 1000000,  /* at most */
    TRIES_MAX = 20,                 /* to stop a thread that has to be seen, */
    ONCE_WAIT_NS = 100 * 1000000,   /* waiting for so long each time: on a busy machine it takes its turn */
    DENIED_TICKS =
        20, /* another sampler may hold the thread at this moment, or we do, by the id it had before an exec */
};

/* --- in the holder ------------------------------------------------------------------------------------- */

static void look(void *ctx, struct rf_thread *t)
{
    struct rf_engine *e = ctx;
    char state = rf_thread_state(&e->watch.threads, t, &t->look.cpu);
    t->look.slept = state != 'R';
    e->running += state == 'R';
    if (state == 'R')
        rf_engine_sample(e, t, t->look.cpu, false);
    else if (state == 'X' || state == 'Z')
        e->list_old = true;
    else
        e->stats.slept++;
}

/* It sleeps where its last sample found it: that one counts once more. */
static void sleeps_on(struct rf_engine *e, struct rf_thread *t)
{
    e->asleep[e->n_asleep++] = (struct rf_asleep){t->tid, e->tick_ns, e->tick_ns - t->sampled_ns, t->sleep.mark};
    t->sampled_ns = e->tick_ns;
    t->put_off.seen_ns = e->late.total_ns; /* where it was in the gap is known */
    e->stats.samples++;
}

/* A thread that sleeps is stopped once, and then let be for as long as it is not given a CPU. Our stop itself gives it
 * two: to report it, and to go back to sleep. False where there was no time for it. */
static bool look_at_any(struct rf_engine *e, struct rf_thread *t)
{
    unsigned cpu;
    struct rf_sleep *at = &t->sleep;
    bool known = rf_thread_read_cpu(&e->watch.threads, t) && at->known != RF_SLEEP_UNKNOWN && at->marked;
    if (known && at->known == RF_SLEEP_SETTLED && t->runs == at->runs) {
        sleeps_on(e, t);
        return true;
    }
    char state = rf_thread_state(&e->watch.threads, t, &cpu);
    if (known && at->known == RF_SLEEP_STOPPED && state == 'S' && t->runs <= at->runs + 2 &&
        rf_thread_sleeps_at(&e->watch.threads, t, at->sp, at->pc)) {
        at->known = RF_SLEEP_SETTLED;
        at->runs = t->runs;
        sleeps_on(e, t);
    } else if (state == 'R') {
        rf_engine_sample(e, t, cpu, false);
    } else if (state == 'S') {
        if (e->woken == WOKEN_MAX)
            return false;
        e->woken++;
        rf_engine_sample(e, t, cpu, true);
    } else if (state == 'X' || state == 'Z') {
        e->list_old = true;
    } else { /* stopped, or uninterruptible: what it waits for is told later, if it comes back */
        e->stats.slept++;
    }
    return true;
}

/* All threads, beginning where the last tick ran out of time. */
static void tick_idle(struct rf_engine *e)
{
    size_t n = e->watch.threads.n, from = e->woken_at < n ? e->woken_at : 0;
    e->woken = e->woken_at = 0;
    for (size_t i = 0; i < n && i < e->asleep_room; i++) {
        size_t k = (from + i) % n;
        if (!look_at_any(e, &e->watch.threads.v[k]) && !e->woken_at)
            e->woken_at = (unsigned)k;
    }
    rf_watch_clock(&e->watch);
}

/* For rf_engine_once. */
static bool is_left(const struct rf_thread *t)
{
    return !t->taken && t->looked != 'X' && t->looked != 'Z' && t->tries < TRIES_MAX;
}

/* A thread that is stopped by a signal is in ptrace(2)'s eyes stopped already, and is so again when it is let go. */
static void tick_once(struct rf_engine *e)
{
    struct rf_threads *ts = &e->watch.threads;
    for (size_t i = 0; i < ts->n && e->n < RF_SLOTS_MAX; i++) {
        struct rf_thread *t = &ts->v[i];
        unsigned cpu;
        if (!is_left(t))
            continue;
        t->tries++;
        t->looked = rf_thread_state(ts, t, &cpu);
        t->stack_slice = RF_STACK_MAX;
        if (t->looked != 'X' && t->looked != 'Z')
            rf_engine_sample(e, t, cpu, t->looked == 'S');
    }
    rf_watch_clock(&e->watch);
}

static void tick(void *ctx)
{
    struct rf_engine *e = ctx;
    e->tick_ns = rf_now_ns();
    size_t cpus = (size_t)CPU_COUNT(&e->cpus);
    e->crowded = cpus > 0 && e->running >= cpus;
    e->running = 0;
    if (e->once)
        tick_once(e);
    else if (e->idle)
        tick_idle(e);
    else
        e->stats.slept += rf_watch_tick(&e->watch, look, e);
    e->stats.cpu_ns = e->watch.cpu_ns;
    e->list_old |= e->watch.strangers;
    assert(e->stopper.holds == 0);
}

static bool between(void *ctx)
{
    struct rf_engine *e = ctx;
    return rf_stop_serve(&e->stopper);
}

/* --- in the caller's process --------------------------------------------------------------------------- */

enum rf_status rf_engine_open(struct rf_engine **out, const struct rf_process *p, const struct rf_selector *selector,
                              struct rf_error *err)
{
    *out = NULL;
    struct rf_engine *e = calloc(1, sizeof *e);
    if (!e)
        return rf_fail(err, RF_FAILURE, ENOMEM, "out of memory");
    e->process = e->watch.process = p;
    e->stopper.pid = p->pid;
    if (selector)
        e->selector = *selector;
    CPU_ZERO(&e->cpus);
    sched_getaffinity(0, sizeof e->cpus, &e->cpus); /* fails with more than 1024 CPUs: then we stay where we are */
    bool born;
    enum rf_status status = RF_OK;
    if (!rf_threads_open(&e->watch.threads, p) || !rf_threads_refresh(&e->watch.threads, &born))
        status = rf_process_alive(p) ? rf_fail(err, RF_FAILURE, errno, "cannot list the threads of %d: %s", (int)p->pid,
                                               strerror(errno))
                                     : rf_fail_ended(p, err);
    e->watch.cpu_ns = e->stats.cpu_ns = e->stats.opened_cpu_ns = rf_process_cpu_ns(p);
    /* A seccomp filter forbids ptrace(2) as such; one that is allowed finds that the thread is not its tracee. */
    if (status == RF_OK && rf_raw(SYS_ptrace, PTRACE_PEEKUSER, p->pid, 0, 0, 0, 0) == -EPERM) {
        status = rf_fail(err, RF_PERMISSION, EPERM, "cannot attach to %d: %s", (int)p->pid, strerror(EPERM));
        rf_explain_permission(p, err);
    }
    if (status == RF_OK)
        status = rf_maps_read(p, &e->maps, err);
    if (status == RF_OK)
        status = rf_holder_open(&e->holder, &(struct rf_holder_work){tick, between, e}, err);
    if (status == RF_OK)
        *out = e;
    else
        rf_engine_close(e);
    return status;
}

void rf_engine_close(struct rf_engine *e)
{
    if (!e)
        return;
    rf_holder_close(e->holder);
    rf_threads_close(&e->watch.threads);
    rf_maps_free(&e->maps);
    for (size_t i = 0; i < e->n_slots; i++)
        rf_snapshot_free(e->slot[i]);
    free(e->asleep);
    free(e);
}

static bool room_for_sleepers(struct rf_engine *e)
{
    if (e->watch.threads.n <= e->asleep_room)
        return true;
    struct rf_asleep *more = realloc(e->asleep, e->watch.threads.n * sizeof *more);
    if (!more)
        return false;
    e->asleep = more;
    e->asleep_room = e->watch.threads.n;
    return true;
}

static bool renew(struct rf_engine *e)
{
    bool born = false;
    uint64_t now = rf_now_ns();
    if (e->list_old || now - e->list_ns >= LIST_EVERY_NS || rf_threads_count(&e->watch.threads) != e->watch.threads.n) {
        e->watch.threads.late_ns = e->late.total_ns;
        if (!rf_threads_refresh(&e->watch.threads, &born))
            return false;
        e->list_ns = now;
        e->list_old = false;
        if (e->idle && !room_for_sleepers(e))
            return false;
    }
    if ((born || e->maps_old) && now - e->maps_ns >= MAPS_EVERY_NS) {
        struct rf_maps maps;
        e->maps_ns = now;
        e->maps_old = false;
        if (rf_maps_read(e->process, &maps, NULL) == RF_OK) {
            rf_maps_free(&e->maps);
            e->maps = maps;
        }
    }
    return true;
}

/* Why SEIZE was not permitted: the thread was ending, or has another tracer; or this is for good. */
static bool forbidden(struct rf_engine *e, pid_t tid)
{
    char path[32], status[8192];
    uint64_t tracer = 0;
    snprintf(path, sizeof path, "%d/status", (int)tid);
    if (!rf_procfs_read(e->watch.threads.task_fd, path, status, sizeof status) || strstr(status, "\nState:\tZ") ||
        strstr(status, "\nState:\tX")) {
        e->stats.lost_exited++;
        e->list_old = true;
        return false;
    }
    if (rf_procfs_status(status, "TracerPid", 10, &tracer) && tracer != 0) {
        e->stats.lost_traced++;
        return false;
    }
    e->stats.lost_other++;
    return true;
}

enum rf_status rf_engine_tick(struct rf_engine *e, struct rf_snapshot *const **out, size_t *n, struct rf_error *err)
{
    bool busy = e->n > 0;
    *out = e->slot;
    *n = e->n = e->n_asleep = 0;
    e->n_denied = 0;
    rf_late_tick(&e->late, rf_now_ns());
    if (!busy && !e->idle && rf_watch_quiet(&e->watch)) {
        e->stats.ticks++;
        e->stats.slept += e->watch.threads.n;
        return RF_OK;
    }
    if (!renew(e))
        return rf_fail(err, RF_FAILURE, ENOMEM, "out of memory for the list of threads");
    enum rf_status status = rf_holder_run(e->holder, err);
    e->stats.ticks++;
    if (status == RF_OK && e->no_memory)
        status = rf_fail(err, RF_FAILURE, ENOMEM, "out of memory for a copy of a stack");
    bool denied = false;
    for (size_t i = 0; i < e->n_denied; i++)
        denied |= forbidden(e, e->denied[i]);
    e->denied_ticks = denied && e->n == 0 ? e->denied_ticks + 1 : 0;
    if (status == RF_OK && e->denied_ticks >= DENIED_TICKS) {
        status = rf_fail(err, RF_PERMISSION, EPERM, "cannot attach to %d: %s", (int)e->process->pid, strerror(EPERM));
        rf_explain_permission(e->process, err);
    }
    for (size_t i = 1; i < e->n; i++) { /* it was looked at last (watch.h), and is shown first */
        if (e->slot[i]->main_thread) {
            struct rf_snapshot *first = e->slot[0];
            e->slot[0] = e->slot[i];
            e->slot[i] = first;
        }
    }
    *n = e->n;
    return status;
}

static struct rf_thread *thread_of(struct rf_engine *e, pid_t tid)
{
    for (size_t i = 0; i < e->watch.threads.n; i++)
        if (e->watch.threads.v[i].tid == tid)
            return &e->watch.threads.v[i];
    return NULL;
}

void rf_engine_stack_root(struct rf_engine *e, pid_t tid, uint64_t cfa)
{
    struct rf_thread *t = thread_of(e, tid);
    if (!t)
        return;
    if (cfa)
        t->stack_root = cfa;
    else if (t->stack_slice < RF_STACK_MAX)
        t->stack_slice *= 2;
}

void rf_engine_expect(struct rf_engine *e, uint64_t period_ns)
{
    rf_late_expect(&e->late, period_ns);
}

void rf_engine_idle(struct rf_engine *e)
{
    e->idle = true;
}

void rf_engine_once(struct rf_engine *e)
{
    e->idle = e->once = true;
    e->stopper.wait_ns = ONCE_WAIT_NS;
}

size_t rf_engine_left(const struct rf_engine *e)
{
    size_t left = 0;
    for (size_t i = 0; i < e->watch.threads.n; i++)
        left += is_left(&e->watch.threads.v[i]);
    return left;
}

bool rf_engine_looked(const struct rf_engine *e, size_t i, struct rf_looked *out)
{
    if (i >= e->watch.threads.n)
        return false;
    const struct rf_thread *t = &e->watch.threads.v[i];
    *out = (struct rf_looked){t->tid, t->looked, t->taken};
    return true;
}

const struct rf_asleep *rf_engine_asleep(const struct rf_engine *e, size_t *n)
{
    *n = e->n_asleep;
    return e->asleep;
}

void rf_engine_mark(struct rf_engine *e, pid_t tid, struct rf_mark mark)
{
    struct rf_thread *t = thread_of(e, tid);
    if (!t)
        return;
    t->sleep.mark = mark;
    t->sleep.marked = true;
}

void rf_engine_unmark(struct rf_engine *e)
{
    for (size_t i = 0; i < e->watch.threads.n; i++)
        e->watch.threads.v[i].sleep.marked = false;
}

struct rf_engine_rest rf_engine_rest(struct rf_engine *e)
{
    struct rf_engine_rest rest = {.changed = e->watch.threads.ended + e->watch.threads.born > 0};
    for (size_t i = 0; i < e->watch.threads.n; i++) {
        struct rf_thread *t = &e->watch.threads.v[i];
        rf_thread_read_cpu(&e->watch.threads, t);
        if (t->used_ns > t->charged_ns)
            rest.pending_ns += t->used_ns - t->charged_ns;
        rest.delay_ns += t->waited_ns - t->opened_waited_ns;
        rest.wall_ns += rf_now_ns() - t->sampled_ns + (e->idle ? t->put_off.ns : 0);
    }
    return rest;
}

const struct rf_engine_stats *rf_engine_stats(const struct rf_engine *e)
{
    return &e->stats;
}

uint64_t rf_engine_held_ns(struct rf_engine *e)
{
    uint64_t longest = 0;
    for (size_t i = 0; i < e->watch.threads.n; i++) {
        if (e->watch.threads.v[i].held_ns > longest)
            longest = e->watch.threads.v[i].held_ns;
        e->watch.threads.v[i].held_ns = 0;
    }
    return longest;
}
