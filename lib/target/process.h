/* process.h: which process is the target, is it still the same one, and what is mapped in it.
 *
 * Identity is the pid, a pidfd (pidfd_open(2)) and the start time of /proc/PID/stat field 22, so that a pid
 * that was given to another process is noticed. */
#ifndef RF_PROCESS_H
#define RF_PROCESS_H

#include "memory.h"
#include "rfprof.h"

#include <time.h>

struct rf_process {
    struct rf_memory memory; /* reads live memory (process_vm_readv); first member */
    pid_t pid;
    int pidfd;
    int proc_fd;               /* directory /proc/PID */
    int memory_fd;             /* bound to the memory that it has now; -1 where that cannot be */
    clockid_t clock;           /* its CPU time */
    uint64_t start_time;       /* clock ticks after boot */
    uint64_t exe_dev, exe_ino; /* of /proc/PID/exe at open, to notice exec */
    uint64_t start_stack;      /* /proc/PID/stat field 28: random per exec, so that it tells one of the same file */
    uid_t uid;
    char comm[16];
    bool was_tid; /* a thread id was given; pid is its process */
};

/* RF_USAGE for the caller's own pid, RF_TARGET when there is no such process or it is a zombie, RF_PERMISSION
 * when its memory cannot be read or another tracer holds it; each with the cause and the next step. */
enum rf_status rf_process_open(struct rf_process **out, pid_t pid, struct rf_error *err);
void rf_process_close(struct rf_process *p);

/* False once it has ended. Cheap: one poll of the pidfd. */
bool rf_process_alive(const struct rf_process *p);
/* RF_TARGET: it ended while something was wanted of it. */
enum rf_status rf_fail_ended(const struct rf_process *p, struct rf_error *err);
/* False once the memory that it had at open is gone, or where this cannot be told. True then says that it has executed
 * nothing since, unless another process shares that memory (CLONE_VM, vfork(2)): that one keeps it. Cheap: one read
 * that fails. */
bool rf_process_same_memory(const struct rf_process *p);
/* True when it now runs another program than at open. */
bool rf_process_execed(const struct rf_process *p);
/* Takes what it runs now for the program that was meant. False when that cannot be told, as while it ends. */
bool rf_process_renew(struct rf_process *p);
/* Now, by SIGSTOP or job control. */
bool rf_process_stopped(const struct rf_process *p);
/* CPU time charged to the process so far, its dead threads included (clock_getcpuclockid(3)); 0 once it has ended
 * and its parent has waited for it. */
uint64_t rf_process_cpu_ns(const struct rf_process *p);
/* Its working directory, terminated; false when it cannot be read or does not fit. */
bool rf_process_folder(const struct rf_process *p, char *to, size_t size);
/* How a process was called: its arguments with spaces between them, terminated, as many bytes as fit; else empty. */
void rf_process_command(pid_t pid, char *to, size_t size);
/* What the kernel calls one of its threads; empty when that has ended. `to` has room for it. */
struct rf_text rf_process_comm(const struct rf_process *p, pid_t tid, char to[static 32]);
/* Number of threads now, 0 when unknown. */
unsigned rf_process_threads(const struct rf_process *p);

struct rf_map {
    uint64_t start, end, offset, inode;
    uint32_t dev_major, dev_minor;
    char perms[5];
    const char *path; /* "" when anonymous; may end in " (deleted)"; escapes of proc(5) undone */
};

struct rf_maps {
    struct rf_map *v; /* ascending, not overlapping */
    size_t n;
    char *text; /* what the paths point into */
};

/* Parses the text of a maps file (proc(5)); lines that make no sense are skipped. Takes text over. */
bool rf_maps_parse(struct rf_maps *out, char *text);
enum rf_status rf_maps_read(const struct rf_process *p, struct rf_maps *out, struct rf_error *err);
void rf_maps_free(struct rf_maps *m);
const struct rf_map *rf_maps_at(const struct rf_maps *m, uint64_t addr);

/* How a process is set apart from us. */
struct rf_container {
    pid_t pid;   /* its number in a PID namespace of its own, else 0 */
    bool mounts; /* it has a mount namespace of its own */
    bool root;   /* its root directory is not ours: of its namespace, or by chroot(2) */
};
/* False when it is not. */
bool rf_process_container(const struct rf_process *p, struct rf_container *c);
/* Tells the user of a process in a container what to run where; else nothing. */
void rf_hint_container(const struct rf_process *p, struct rf_error *err);
/* Tells which processes have this number in a container. */
void rf_hint_inner_pid(pid_t pid, struct rf_error *err);

/* Explains an EPERM of attaching to p: uid, capability, Yama, dumpable or tracer; appends hints to err. */
void rf_explain_permission(const struct rf_process *p, struct rf_error *err);

#endif
