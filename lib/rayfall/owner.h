/* owner.h: which thread runs Rayfall.
 *
 * There is one VM, and one thread has it in its thread-local __VM: the main thread of a rayforce, the one that imported
 * it of a Python process. The other threads are workers of the pool, or none of the runtime's business. */
#ifndef RF_OWNER_H
#define RF_OWNER_H

#include "layout/layout.h"
#include "target/snapshot.h"

struct rf_owner {
    pid_t tid; /* 0: not seen yet */
};

/* Is the snapshot one of the thread that owns the VM? Of builds that do not tell, the main thread does. */
bool rf_owns_vm(struct rf_owner *o, const struct rf_runtime *rt, const struct rf_memory *live,
                const struct rf_snapshot *s);

#endif
