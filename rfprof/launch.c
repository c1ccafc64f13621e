/* launch.c: starts a program, and is what a good parent is to it. */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_FOUND = 127, NOT_EXECUTED = 126 };

/* Under sudo: from root back to the user who called it. 0, or an errno. */
static int become_caller(void)
{
    const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
    if (geteuid() != 0 || !uid || !gid || !*uid || !*gid)
        return 0;
    char *uid_end, *gid_end;
    unsigned long u = strtoul(uid, &uid_end, 10), g = strtoul(gid, &gid_end, 10);
    if (*uid_end || *gid_end || u > INT32_MAX || g > INT32_MAX)
        return EINVAL;
    if (u == 0)
        return 0;
    const struct passwd *user = getpwuid((uid_t)u);
    if (user ? initgroups(user->pw_name, (gid_t)g) != 0 : setgroups(0, NULL) != 0)
        return errno;
    if (setgid((gid_t)g) != 0 || setuid((uid_t)u) != 0)
        return errno;
    if (user &&
        (setenv("HOME", user->pw_dir, 1) || setenv("USER", user->pw_name, 1) || setenv("LOGNAME", user->pw_name, 1)))
        return errno;
    return 0;
}

static _Noreturn void be_the_program(const struct launch *l, pid_t parent, int go, int failed)
{
    char token;
    /* With Yama's ptrace_scope 1 a process may trace its descendants. The one that stops threads is our parent's child,
     * not our parent: it is allowed to as a descendant of one that we name. Elsewhere this fails, and is not needed. */
    prctl(PR_SET_PTRACER, (unsigned long)parent, 0, 0, 0);
    int why = become_caller(); /* where it fails that is told later, to a parent that does not lose us before */
    if (read(go, &token, 1) != 1)
        _exit(NOT_EXECUTED); /* rfprof gave up, or has gone */
    if (!why) {
        execvp(l->command[0], l->command);
        why = errno;
    }
    if (write(failed, &why, sizeof why) != sizeof why)
        _exit(NOT_EXECUTED);
    _exit(NOT_FOUND);
}

enum rf_status launch_prepare(struct launch *l, char *const *command, struct rf_error *err)
{
    int go[2] = {-1, -1}, failed[2] = {-1, -1};
    pid_t parent = getpid();
    *l = (struct launch){.pid = -1, .command = command, .go = -1, .failed = -1, .pidfd = -1};
    if (pipe2(go, O_CLOEXEC) == 0 && pipe2(failed, O_CLOEXEC) == 0)
        l->pid = fork();
    int why = errno;
    if (l->pid == 0) {
        close(go[1]);
        be_the_program(l, parent, go[0], failed[1]);
    }
    l->go = go[1];
    l->failed = failed[0];
    l->pidfd = l->pid > 0 ? (int)syscall(SYS_pidfd_open, l->pid, 0) : -1; /* close-on-exec */
    if (go[0] >= 0)
        close(go[0]);
    if (failed[1] >= 0)
        close(failed[1]);
    return l->pid > 0 ? RF_OK : rf_fail(err, RF_FAILURE, why, "cannot start %s: %s", command[0], strerror(why));
}

enum rf_status launch_go(struct launch *l, struct rf_error *err)
{
    int why = 0;
    char token = 0;
    bool gone = write(l->go, &token, 1) != 1;
    bool told = read(l->failed, &why, sizeof why) == sizeof why; /* closed by the exec */
    l->released = !gone && !told;
    if (l->released)
        return RF_OK;
    l->code = why == ENOENT ? NOT_FOUND : NOT_EXECUTED;
    if (!told)
        return rf_fail(err, RF_TARGET, 0, "cannot run %s: its process was ended", l->command[0]);
    rf_fail(err, RF_TARGET, why, "cannot run %s: %s", l->command[0], strerror(why));
    if (why == ENOENT && !strchr(l->command[0], '/'))
        rf_hint(err, "no folder of PATH has a program of this name (sudo has a PATH of its own: give the whole path)");
    return RF_TARGET;
}

/* A handler finds these nowhere else. */
static volatile int passed_to = -1;
static const volatile sig_atomic_t *may_end;

static bool has_ended(int pidfd)
{
    siginfo_t end = {.si_pid = 0};
    return waitid(P_PIDFD, (id_t)pidfd, &end, WEXITED | WNOHANG | WNOWAIT) < 0 || end.si_pid != 0;
}

static void pass_on(int number, siginfo_t *from, void *context)
{
    (void)context;
    int saved = errno;
    if (has_ended(passed_to)) {
        if (*may_end) {
            signal(number, SIG_DFL);
            raise(number);
        }
    } else if (from->si_code <= 0) { /* SI_USER, SI_QUEUE, SI_TKILL; the kernel's are above (sigaction(2)) */
        syscall(SYS_pidfd_send_signal, passed_to, number, NULL, 0);
    }
    errno = saved;
}

void launch_pass_on(const struct launch *l, const sigset_t *signals, const volatile sig_atomic_t *written)
{
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
    if (l->pidfd < 0)
        return;
    passed_to = l->pidfd;
    may_end = written;
    for (int s = 1; s < NSIG; s++)
        if (sigismember(signals, s) == 1)
            sigaction(s, &action, NULL);
    sigprocmask(SIG_UNBLOCK, signals, NULL);
}

int launch_wait(struct launch *l)
{
    int status = 0;
    if (l->go >= 0)
        close(l->go); /* a child that still waits for it ends */
    if (l->failed >= 0)
        close(l->failed);
    l->go = l->failed = -1;
    while (l->pid > 0 && waitpid(l->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (l->code)
        return l->code;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
