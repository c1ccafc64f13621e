/* permission.c: why the kernel says no, in the order in which it decides (ptrace(2), "Ptrace access mode
 * checking"), and what to do about it. Hints that cannot help are worse than none: root is not told to use sudo. What
 * is known about both sides is found out first, and explained then: kernels that say no for every reason are hard to
 * come by, and what is said is tested without one. */
#include "permission.h"
#include "procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATUS_SIZE = 8192, CAP_SYS_PTRACE = 19 };

static void user_name(uid_t uid, char *to, size_t n)
{
    struct passwd entry, *found = NULL;
    char space[4096];
    if (getpwuid_r(uid, &entry, space, sizeof space, &found) == 0 && found)
        snprintf(to, n, "%s", entry.pw_name);
    else
        snprintf(to, n, "%u", (unsigned)uid);
}

static void find_tracer(const char *status, struct rf_grounds *g)
{
    char path[32];
    uint64_t tracer = 0;
    if (!rf_procfs_status(status, "TracerPid", 10, &tracer) || tracer == 0)
        return;
    g->tracer = (pid_t)tracer;
    snprintf(path, sizeof path, "/proc/%llu/comm", (unsigned long long)tracer);
    if (!rf_procfs_read(AT_FDCWD, path, g->tracer_command, sizeof g->tracer_command))
        snprintf(g->tracer_command, sizeof g->tracer_command, "?");
    g->tracer_command[strcspn(g->tracer_command, "\n")] = 0;
}

static void find_own(struct rf_grounds *g)
{
    char text[STATUS_SIZE];
    uint64_t effective = 0, seccomp = 0;
    unsigned inside, outside, n;
    if (rf_procfs_read(AT_FDCWD, "/proc/self/status", text, sizeof text)) {
        g->capable = rf_procfs_status(text, "CapEff", 16, &effective) && (effective >> CAP_SYS_PTRACE & 1);
        g->filtered = rf_procfs_status(text, "Seccomp", 10, &seccomp) && seccomp == 2; /* SECCOMP_MODE_FILTER */
    }
    g->root = geteuid() == 0;
    /* Outside of every user namespace the map is the identity, of all ids (user_namespaces(7)). */
    g->user_namespace = rf_procfs_read(AT_FDCWD, "/proc/self/uid_map", text, sizeof text) &&
                        sscanf(text, "%u %u %u", &inside, &outside, &n) == 3 && (outside != 0 || n != UINT32_MAX);
    if (rf_procfs_read(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", text, sizeof text))
        g->yama = (int)strtol(text, NULL, 10);
    ssize_t got = readlink("/proc/self/exe", g->program, sizeof g->program - 1);
    g->program[got > 0 ? got : 0] = 0;
    user_name(getuid(), g->us, sizeof g->us);
}

static void find(const struct rf_process *p, struct rf_grounds *g)
{
    char status[STATUS_SIZE];
    unsigned real, effective, saved;
    const char *line = NULL;
    struct stat owner;
    if (rf_procfs_read(p->proc_fd, "status", status, sizeof status)) {
        find_tracer(status, g);
        line = strstr(status, "\nUid:");
    }
    find_own(g);
    g->same_uid = p->uid == getuid();
    /* All three user ids of the target have to be the caller's. */
    g->same_ids = line && sscanf(line, "\nUid: %u %u %u", &real, &effective, &saved) == 3 && real == getuid() &&
                  effective == getuid() && saved == getuid();
    /* The files of one that is not dumpable belong to root (proc(5)). */
    g->dumpable = fstatat(p->proc_fd, ".", &owner, 0) != 0 || owner.st_uid == p->uid;
    user_name(p->uid, g->them, sizeof g->them);
}

static void how_to_be_allowed(const struct rf_grounds *g, struct rf_error *err)
{
    if (!g->root) {
        rf_hint(err, "run with sudo, or, for good: sudo setcap cap_sys_ptrace+ep %s",
                *g->program ? g->program : "rfprof");
        return;
    }
    rf_hint(err, "you are root without CAP_SYS_PTRACE, as in a container");
    rf_hint(err, "docker: --cap-add SYS_PTRACE; Kubernetes: securityContext.capabilities.add: [SYS_PTRACE]");
}

static void explain_filter(struct rf_error *err)
{
    rf_hint(err, "rfprof runs under a seccomp filter (Seccomp: 2 in /proc/self/status), which can forbid it");
    rf_hint(err, "docker: --cap-add SYS_PTRACE, else --security-opt seccomp=unconfined; or run on the host");
}

static void explain_capable(const struct rf_grounds *g, struct rf_error *err)
{
    if (g->user_namespace) {
        rf_hint(err, "CAP_SYS_PTRACE is there, but only for this user namespace, and the process is in another");
        rf_hint(err, "run rfprof on the host, as root");
    } else if (g->filtered) {
        explain_filter(err);
    } else {
        rf_hint(err, "CAP_SYS_PTRACE is there, and still the kernel refuses: perhaps a security module forbids it, or");
        rf_hint(err, "the process is in a user namespace in which the capability does not count");
        rf_hint(err, "dmesg, or journalctl -k, may show a rule of SELinux or AppArmor; else run rfprof on the host");
    }
}

void rf_explain_grounds(const struct rf_grounds *g, struct rf_error *err)
{
    if (g->tracer) {
        rf_hint(err, "another tracer holds it: pid %d (%s)", (int)g->tracer, g->tracer_command);
        rf_hint(err, "let that one detach or end first: a process has one tracer at a time");
    } else if (g->why == ENOSYS) {
        rf_hint(err,
                "there is no ptrace(2) or process_vm_readv(2) here: a sandbox such as gVisor, or a seccomp filter,");
        rf_hint(err, "answers in the kernel's place: run rfprof on the host");
    } else if (g->yama >= 3) {
        rf_hint(err, "kernel.yama.ptrace_scope is 3: nobody may attach until the next boot");
    } else if (g->capable) {
        explain_capable(g, err);
    } else if (!g->same_ids) {
        if (!g->same_uid)
            rf_hint(err, "the process belongs to user '%s' and you are '%s'", g->them, g->us);
        else
            rf_hint(err, "the process has changed its user ids");
        how_to_be_allowed(g, err);
    } else if (!g->dumpable) {
        rf_hint(err,
                "the process is not dumpable: it changed its credentials, its file may not be read, or it said so");
        how_to_be_allowed(g, err);
    } else if (g->yama > 0) {
        rf_hint(err, "kernel.yama.ptrace_scope is %d: %s", g->yama,
                g->yama == 1 ? "only a process's ancestors may attach" : "only CAP_SYS_PTRACE may attach");
        how_to_be_allowed(g, err);
        if (g->yama == 1)
            rf_hint(err, "or, for all users until the next boot: sudo sysctl kernel.yama.ptrace_scope=0");
    } else if (g->filtered) {
        explain_filter(err);
    } else {
        rf_hint(err, "it has a capability that you have not, or a security module forbids it");
        how_to_be_allowed(g, err);
    }
}

void rf_explain_permission(const struct rf_process *p, struct rf_error *err)
{
    struct rf_grounds g = {.why = err ? err->errnum : 0};
    if (!err)
        return;
    find(p, &g);
    rf_explain_grounds(&g, err);
    if (!g.tracer)
        rf_hint_container(p, err);
}
