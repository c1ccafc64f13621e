/* raw_x86_64.c: system calls past libc, for the holder (see holder.h), which shares its creator's errno. In a file
 * of its own, so that a test can put a failing one in its place. */
#ifdef __x86_64__
#include "arch.h"

long rf_raw(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#endif
