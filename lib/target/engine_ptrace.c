/* engine_ptrace.c: the engine that stops threads. A tick, from the top:
 *
 *   rf_engine_tick   in the caller: is the list of threads still right? then hands over and waits
 *     tick           in the holder (holder.h): who may be running? (watch.h)
 *       look         its state; if it runs:
 *         sample     stop, registers, stack, blocks, let go
 *
 * The file of a thread is read before each stop, never for all threads first: in between they would fall asleep. */
#include "arch.h"
#include "copy.h"
#include "engine.h"
#include "holder.h"
#include "procfs.h"
#include "stop.h"
#include "watch.h"

#include "clock.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

enum {
    SLOTS_MAX = 128, /* threads that run at once */
    SPIN_NS = 60 * 1000,
    LONG_STOP_NS = 60 * 1000,
    WOKE_NS = 30 * 1000, /* of CPU time: from a wake-up to the end of the system call */
    WOKEN_MAX = 16,      /* sleeping threads stopped in one tick */
    WAKE_NS = 30 * 1000, /* from our wake-up, which may have put the thread off its CPU, to our first instruction */
    LIST_EVERY_NS = 1000 * 1000000, /* at least */
    MAPS_EVERY_NS = 100 * 1000000,  /* at most */
    ROOT_SLACK = 64,
    DENIED_MAX = 16,
    TRIES_MAX = 20,               /* to stop a thread that has to be seen, */
    ONCE_WAIT_NS = 100 * 1000000, /* waiting for so long each time: on a busy machine it takes its turn */
    DENIED_TICKS =
        20, /* another sampler may hold the thread at this moment, or we do, by the id it had before an exec */
};

struct rf_engine {
    const struct rf_process *process;
    struct rf_selector selector;
    struct rf_holder *holder;
    cpu_set_t cpus; /* that the holder may run on */
    size_t running; /* threads that were found so in this tick */
    bool crowded;   /* in the last one they were as many as these CPUs */
    struct rf_stopper stopper;
    struct rf_watch watch;
    struct rf_late late;
    struct rf_maps maps;
    uint64_t list_ns, maps_ns; /* when they were read */
    bool maps_old, list_old;
    bool idle; /* sleeping threads are sampled too */
    bool once; /* and each thread is sampled once */
    unsigned woken,
        woken_at; /* how many sleeping ones were stopped in this tick; the first for which there was no time */
    struct rf_asleep *asleep; /* this tick's */
    size_t n_asleep, asleep_room;
    struct rf_snapshot *slot[SLOTS_MAX];
    size_t n_slots, n; /* there are; hold this tick's snapshots */
    bool no_memory;    /* for a single one */
    uint64_t tick_ns;  /* when this tick began */
    pid_t denied[DENIED_MAX];
    size_t n_denied;
    unsigned denied_ticks; /* one after the other */
    struct rf_engine_stats stats;
    union rf_arch_regs regs;
};

/* --- in the holder ------------------------------------------------------------------------------------- */

/* Where the stack ends: at its outermost frame where that is known, else at the end of its mapping. */
static uint64_t stack_top(struct rf_engine *e, const struct rf_thread *t, uint64_t rsp)
{
    if (t->stack_root > rsp && t->stack_root - rsp < RF_STACK_MAX)
        return t->stack_root + ROOT_SLACK;
    size_t low = 0, high = e->maps.n;
    while (low < high) { /* the mapping around rsp, or, since stacks grow downwards, the next above */
        size_t mid = low + (high - low) / 2;
        if (e->maps.v[mid].end <= rsp)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == e->maps.n || e->maps.v[low].start > rsp)
        e->maps_old = true;
    return low < e->maps.n ? e->maps.v[low].end : rsp + RF_STACK_MAX;
}

/* A system call that our stop cut short had put the thread to sleep, or was about to: the kernel's errnos for
 * restarting it (linux/errno.h, 512 to 516), or EINTR where it does not restart. */
static bool was_asleep(const struct rf_hold *hold, int64_t result)
{
    return hold->sig == 0 && (result == -EINTR || (result <= -512 && result >= -516));
}

/* Calls that do nothing but wait: who waits for a CPU in one has been woken up, and is about to leave it. */
static bool only_waits(int64_t syscall)
{
    switch (syscall) {
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
    case SYS_poll:
    case SYS_select:
#endif
    case SYS_epoll_pwait:
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
        return true;
    default:
        return false;
    }
}

