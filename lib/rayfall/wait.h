/* wait.h: what a sleeping thread waits for. */
#ifndef RF_WAIT_H
#define RF_WAIT_H

#include "profile/profile.h"
#include "target/snapshot.h"
#include "unwind/unwind.h"

/* The innermost frame of a thread that sleeps: <epoll>, <futex>, <child>, <sleep> ..., by its system call; one without
 * a name is <syscall N>, which room is for. */
struct rf_frame rf_wait_frame(const struct rf_snapshot *s, const struct rf_native_stack *native, char room[32]);

#endif
