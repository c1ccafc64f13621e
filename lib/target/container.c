/* container.c: is the target in a container, and which number has it there? Users copy pids from inside of one, and
 * look at rfprof's messages from outside.
 *
 * NSpid of /proc/PID/status (proc(5)) lists the process's number in each PID namespace from ours inwards. */
#include "process.h"
#include "procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATUS_SIZE = 8192 };

/* The last number of NSpid, when there is more than ours; else 0. */
static pid_t inner_pid(const char *status)
{
    const char *line = strstr(status, "\nNSpid:");
    unsigned n = 0;
    long last = 0;
    if (!line)
        return 0;
    line += strlen("\nNSpid:");
    while (*line == '\t' || *line == ' ') {
        char *end;
        last = strtol(line, &end, 10);
        if (end == line)
            break;
        line = end;
        n++;
    }
    return n > 1 ? (pid_t)last : 0;
}

static bool same_mounts(const struct rf_process *p)
{
    struct stat ours, theirs;
    return stat("/proc/self/ns/mnt", &ours) != 0 || fstatat(p->proc_fd, "ns/mnt", &theirs, 0) != 0 ||
           (ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev);
}

static bool same_root(const struct rf_process *p)
{
    struct stat ours, theirs;
    return stat("/", &ours) != 0 || fstatat(p->proc_fd, "root", &theirs, 0) != 0 ||
           (ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev);
}

bool rf_process_container(const struct rf_process *p, struct rf_container *c)
{
    char status[STATUS_SIZE];
    *c = (struct rf_container){.pid = 0};
    if (rf_procfs_read(p->proc_fd, "status", status, sizeof status))
        c->pid = inner_pid(status);
    c->mounts = !same_mounts(p);
    c->root = !same_root(p);
    return c->pid || c->mounts || c->root;
}

void rf_hint_container(const struct rf_process *p, struct rf_error *err)
{
    struct rf_container c;
    if (!rf_process_container(p, &c) || !c.pid)
        return;
    rf_hint(err, "it is pid %d of a container: run rfprof outside of that, as root, with pid %d", (int)c.pid,
            (int)p->pid);
}

void rf_hint_inner_pid(pid_t pid, struct rf_error *err)
{
    char path[64], status[STATUS_SIZE], command[32];
    DIR *proc = opendir("/proc");
    unsigned found = 0;
    for (struct dirent *e; proc && found < 3 && (e = readdir(proc));) {
        long other = isdigit((unsigned char)e->d_name[0]) ? strtol(e->d_name, NULL, 10) : 0;
        if (other <= 0 || other == pid)
            continue;
        snprintf(path, sizeof path, "/proc/%ld/status", other);
        if (!rf_procfs_read(AT_FDCWD, path, status, sizeof status) || inner_pid(status) != pid)
            continue;
        snprintf(path, sizeof path, "/proc/%ld/comm", other);
        if (!rf_procfs_read(AT_FDCWD, path, command, sizeof command))
            command[0] = '\0';
        command[strcspn(command, "\n")] = '\0';
        rf_hint(err, "pid %d of a container is %ld here (%s): rfprof -p %ld", (int)pid, other, command, other);
        found++;
    }
    if (proc)
        closedir(proc);
}
