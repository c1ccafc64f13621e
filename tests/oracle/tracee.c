/* tracee.c: ptrace, for the oracles. */
#include "tracee.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

enum { WAIT_MS = 3000 };

void die(const char *what)
{
    fprintf(stderr, "oracle: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void wake_up(int sig)
{
    (void)sig;
}

/* Waiting without end is interrupted every other millisecond, to look at the clock. */
static void start_ticking(void)
{
    struct sigaction a = {.sa_handler = wake_up};
    struct itimerval every = {{0, 2000}, {0, 2000}};
    sigaction(SIGALRM, &a, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
}

void tracee_open(struct tracee *t, pid_t pid)
{
    struct rf_error err;
    struct rf_layout_options o = {.no_debug_info = getenv("NO_DEBUG_INFO") != NULL};
    t->pid = pid;
    if (rf_process_open(&t->process, pid, &err) || rf_images_open(&t->images, t->process, &err) ||
        rf_layout_choose(&t->rt, rf_runtime_image(t->images), &o, &err) ||
        rf_layout_validate(&t->rt, &t->process->memory, NULL, &err) ||
        rf_unwinder_open(&t->unwinder, t->images, &err)) {
        fprintf(stderr, "oracle: %s\n", err.what);
        exit(1);
    }
    t->variables = o.no_debug_info ? NULL : rf_variables_new(&t->rt);
    start_ticking();
    t->s = rf_snapshot_new();
    if (!t->s || ptrace(PTRACE_SEIZE, pid, 0, 0) != 0)
        die("PTRACE_SEIZE");
}

void tracee_detach(struct tracee *t)
{
    ptrace(PTRACE_DETACH, t->pid, 0, 0);
}

void tracee_stop(struct tracee *t)
{
    ptrace(PTRACE_INTERRUPT, t->pid, 0, 0);
    tracee_wait(t->pid, PTRACE_CONT, WAIT_MS);
}

void tracee_registers(pid_t pid, struct user_regs_struct *r)
{
    struct iovec v = {r, sizeof *r};
    if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &v) != 0)
        die("PTRACE_GETREGSET");
}

static void set_pc(pid_t pid, uint64_t pc)
{
    struct user_regs_struct r;
    struct iovec v = {&r, sizeof r};
    tracee_registers(pid, &r);
    r.rip = pc;
    r.orig_rax = (unsigned long long)-1;
    if (ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &v) != 0)
        die("PTRACE_SETREGSET");
}

long tracee_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int tracee_wait(pid_t pid, int request, long ms)
{
    long end = tracee_ms() + ms;
    for (;;) {
        int status;
        pid_t got = waitpid(pid, &status, __WALL);
        if (got == pid) {
            if (!WIFSTOPPED(status))
                die("the target ended");
            int sig = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
            if (sig == 0 || sig == SIGTRAP)
                return sig;
            ptrace((enum __ptrace_request)request, pid, 0, sig);
        } else if (tracee_ms() > end) {
            ptrace(PTRACE_INTERRUPT, pid, 0, 0);
            end += WAIT_MS;
        }
    }
}

bool tracee_step(pid_t pid)
{
    if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) != 0)
        die("PTRACE_SINGLESTEP");
    return tracee_wait(pid, PTRACE_SINGLESTEP, WAIT_MS) == SIGTRAP;
}

bool tracee_run_to(pid_t pid, uint64_t pc, uint64_t sp)
{
    struct user_regs_struct r;
    errno = 0;
    long word = ptrace(PTRACE_PEEKTEXT, pid, (void *)pc, 0);
    if (errno)
        die("PTRACE_PEEKTEXT");
    bool there = false;
    for (unsigned tries = 0; !there && tries < 20000; tries++) {
        ptrace(PTRACE_POKETEXT, pid, (void *)pc, (void *)((word & ~0xffl) | 0xcc));
        ptrace(PTRACE_CONT, pid, 0, 0);
        int sig = tracee_wait(pid, PTRACE_CONT, WAIT_MS);
        ptrace(PTRACE_POKETEXT, pid, (void *)pc, (void *)word);
        tracee_registers(pid, &r);
        if (sig != SIGTRAP || r.rip != pc + 1)
            return false;
        set_pc(pid, pc);
        there = r.rsp == sp;
        if (!there && !tracee_step(pid)) /* the same call, in a frame further in */
            return false;
    }
    return there;
}

static uint64_t stack_top(const struct tracee *t, uint64_t sp)
{
    const struct rf_map *m = rf_maps_at(rf_images_maps(t->images), sp);
    return m ? m->end : 0;
}

void tracee_snapshot(struct tracee *t, const struct rf_selector *selector, struct rf_native_stack *native)
{
    union rf_arch_regs regs;
    struct iovec v = {&regs, sizeof regs};
    if (ptrace(PTRACE_GETREGSET, t->pid, (void *)NT_PRSTATUS, &v) != 0)
        die("PTRACE_GETREGSET");
    rf_arch_convert(&regs, t->s);
    t->s->tid = t->pid;
    t->s->main_thread = true;
    t->s->time_ns += 1000000000;
    rf_copy_stack(t->s, stack_top(t, t->s->reg[RF_RSP]), RF_STACK_MAX);
    rf_copy_blocks(t->s, selector);
    rf_unwind(t->unwinder, t->s, native);
}

static bool view_read(const struct rf_memory *m, uint64_t addr, void *to, size_t n)
{
    const struct tracee *t = ((const struct tracee_view *)m)->t;
    return rf_snapshot_read(&t->s->memory, addr, to, n) || rf_read(&t->process->memory, addr, to, n);
}

struct tracee_view tracee_view(const struct tracee *t)
{
    return (struct tracee_view){{.read = view_read}, t};
}
