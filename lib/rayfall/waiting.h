/* waiting.h: samples of pool workers that wait for one of the main thread to stand on (pool.h). */
#ifndef RF_WAITING_H
#define RF_WAITING_H

#include "profile/profile.h"

#include <sys/types.h>

enum { RF_TASK_FRAMES_MAX = 64 };

struct rf_wait {
    pid_t tid;
    uint64_t task; /* its function; 0: it was caught between two tasks, and may have been any */
    uint32_t samples;
    uint64_t ns, since_ns;
    size_t n;
    struct rf_frame frame[RF_TASK_FRAMES_MAX]; /* its native frames, outermost first */
};

struct rf_waiting;

struct rf_waiting *rf_waiting_new(void);
void rf_waiting_free(struct rf_waiting *w);
size_t rf_waiting_n(const struct rf_waiting *w);
uint64_t rf_waiting_ns(const struct rf_waiting *w);

/* Tasks of this function are dispatched by that one. */
void rf_waiting_learn(struct rf_waiting *w, uint64_t task, uint64_t dispatcher);
/* Adds a sample to what waits: to that of the same thread and task, unless its frames shall be kept apart. A new one
 * has no samples and no frames yet. Never NULL: where there is no room it is that of the last. */
struct rf_wait *rf_waiting_add(struct rf_waiting *w, pid_t tid, uint64_t task, bool apart, uint64_t now_ns);
/* One that can go with this dispatcher's window, or has waited for its own for long enough; it is *out until the next
 * call. */
bool rf_waiting_take(struct rf_waiting *w, uint64_t dispatcher, uint64_t now_ns, const struct rf_wait **out);
/* One for which there was no window at all, for long. */
bool rf_waiting_give_up(struct rf_waiting *w, uint64_t now_ns, const struct rf_wait **out);

#endif
