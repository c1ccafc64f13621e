/* stop.c: stopping one thread for a moment: PTRACE_SEIZE, PTRACE_INTERRUPT, a bounded wait; then PTRACE_DETACH.
 *
 * What ptrace(2) and the kernel's signal.c say, and what follows:
 *  - An interrupted thread reports PTRACE_EVENT_STOP. If a signal came first it reports that one instead
 *    (signal-delivery-stop): as good a stop as any, but the DETACH must carry the signal, or it is lost. Given the
 *    same number again, the kernel delivers it with its siginfo untouched.
 *  - DETACH out of a group stop (PTRACE_EVENT_STOP too) puts the group stop back: the operator's SIGSTOP stays.
 *  - DETACH drops an INTERRUPT that has not been reported.
 *  - A seized thread that ends is reported to us first and has to be waited for, or its parent will not see it.
 *  - Without PTRACE_O_TRACEEXEC, an exec under PTRACE_SEIZE reports nothing. A thread that executes takes the pid
 *    of its process as its tid, still traced: so where one vanishes, the pid is asked too. */
#include "stop.h"

#include "clock.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

enum { WAIT_NS = 10 * 1000 * 1000 };

static long trace(int request, pid_t tid, long addr, long data)
{
    return rf_raw(SYS_ptrace, request, tid, addr, data, 0, 0);
}

static void count(struct rf_stopper *s, int change)
{
#ifndef NDEBUG
    s->holds += change;
    assert(s->holds == 0 || s->holds == 1);
#else
    (void)s;
    (void)change;
#endif
}

/* The tid if it has stopped or ended, 0 if neither yet, else a negative errno. */
static long poll_status(pid_t tid, int *status)
{
    return rf_raw(SYS_wait4, tid, (long)status, __WALL | WNOHANG, 0, 0, 0);
}

static int signal_of(int status)
{
    return status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
}

static void add_pending(struct rf_stopper *s, pid_t tid, bool stopped, int sig)
{
    s->pending[s->n_pending++] = (struct rf_pending){.tid = tid, .stopped = stopped, .sig = sig};
}

static bool is_pending(const struct rf_stopper *s, pid_t tid)
{
    for (unsigned i = 0; i < s->n_pending; i++)
        if (s->pending[i].tid == tid)
            return true;
    return false;
}

/* Waits for the report. SIGCHLD, which the holder blocks, tells of it: sleep until it comes. */
static long await(pid_t tid, uint64_t from_ns, uint64_t wait_ns, uint64_t spin_ns, int *status)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (;;) {
        long r = poll_status(tid, status);
        if (r != 0)
            return r;
        uint64_t waited = rf_now_ns() - from_ns;
        if (waited >= wait_ns)
            return 0;
        if (waited < spin_ns)
            continue;
        struct timespec left = {.tv_nsec = (long)(wait_ns - waited)};
        rf_raw(SYS_rt_sigtimedwait, (long)&child, 0, (long)&left, _NSIG / 8, 0, 0);
    }
}

enum rf_stop_result rf_stop(struct rf_stopper *s, pid_t tid, uint64_t spin_ns, struct rf_hold *hold)
{
    int status = 0;
    if (s->n_pending == RF_PENDING_MAX || is_pending(s, tid))
        return RF_STOP_BUSY;
    long r = trace(PTRACE_SEIZE, tid, 0, 0);
    if (r != 0)
        return r == -ESRCH ? RF_STOP_EXITED : RF_STOP_DENIED;
    *hold = (struct rf_hold){.tid = tid, .from_ns = rf_now_ns()};
    if (trace(PTRACE_INTERRUPT, tid, 0, 0) == 0)
        r = await(tid, hold->from_ns, s->wait_ns ? s->wait_ns : WAIT_NS, spin_ns, &status);
    if (r > 0 && WIFSTOPPED(status)) {
        hold->at_ns = rf_now_ns();
        hold->sig = signal_of(status);
        count(s, 1);
        return RF_STOPPED;
    }
    if (r > 0)
        return RF_STOP_EXITED; /* and its end has been collected */
    add_pending(s, tid, false, 0);
    return RF_STOP_LATE;
}

bool rf_stop_registers(const struct rf_hold *hold, union rf_arch_regs *to)
{
    struct iovec v = {to, sizeof *to};
    return trace(PTRACE_GETREGSET, hold->tid, NT_PRSTATUS, (long)&v) == 0;
}

void rf_resume(struct rf_stopper *s, const struct rf_hold *hold)
{
    if (trace(PTRACE_DETACH, hold->tid, 0, hold->sig) != 0)
        add_pending(s, hold->tid, true, hold->sig);
    count(s, -1);
}

uint64_t rf_hold_ns(const struct rf_hold *hold, uint64_t until_ns, uint64_t waited_ns)
{
    uint64_t stopping = hold->at_ns - hold->from_ns;
    return until_ns - hold->from_ns - (waited_ns < stopping ? waited_ns : stopping);
}

/* One step towards its release; true when it is free. */
static bool release(const struct rf_stopper *s, struct rf_pending *p)
{
    int status;
    if (p->stopped) {
        if (trace(PTRACE_DETACH, p->tid, 0, p->sig) == 0)
            return true;
        long end = poll_status(p->tid, &status); /* it was killed: its end is what is left to see */
        return end == -ECHILD || (end > 0 && !WIFSTOPPED(status));
    }
    long r = poll_status(p->tid, &status);
    if (r == 0) {
        trace(PTRACE_INTERRUPT, p->tid, 0, 0);
        return false;
    }
    if (r == -ECHILD && p->tid != s->pid && !is_pending(s, s->pid)) {
        p->tid = s->pid;
        return false;
    }
    if (r < 0)
        return r == -ECHILD;
    if (!WIFSTOPPED(status))
        return true;
    p->stopped = true;
    p->sig = signal_of(status);
    return release(s, p);
}

bool rf_stop_serve(struct rf_stopper *s)
{
    for (unsigned i = 0; i < s->n_pending;) {
        if (release(s, &s->pending[i]))
            s->pending[i] = s->pending[--s->n_pending];
        else
            i++;
    }
    return s->n_pending > 0;
}
