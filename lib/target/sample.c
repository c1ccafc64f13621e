/* sample.c: what the holder does with one thread: stop, registers, stack, blocks, let go; and whether what was found
 * is a fair sample of the time that the thread used. */
#include "copy.h"
#include "engine_ptrace.h"

#include "clock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>

enum {
    SPIN_NS = 60 * 1000,
    LONG_STOP_NS = 60 * 1000,
    WOKE_NS = 30 * 1000, /* of CPU time: from a wake-up to the end of the system call */
    WAKE_NS = 30 * 1000, /* from our wake-up, which may have put the thread off its CPU, to our first instruction */
    ROOT_SLACK = 64,
};

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
static bool only_waits(const struct rf_snapshot *s)
{
    switch (s->syscall) {
    case SYS_futex: { /* second argument; another operation wakes, and has work to do */
        int operation = (int)s->reg[RF_RSI] & FUTEX_CMD_MASK;
        return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
    }
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
    /* It was woken up: so it is runnable, but has not run on yet, and on a virtual machine that takes long. As samples,
     * these had the time of a worker that does many short tasks, on the lines that wake it up most often. */
    if (!e->idle && s->in_syscall && only_waits(s))
        return WAITED;
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
    } else if (why == RF_STOP_DENIED && e->n_denied < RF_DENIED_MAX) {
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

bool rf_waited_before(uint64_t waited_ns, uint64_t tick_ns, uint64_t at_ns, uint64_t let_go_ns, uint64_t now_ns)
{
    return waited_ns > at_ns - tick_ns + (now_ns - let_go_ns) + WAKE_NS;
}

void rf_engine_sample(struct rf_engine *e, struct rf_thread *t, unsigned cpu, bool slept)
{
    if (e->n == e->n_slots && e->n < RF_SLOTS_MAX && (e->slot[e->n] = rf_snapshot_new()) != NULL)
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
    uint64_t now = rf_now_ns(); /* not let go yet. With sleepers a thread that waits is as good as any. */
    bool before = slow && !e->idle && rf_waited_before(stopping_ns, e->tick_ns, hold.at_ns, now, now);
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
