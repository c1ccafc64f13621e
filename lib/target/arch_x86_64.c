/* arch_x86_64.c: registers of x86-64, from the kernel's order to the DWARF one. */
#ifdef __x86_64__
#include "arch.h"

#include <sys/user.h>

int64_t rf_arch_convert(const union rf_arch_regs *from, struct rf_snapshot *to)
{
    struct user_regs_struct r;
    memcpy(&r, from->bytes, sizeof r);
    to->reg[RF_RAX] = r.rax;
    to->reg[RF_RDX] = r.rdx;
    to->reg[RF_RCX] = r.rcx;
    to->reg[RF_RBX] = r.rbx;
    to->reg[RF_RSI] = r.rsi;
    to->reg[RF_RDI] = r.rdi;
    to->reg[RF_RBP] = r.rbp;
    to->reg[RF_RSP] = r.rsp;
    to->reg[RF_R8] = r.r8;
    to->reg[RF_R9] = r.r9;
    to->reg[RF_R10] = r.r10;
    to->reg[RF_R11] = r.r11;
    to->reg[RF_R12] = r.r12;
    to->reg[RF_R13] = r.r13;
    to->reg[RF_R14] = r.r14;
    to->reg[RF_R15] = r.r15;
    to->reg[RF_RIP] = r.rip;
    to->fs_base = r.fs_base;
    to->in_syscall = (int64_t)r.orig_rax >= 0; /* -1 after an interrupt or a fault */
    to->syscall = (long)r.orig_rax;
    return to->in_syscall ? (int64_t)r.rax : 0;
}
#endif
