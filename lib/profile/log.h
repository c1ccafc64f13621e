/* log.h: when each sample was taken, and of which thread: for formats that show the profile over time. */
#ifndef RF_LOG_H
#define RF_LOG_H

#include "tids.h"

struct rf_event {
    uint64_t time_ns, weight_ns;
    uint32_t node; /* of the profile: the stack */
    pid_t tid;
};

/* As many are kept, in 24 bytes each; those that come later are counted. At 100 Hz that are almost twelve hours of one
 * busy thread. */
enum { RF_LOG_MAX = 4 * 1024 * 1024 };

struct rf_log {
    const struct rf_tids *tids; /* of whom the samples are */
    struct rf_event *event;     /* ascending by time */
    size_t n, room;
    uint64_t missed; /* found no place */
};

void rf_log_add(struct rf_log *log, struct rf_event event);

#endif
