/* process.c: who the target is. A number is not an identity: the pid given may be a thread's, may end at any
 * moment and may then be given to another process; the descriptors opened here stay with the one that was meant. */
#include "process.h"
#include "procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_SIZE = 8192, KERNEL_THREAD = 0x00200000 /* PF_KTHREAD of the kernel's sched.h */ };
enum { TRACER_LOOKS = 25, TRACER_LOOK_NS = 2000000 };

static bool live_read(const struct rf_memory *m, uint64_t addr, void *to, size_t n)
{
    const struct rf_process *p = (const struct rf_process *)m; /* its first member */
    struct iovec here = {to, n}, there = {(void *)(uintptr_t)addr, n};
    return process_vm_readv(p->pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

static enum rf_status no_such(pid_t pid, struct rf_error *err)
{
    rf_fail(err, RF_TARGET, ESRCH, "there is no process %d", (int)pid);
    rf_hint(err, "`rfprof check` lists the processes that can be profiled");
    return RF_TARGET;
}

static uint64_t stat_number(const char *stat, unsigned field)
{
    const char *p = rf_procfs_stat_field(stat, field);
    return p ? strtoull(p, NULL, 10) : 0;
}

/* From whichever task the pid names to its process, which must be one of user space that still runs. */
static enum rf_status identify(struct rf_process *p, pid_t pid, struct rf_error *err)
{
    char path[32], status[STATUS_SIZE], stat[1024];
    uint64_t tgid, uid = 0, parent = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    errno = 0;
    bool there = pid > 0 && rf_procfs_read(AT_FDCWD, path, status, sizeof status);
    if (!there && pid > 0 && errno != 0 && errno != ENOENT && errno != ESRCH)
        return rf_fail(err, RF_FAILURE, errno, "cannot read %s: %s", path, strerror(errno));
    if (!there || !rf_procfs_status(status, "Tgid", 10, &tgid))
        return no_such(pid, err);
    p->pid = (pid_t)tgid;
    p->was_tid = p->pid != pid;
    if (p->pid == getpid())
        return rf_fail(err, RF_USAGE, 0, "process %d is rfprof itself", (int)pid);
    snprintf(path, sizeof path, "/proc/%d", (int)p->pid);
    p->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    int clock = clock_getcpuclockid(p->pid, &p->clock);
    if (p->proc_fd < 0 || p->pidfd < 0 || clock != 0) {
        int why = p->proc_fd < 0 || p->pidfd < 0 ? errno : clock;
        if (why == ESRCH || why == ENOENT)
            return no_such(pid, err);
        return rf_fail(err, RF_FAILURE, why, "cannot open process %d: %s", (int)p->pid, strerror(why));
    }
    /* proc_fd is bound to one process: what is read through it now is about the one that pidfd names, or fails. */
    if (!rf_procfs_read(p->proc_fd, "stat", stat, sizeof stat) ||
        !rf_procfs_read(p->proc_fd, "status", status, sizeof status))
        return no_such(pid, err);
    rf_procfs_status(status, "Uid", 10, &uid);
    p->uid = (uid_t)uid;
    p->start_time = stat_number(stat, 22);
    p->start_stack = stat_number(stat, 28);
    if (rf_procfs_read(p->proc_fd, "comm", p->comm, sizeof p->comm))
        p->comm[strcspn(p->comm, "\n")] = 0;
    const char *state = rf_procfs_stat_field(stat, 3);
    if (!state || *state == 'Z' || *state == 'X') {
        rf_procfs_status(status, "PPid", 10, &parent);
        rf_fail(err, RF_TARGET, 0, "process %d (%s) has ended", (int)p->pid, p->comm);
        rf_hint(err, "it is a zombie: its parent %llu has not waited for it", (unsigned long long)parent);
        return RF_TARGET;
    }
    if (stat_number(stat, 9) & KERNEL_THREAD)
        return rf_fail(err, RF_TARGET, 0, "%d (%s) is a thread of the kernel", (int)p->pid, p->comm);
    return RF_OK;
}

/* Ours (holder.c): it waits for a thread that gets no CPU, and lets go as soon as that has stopped. */
static bool is_sampler(pid_t tracer)
{
    char path[32], comm[32];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)tracer);
    return rf_procfs_read(AT_FDCWD, path, comm, sizeof comm) && strcmp(comm, "rf-holder\n") == 0;
}

