/* clock.h: the clock by which everything here is timed: nanoseconds of CLOCK_MONOTONIC, by the vdso, without a system
 * call. */
#ifndef RF_CLOCK_H
#define RF_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t rf_clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline uint64_t rf_now_ns(void)
{
    return rf_clock_ns(CLOCK_MONOTONIC);
}

#endif
