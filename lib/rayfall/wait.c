/* wait.c: names for the system calls that put threads to sleep. */
#include "wait.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

static const char *by_number(long number)
{
    switch (number) {
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
        return "<epoll>";
    case SYS_futex:
        return "<futex>";
    case SYS_wait4:
    case SYS_waitid:
        return "<child>";
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
        return "<sleep>";
#ifdef SYS_poll
    case SYS_poll:
    case SYS_select:
#endif
    case SYS_ppoll:
    case SYS_pselect6:
        return "<poll>";
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_preadv:
    case SYS_recvfrom:
    case SYS_recvmsg:
        return "<read>";
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_sendto:
    case SYS_sendmsg:
        return "<write>";
    case SYS_accept:
    case SYS_accept4:
        return "<accept>";
    case SYS_connect:
        return "<connect>";
    case SYS_rt_sigtimedwait:
    case SYS_rt_sigsuspend:
        return "<signal>";
    default:
        return NULL;
    }
}

/* The kernel restarts some system calls under another number, restart_syscall(2): those that sleep for a time. Which it
 * was is then in the name of the function that made it. */
static const char *restarted(const struct rf_native_stack *native)
{
    static const struct {
        const char *part, *shown;
    } known[] = {
        {"sleep", "<sleep>"}, {"poll", "<poll>"}, {"futex", "<futex>"}, {"cond_", "<futex>"}, {"sem_", "<futex>"}};
    for (size_t i = 0; i < native->n && i < 3; i++)
        for (size_t k = 0; native->frame[i].fn.name && k < sizeof known / sizeof *known; k++)
            if (strstr(native->frame[i].fn.name, known[k].part))
                return known[k].shown;
    return NULL;
}

struct rf_frame rf_wait_frame(const struct rf_snapshot *s, const struct rf_native_stack *native, char room[32])
{
    const char *name = s->syscall == SYS_restart_syscall ? restarted(native) : by_number(s->syscall);
    if (!name) {
        snprintf(room, 32, "<syscall %ld>", s->syscall);
        name = room;
    }
    return (struct rf_frame){.file = {"<runtime>", 9}, .fn = {name, strlen(name)}, .named = true};
}