/* Another sampler holds a thread for less than a millisecond: one that is still there after many looks is a debugger.
 */
static bool traced_for_long(const struct rf_process *p)
{
    char status[STATUS_SIZE];
    uint64_t tracer = 0;
    for (unsigned looks = 0; looks < TRACER_LOOKS; looks++) {
        if (!rf_procfs_read(p->proc_fd, "status", status, sizeof status) ||
            !rf_procfs_status(status, "TracerPid", 10, &tracer) || tracer == 0)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = TRACER_LOOK_NS}, NULL);
    }
    return !is_sampler((pid_t)tracer);
}

/* Asks for a byte that no process has, which touches nothing: EFAULT when reading is allowed. The kernel's check
 * (PTRACE_MODE_ATTACH_REALCREDS) is that of attaching, so that both are known to be allowed, or why not. */
static enum rf_status may_read(const struct rf_process *p, struct rf_error *err)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {NULL, 1};
    ssize_t got = process_vm_readv(p->pid, &here, 1, &there, 1, 0);
    int why = got < 0 ? errno : EFAULT;
    if (why == ESRCH)
        return no_such(p->pid, err);
    bool traced = traced_for_long(p);
    if (why == EFAULT && !traced)
        return RF_OK;
    if (why == EFAULT)
        why = EPERM; /* what PTRACE_SEIZE would say */
    rf_fail(err, RF_PERMISSION, why, "cannot attach to %d: %s", (int)p->pid, strerror(why));
    rf_explain_permission(p, err);
    return RF_PERMISSION;
}

/* A file pagemap stays with the memory that was there when it was opened. In the kernel's pagemap_read (fs/proc/
 * task_mmu.c) the end of the file (0) means that nobody has that any more; else what asks for less than an entry is
 * refused. A kernel that does otherwise, or has no such file, is asked in another way. */
static bool has_memory(int fd)
{
    char byte;
    return pread(fd, &byte, 1, 0) < 0 && errno == EINVAL;
}

static int open_memory(const struct rf_process *p)
{
    int fd = openat(p->proc_fd, "pagemap", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || has_memory(fd))
        return fd;
    close(fd);
    return -1;
}

enum rf_status rf_process_open(struct rf_process **out, pid_t pid, struct rf_error *err)
{
    *out = NULL;
    struct rf_process *p = calloc(1, sizeof *p);
    if (!p)
        return rf_fail(err, RF_FAILURE, ENOMEM, "out of memory");
    p->memory.read = live_read;
    p->pidfd = p->proc_fd = p->memory_fd = -1;
    enum rf_status status = identify(p, pid, err);
    if (status == RF_OK)
        status = may_read(p, err);
    if (status == RF_TARGET || status == RF_PERMISSION)
        rf_hint_inner_pid(pid, err);
    if (status == RF_OK)
        p->memory_fd = open_memory(p);
    struct stat exe;
    if (status == RF_OK && fstatat(p->proc_fd, "exe", &exe, 0) == 0) {
        p->exe_dev = exe.st_dev;
        p->exe_ino = exe.st_ino;
    }
    if (status == RF_OK)
        *out = p;
    else
        rf_process_close(p);
    return status;
}

void rf_process_close(struct rf_process *p)
{
    if (!p)
        return;
    if (p->pidfd >= 0)
        close(p->pidfd);
    if (p->proc_fd >= 0)
        close(p->proc_fd);
    if (p->memory_fd >= 0)
        close(p->memory_fd);
    free(p);
}

bool rf_process_alive(const struct rf_process *p)
{
    struct pollfd ended = {.fd = p->pidfd, .events = POLLIN};
    return poll(&ended, 1, 0) <= 0; /* a failure, as by a signal, says nothing */
}

