/* permission.c: why the kernel says no, in the order in which it decides (ptrace(2), "Ptrace access mode
 * checking"), and what to do about it. Hints that cannot help are worse than none: root is not told to use sudo. */
#include "process.h"
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

static bool tracer_named(const struct rf_process *p, struct rf_error *err)
{
    char status[STATUS_SIZE], path[32], command[16] = "?";
    uint64_t tracer = 0;
    if (!rf_procfs_read(p->proc_fd, "status", status, sizeof status) ||
        !rf_procfs_status(status, "TracerPid", 10, &tracer) || tracer == 0)
        return false;
    snprintf(path, sizeof path, "/proc/%llu/comm", (unsigned long long)tracer);
    if (rf_procfs_read(AT_FDCWD, path, command, sizeof command))
        command[strcspn(command, "\n")] = 0;
    rf_hint(err, "another tracer holds it: pid %llu (%s)", (unsigned long long)tracer, command);
    rf_hint(err, "let that one detach or end first: a process has one tracer at a time");
    return true;
}

static bool has_capability(void)
{
    char status[STATUS_SIZE];
    uint64_t effective = 0;
    return rf_procfs_read(AT_FDCWD, "/proc/self/status", status, sizeof status) &&
           rf_procfs_status(status, "CapEff", 16, &effective) && (effective >> CAP_SYS_PTRACE & 1);
}

static long yama_scope(void)
{
    char text[16];
    return rf_procfs_read(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", text, sizeof text) ? strtol(text, NULL, 10)
                                                                                             : 0;
}

static void how_to_be_allowed(struct rf_error *err)
{
    if (geteuid() != 0) {
        rf_hint(err, "run with sudo, or: setcap cap_sys_ptrace+ep rfprof");
        return;
    }
    rf_hint(err, "you are root without CAP_SYS_PTRACE, as in a container");
    rf_hint(err, "docker: --cap-add SYS_PTRACE; Kubernetes: securityContext.capabilities.add: [SYS_PTRACE]");
}

/* All three user ids of the target have to be the caller's. */
static bool same_user(const struct rf_process *p)
{
    char status[STATUS_SIZE];
    unsigned real, effective, saved;
    const char *line = NULL;
    if (rf_procfs_read(p->proc_fd, "status", status, sizeof status))
        line = strstr(status, "\nUid:");
    return line && sscanf(line, "\nUid: %u %u %u", &real, &effective, &saved) == 3 && real == getuid() &&
           effective == getuid() && saved == getuid();
}

static void explain(const struct rf_process *p, struct rf_error *err)
{
    struct stat owner;
    char theirs[64], ours[64];
    if (tracer_named(p, err))
        return;
    long scope = yama_scope();
    if (scope >= 3) {
        rf_hint(err, "kernel.yama.ptrace_scope is 3: nobody may attach until the next boot");
    } else if (has_capability()) {
        rf_hint(err, "CAP_SYS_PTRACE is there, and still the kernel refuses");
        rf_hint(err, "a seccomp filter, a security module or another user namespace forbids it: run on the host");
    } else if (!same_user(p)) {
        user_name(p->uid, theirs, sizeof theirs);
        user_name(getuid(), ours, sizeof ours);
        if (p->uid != getuid())
            rf_hint(err, "the process belongs to user '%s' and you are '%s'", theirs, ours);
        else
            rf_hint(err, "the process has changed its user ids");
        how_to_be_allowed(err);
    } else if (fstatat(p->proc_fd, ".", &owner, 0) == 0 && owner.st_uid != p->uid) {
        rf_hint(err, "the process is not dumpable: it changed its credentials, or its file may not be read");
        how_to_be_allowed(err);
    } else if (scope > 0) {
        rf_hint(err, "kernel.yama.ptrace_scope is %ld: %s", scope,
                scope == 1 ? "only a process's ancestors may attach" : "only CAP_SYS_PTRACE may attach");
        how_to_be_allowed(err);
        if (scope == 1)
            rf_hint(err, "or, for all users until the next boot: sysctl kernel.yama.ptrace_scope=0");
    } else {
        rf_hint(err, "a seccomp filter, a security module or a capability that it has and you have not forbids it");
        how_to_be_allowed(err);
    }
}

void rf_explain_permission(const struct rf_process *p, struct rf_error *err)
{
    explain(p, err);
    rf_hint_container(p, err);
}