enum copied { COPIED, NOT_COPIED, ASLEEP, WAITED };

/* Everything that is done to a thread while it is held. */
static enum copied copy_held(struct rf_engine *e, struct rf_thread *t, const struct rf_hold *hold, bool slept,
                             struct rf_snapshot *s)
{
    if (!rf_stop_registers(hold, &e->regs))
        return NOT_COPIED;
    int64_t result = rf_arch_convert(&e->regs, s);
    s->asleep = was_asleep(hold, result);
    e->stats.eintr += s->asleep && result == -EINTR;
    s->asleep |= slept && s->in_syscall; /* some return with less than was asked for, or with another error */
    if (s->asleep && !e->idle)
        return ASLEEP;
    s->tid = t->tid;
    s->main_thread = t->tid == e->process->pid;
    s->time_ns = hold->at_ns;
    s->state = t->looked;
    rf_copy_stack(s, stack_top(e, t, s->reg[RF_RSP]), t->stack_slice);
    rf_copy_blocks(s, &e->selector);
    return COPIED;
}

static void count_lost(struct rf_engine *e, pid_t tid, enum rf_stop_result why)
{
    if (why == RF_STOP_EXITED) {
        e->stats.lost_exited++;
        e->list_old = true;
    } else if (why == RF_STOP_DENIED && e->n_denied < DENIED_MAX) {
        e->denied[e->n_denied++] = tid; /* the cause is looked for later, by the caller */
    } else if (why == RF_STOP_DENIED) {
        e->stats.lost_other++;
    } else {
        e->stats.lost_timeout++;
    }
}

/* Remembers where, so that it need not be stopped again until it has run; and which system call a restarted one was. */
static void fell_asleep(struct rf_thread *t, uint64_t runs, struct rf_snapshot *s)
{
    struct rf_sleep *at = &t->sleep;
    if (s->asleep && s->syscall == SYS_restart_syscall && at->sp == s->reg[RF_RSP] && at->pc == s->reg[RF_RIP])
        s->syscall = at->syscall;
    *at = (struct rf_sleep){.known = s->asleep ? RF_SLEEP_STOPPED : RF_SLEEP_UNKNOWN,
                            .runs = runs,
                            .sp = s->reg[RF_RSP],
                            .pc = s->reg[RF_RIP],
                            .syscall = s->syscall};
}

/* Goes to the CPU on which a thread runs; returns where we are. From elsewhere its stop takes long when no CPU is free:
 * we would spin on that of another thread of the target, or sleep and then wait for it. Here it is one switch. */
static unsigned go_to(const struct rf_engine *e, unsigned cpu)
{
    unsigned here = ~0u;
    cpu_set_t one;
    CPU_ZERO(&one);
    getcpu(&here, NULL);
    if (here == cpu || !e->crowded || cpu >= CPU_SETSIZE)
        return here;
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0)
        sched_setaffinity(0, sizeof e->cpus, &e->cpus);
    getcpu(&here, NULL);
    return here;
}

/* Since its last sample: CPU time, or with sleepers wall-clock time. charged: its clock of CPU time was read. */
static void weigh(struct rf_engine *e, struct rf_thread *t, struct rf_snapshot *s, bool charged)
{
    uint64_t used = charged && t->used_ns > t->charged_ns ? t->used_ns - t->charged_ns : 0;
    if (e->idle) {
        s->weight_ns = rf_late_weight(&e->late, &t->put_off, s->time_ns - t->sampled_ns);
    } else {
        used = rf_late_weight(&e->late, &t->put_off, used > t->put_off.ns ? used - t->put_off.ns : 0);
        s->weight_ns = used;
    }
    t->charged_ns += used;
    t->sampled_ns = s->time_ns;
    e->stats.sampled_ns += used;
}

/* Whether a thread waited for a CPU already when the tick began, by its clock of waiting from the look to its stop at
 * at_ns. That may include some of what it waited since it was let go. */
static bool waited_before(const struct rf_engine *e, uint64_t at_ns, uint64_t let_go_ns, uint64_t waited_ns)
{
    return !e->idle && waited_ns > at_ns - e->tick_ns + (rf_now_ns() - let_go_ns) + WAKE_NS;
}

