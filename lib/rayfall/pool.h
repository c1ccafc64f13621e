/* pool.h: whose work a pool worker does.
 *
 * Workers run tasks of the main thread's current dispatch and nothing else, and the main thread waits for them: all
 * tasks between the opening and the closing of a dispatch (its window) belong to one line (releases §4: the flag was
 * right in 585 of 585 observations). Threads are copied one after the other, so a worker's sample and the main thread's
 * are joined only where both saw the same window. What a worker used and cannot be joined so waits (waiting.h) for the
 * main thread's next sample inside a window that may be of the same kind: those are a fair draw of the lines it can be
 * for. The kind is told by two C functions: the task, which the worker runs, and the dispatcher, out of which the main
 * thread opened the window. Which go together is seen where the main thread runs tasks itself, and where samples are
 * joined. */
#ifndef RF_POOL_H
#define RF_POOL_H

#include "layout/layout.h"
#include "target/snapshot.h"
#include "unwind/unwind.h"

/* The dispatch that was open when a thread was copied; they are numbered by the pool's own count of tasks. */
struct rf_window {
    bool open;
    uint64_t tasks;
};

struct rf_window rf_window_of(const struct rf_runtime *rt, const struct rf_snapshot *s);
bool rf_window_same(const struct rf_window *a, const struct rf_window *b);

enum rf_role {
    RF_OTHER_THREAD,
    RF_WORKER_BUSY, /* above its loop runs a task */
    RF_WORKER_IDLE, /* it takes the next one, or waits for it */
    RF_WRITER,      /* of a parquet file: started by the main thread's line, outside the pool (release 2.4.0) */
};
/* By the runtime's functions, those of this image: other code in the process may have names like them. */
enum rf_role rf_role_of(const struct rf_native_stack *native, const struct rf_image *runtime);
/* The function of the task that such a thread runs, or the main thread runs its share of; 0: none. */
uint64_t rf_task_of(const struct rf_native_stack *native);
/* The function that dispatched, of a main thread that is inside a window; 0: not seen. */
uint64_t rf_dispatcher_of(const struct rf_native_stack *native);
/* How many of the innermost native frames of such a thread are its task's, not the pool's own; at least one. */
size_t rf_task_frames(const struct rf_native_stack *native);

#endif
