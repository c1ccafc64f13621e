/* holder.c: makes the holder, hands it its jobs, and ends it. */
#include "holder.h"
#include "arch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK_SIZE = 256 * 1024, GUARD_SIZE = 64 * 1024, BETWEEN_MS = 5, LONG_JOB_MS = 50 };

struct rf_holder {
    struct rf_holder_work work;
    pid_t creator;
    /* Pipes, since to write to one is a "sync" wake-up: the scheduler lets the reader follow on the writer's CPU,
     * where it is about to sleep, instead of driving the target from the other. Index 0 is read, 1 written. */
    int go[2], done[2];
    int stops_fd; /* signalfd(2) for SIGCHLD: a thread that was late to stop is let go at once */
    int pidfd;    /* -1 unless it was started */
    unsigned char *stack;
};

/* Waits for a job, and, when `more` is to be done between two, also for a stop, for a while. True when there is one. */
static bool await_job(struct rf_holder *h, bool more)
{
    struct signalfd_siginfo stop;
    char token;
    if (more) {
        struct pollfd wait[2] = {{.fd = h->go[0], .events = POLLIN}, {.fd = h->stops_fd, .events = POLLIN}};
        struct timespec soon = {.tv_nsec = BETWEEN_MS * 1000000};
        rf_raw(SYS_ppoll, (long)wait, 2, (long)&soon, 0, 0, 0);
        if (wait[1].revents)
            rf_raw(SYS_read, h->stops_fd, (long)&stop, sizeof stop, 0, 0, 0);
        if (!wait[0].revents)
            return false;
    }
    return rf_raw(SYS_read, h->go[0], (long)&token, 1, 0, 0, 0) == 1;
}

/* The life of the holder. Nothing here goes through libc, for the sake of the creator's errno. */
static int live(void *arg)
{
    struct rf_holder *h = arg;
    char token = 0;
    rf_raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
    rf_raw(SYS_prctl, PR_SET_NAME, (long)"rf-holder", 0, 0, 0, 0);
    rf_raw(SYS_setsid, 0, 0, 0, 0, 0, 0);
    struct sched_param lowest = {.sched_priority = 1}; /* refused without CAP_SYS_NICE: then it takes its turn */
    rf_raw(SYS_sched_setscheduler, 0, SCHED_FIFO, (long)&lowest, 0, 0, 0);
    bool orphan = rf_raw(SYS_getppid, 0, 0, 0, 0, 0, 0) != h->creator;
    bool more = false;
    while (!orphan) {
        if (await_job(h, more)) {
            h->work.job(h->work.ctx);
            more = h->work.between(h->work.ctx);
            rf_raw(SYS_write, h->done[1], (long)&token, 1, 0, 0, 0);
        } else if (more) {
            more = h->work.between(h->work.ctx);
        }
    }
    rf_raw(SYS_exit, 0, 0, 0, 0, 0, 0);
    return 0;
}

/* Starts it with all signals blocked and with the default action for SIGCHLD, which announces stops: a child of
 * clone without CLONE_SIGHAND has signal actions of its own, but begins with a copy of ours. */
static int start(struct rf_holder *h)
{
    sigset_t all, before;
    struct sigaction fallback = {.sa_handler = SIG_DFL}, child;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    sigaction(SIGCHLD, &fallback, &child);
    int pid = clone(live, h->stack + GUARD_SIZE + STACK_SIZE, CLONE_VM | CLONE_FILES | CLONE_PIDFD, h, &h->pidfd);
    int why = errno;
    sigaction(SIGCHLD, &child, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return pid;
}

enum rf_status rf_holder_open(struct rf_holder **out, const struct rf_holder_work *work, struct rf_error *err)
{
    *out = NULL;
    struct rf_holder *h = calloc(1, sizeof *h);
    if (!h)
        return rf_fail(err, RF_FAILURE, ENOMEM, "out of memory");
    h->work = *work;
    h->creator = getpid();
    h->pidfd = -1;
    h->go[0] = h->go[1] = h->done[0] = h->done[1] = -1;
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    h->stops_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK); /* of whoever reads it: the holder */
    bool fds = h->stops_fd >= 0 && pipe2(h->go, O_CLOEXEC) == 0 && pipe2(h->done, O_CLOEXEC) == 0;
    h->stack = mmap(NULL, GUARD_SIZE + STACK_SIZE, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (h->stack == MAP_FAILED)
        h->stack = NULL;
    if (fds && h->stack && mprotect(h->stack, GUARD_SIZE, PROT_NONE) == 0 && start(h) > 0) {
        *out = h;
        return RF_OK;
    }
    int why = errno;
    rf_holder_close(h);
    return rf_fail(err, RF_FAILURE, why, "cannot start the process that samples: %s", strerror(why));
}

enum rf_status rf_holder_run(struct rf_holder *h, struct rf_error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    char token = 0;
    bool done = false;
    if (write(h->go[1], &token, 1) == 1) {
        struct pollfd wait[2] = {{.fd = h->done[0], .events = POLLIN}, {.fd = h->pidfd, .events = POLLIN}};
        int ready;
        while ((ready = poll(wait, 2, LONG_JOB_MS)) <= 0)
            if (ready == 0)
                rf_raw(SYS_pidfd_send_signal, h->pidfd, SIGCONT, 0, 0, 0, 0);
        done = (wait[0].revents & POLLIN) && read(h->done[0], &token, 1) == 1;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return done ? RF_OK : rf_fail(err, RF_FAILURE, 0, "the process that samples was killed");
}

void rf_holder_close(struct rf_holder *h)
{
    if (!h)
        return;
    if (h->pidfd >= 0) {
        siginfo_t info;
        syscall(SYS_pidfd_send_signal, h->pidfd, SIGKILL, NULL, 0);
        while (waitid(P_PIDFD, (id_t)h->pidfd, &info, WEXITED | __WALL) != 0 && errno == EINTR)
            ;
        close(h->pidfd);
    }
    if (h->stops_fd >= 0)
        close(h->stops_fd);
    for (unsigned i = 0; i < 2; i++) {
        if (h->go[i] >= 0)
            close(h->go[i]);
        if (h->done[i] >= 0)
            close(h->done[i]);
    }
    if (h->stack)
        munmap(h->stack, GUARD_SIZE + STACK_SIZE);
    free(h);
}