/* Its clocks have just been read. slept: it did when it was looked at. */
static void sample(struct rf_engine *e, struct rf_thread *t, unsigned cpu, bool slept)
{
    if (e->n == e->n_slots && e->n < SLOTS_MAX && (e->slot[e->n] = rf_snapshot_new()) != NULL)
        e->n_slots++;
    if (e->n == e->n_slots) {
        e->no_memory = e->n_slots == 0;
        e->stats.lost_other++;
        return;
    }
    struct rf_snapshot *s = e->slot[e->n];
    struct rf_hold hold;
    uint64_t waited_ns = t->waited_ns, used_ns = t->used_ns, runs = t->runs;
    unsigned here = go_to(e, cpu); /* a thread that waits for the CPU that we are on will not stop while we poll */
    enum rf_stop_result r = rf_stop(&e->stopper, t->tid, here == cpu ? 0 : SPIN_NS, &hold);
    if (r != RF_STOPPED) {
        count_lost(e, t->tid, r);
        return;
    }
    /* A stop that took long may have been a wait for a CPU. Letting go adds to that clock: so it is read before. */
    bool slow = hold.at_ns - hold.from_ns > LONG_STOP_NS && rf_thread_read_cpu(&e->watch.threads, t);
    uint64_t stopping_ns = slow ? t->waited_ns - waited_ns : 0;
    bool before = slow && waited_before(e, hold.at_ns, rf_now_ns(), stopping_ns);
    enum copied copied = before ? WAITED : copy_held(e, t, &hold, slept, s);
    rf_resume(&e->stopper, &hold);
    uint64_t let_go_ns = rf_now_ns(), held = rf_hold_ns(&hold, let_go_ns, stopping_ns);
    rf_hist_add(&e->stats.hold, held);
    t->held_ns += held;
    /* Exact now: the thread was switched out, and what it has run since then is not added yet. */
    bool charged = rf_thread_read_cpu(&e->watch.threads, t);
    /* It was waking up, or had been put off its CPU in the call: it has hardly run since we looked. (Of a thread that
     * ran, the clock was old when we looked; on our own CPU it was us who put it off.) */
    if (!e->idle && copied == COPIED && s->in_syscall && here != cpu && charged && t->used_ns - used_ns < WOKE_NS)
        copied = WAITED;
    /* There it is next when we wait for its stop: however long it has waited, that is not slow. */
    if (copied == COPIED && s->in_syscall && only_waits(s->syscall) && charged &&
        waited_before(e, hold.at_ns, let_go_ns, t->waited_ns - waited_ns))
        copied = WAITED;
    /* Where a thread falls asleep or is put off its CPU is no random place (often a wake-up that it sent), so this is
     * no sample; its time goes to the next. */
    e->stats.waited += copied == WAITED;
    e->stats.slept += copied == ASLEEP;
    e->stats.lost_other += copied == NOT_COPIED;
    if (copied != COPIED)
        return;
    weigh(e, t, s, charged);
    e->stats.samples++;
    e->n++;
    t->taken = true;
    fell_asleep(t, runs, s);
}

static void look(void *ctx, struct rf_thread *t)
{
    struct rf_engine *e = ctx;
    char state = rf_thread_state(&e->watch.threads, t, &t->look.cpu);
    t->look.slept = state != 'R';
    e->running += state == 'R';
    if (state == 'R')
        sample(e, t, t->look.cpu, false);
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
        sample(e, t, cpu, false);
    } else if (state == 'S') {
        if (e->woken == WOKEN_MAX)
            return false;
        e->woken++;
        sample(e, t, cpu, true);
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
    for (size_t i = 0; i < ts->n && e->n < SLOTS_MAX; i++) {
        struct rf_thread *t = &ts->v[i];
        unsigned cpu;
        if (!is_left(t))
            continue;
        t->tries++;
        t->looked = rf_thread_state(ts, t, &cpu);
        t->stack_slice = RF_STACK_MAX;
        if (t->looked != 'X' && t->looked != 'Z')
            sample(e, t, cpu, t->looked == 'S');
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
    for (size_t i = 1; i < e->n; i++) { /* a main thread that woke was looked at after the busy ones */
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
