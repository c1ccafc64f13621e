/* permission.h: what is known when attaching was refused. Only for lib/target and its tests. */
#ifndef RF_PERMISSION_H
#define RF_PERMISSION_H

#include "process.h"

struct rf_grounds {
    int why;      /* what the kernel answered */
    pid_t tracer; /* 0: none */
    char tracer_command[32];
    /* of rfprof: its CAP_SYS_PTRACE, its user namespace if that is not the first, and whether a seccomp filter is on it
     */
    bool root, capable, user_namespace, filtered;
    bool same_uid, same_ids; /* of the target's user ids: the real one is ours; all are */
    bool dumpable;           /* the target is */
    int yama;                /* kernel.yama.ptrace_scope, 0 without it */
    char us[64], them[64];   /* users by name */
    char program[512];       /* the file that runs; "" when not known */
};

void rf_explain_grounds(const struct rf_grounds *g, struct rf_error *err);

#endif
