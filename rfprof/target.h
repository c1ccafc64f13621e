/* target.h: the process that was meant, for every command that samples one. */
#ifndef TARGET_H
#define TARGET_H

#include "rfprof.h"

/* The thread group of a thread id, which is the process that gets sampled; pid itself when it cannot be told. */
pid_t process_of(pid_t pid);
/* What became of the target: between two ticks only its descriptor knows that it ended. */
enum rf_target_state target_state(const struct rf_session *s);

#endif
