/* arch.h: what differs between machines. arch_NAME.c and raw_NAME.c implement it, each for one machine and empty
 * on others. Only for lib/target. */
#ifndef RF_ARCH_H
#define RF_ARCH_H

#include "snapshot.h"

/* What PTRACE_GETREGSET of NT_PRSTATUS fills. */
union rf_arch_regs {
    unsigned char bytes[512];
    uint64_t align;
};

/* Registers, fs_base, in_syscall and syscall of *to. Returns the system call's result if in one, else 0. */
int64_t rf_arch_convert(const union rf_arch_regs *from, struct rf_snapshot *to);

/* A system call past libc: the result, or a negative errno. Does not touch the variable errno. */
long rf_raw(long number, long a, long b, long c, long d, long e, long f);

#endif