enum rf_status rf_fail_ended(const struct rf_process *p, struct rf_error *err)
{
    return rf_fail(err, RF_TARGET, 0, "%d (%s) ended meanwhile", (int)p->pid, p->comm);
}

bool rf_process_same_memory(const struct rf_process *p)
{
    return p->memory_fd >= 0 && has_memory(p->memory_fd);
}

bool rf_process_execed(const struct rf_process *p)
{
    struct stat exe;
    char path[32], stat[1024];
    /* of the main thread alone: the process's file adds up what all threads have used */
    snprintf(path, sizeof path, "task/%d/stat", (int)p->pid);
    if (fstatat(p->proc_fd, "exe", &exe, 0) != 0 || !rf_procfs_read(p->proc_fd, path, stat, sizeof stat))
        return false; /* it is ending */
    uint64_t start_stack = stat_number(stat, 28);
    return exe.st_dev != p->exe_dev || exe.st_ino != p->exe_ino ||
           (start_stack != 0 && p->start_stack != 0 && start_stack != p->start_stack);
}

bool rf_process_renew(struct rf_process *p)
{
    struct stat exe;
    char stat[1024];
    if (fstatat(p->proc_fd, "exe", &exe, 0) != 0 || !rf_procfs_read(p->proc_fd, "stat", stat, sizeof stat))
        return false;
    p->exe_dev = exe.st_dev;
    p->exe_ino = exe.st_ino;
    p->start_stack = stat_number(stat, 28);
    if (p->memory_fd >= 0)
        close(p->memory_fd);
    p->memory_fd = open_memory(p);
    if (rf_procfs_read(p->proc_fd, "comm", p->comm, sizeof p->comm))
        p->comm[strcspn(p->comm, "\n")] = 0;
    return true;
}

bool rf_process_stopped(const struct rf_process *p)
{
    char stat[1024];
    const char *state = rf_procfs_read(p->proc_fd, "stat", stat, sizeof stat) ? rf_procfs_stat_field(stat, 3) : NULL;
    return state && *state == 'T';
}

/* The clock goes by the number, which is another's once the parent has waited and it was given out again. So that is
 * asked afterwards: what was not yet waited for now was not when the clock was read. */
uint64_t rf_process_cpu_ns(const struct rf_process *p)
{
    struct timespec t;
    if (clock_gettime(p->clock, &t) != 0 ||
        (syscall(SYS_pidfd_send_signal, p->pidfd, 0, NULL, 0) != 0 && errno == ESRCH))
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool rf_process_folder(const struct rf_process *p, char *to, size_t size)
{
    ssize_t n = readlinkat(p->proc_fd, "cwd", to, size);
    if (n <= 0 || (size_t)n == size)
        return false;
    to[n] = '\0';
    return true;
}

void rf_process_command(pid_t pid, char *to, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, to, size - 1);
    if (fd >= 0)
        close(fd);
    while (n > 0 && !to[n - 1])
        n--;
    to[n > 0 ? n : 0] = '\0';
    for (ssize_t i = 0; i < n; i++)
        if (!to[i])
            to[i] = ' ';
}

struct rf_text rf_process_comm(const struct rf_process *p, pid_t tid, char to[static 32])
{
    char path[32];
    snprintf(path, sizeof path, "task/%d/comm", (int)tid);
    if (!rf_procfs_read(p->proc_fd, path, to, 32))
        to[0] = '\0';
    size_t n = strlen(to);
    return (struct rf_text){to, n && to[n - 1] == '\n' ? n - 1 : n};
}

/* A directory has a link for each one in it and two more; task/ is kept so too, without a listing. */
unsigned rf_process_threads(const struct rf_process *p)
{
    struct stat task;
    if (fstatat(p->proc_fd, "task", &task, 0) != 0 || task.st_nlink < 2)
        return 0;
    return (unsigned)task.st_nlink - 2;
}
