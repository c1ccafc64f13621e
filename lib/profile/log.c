/* log.c: an array that grows up to its limit. */
#include "log.h"

#include <stdlib.h>

void rf_log_add(struct rf_log *log, struct rf_event event)
{
    if (log->n == log->room) {
        size_t room = log->room ? log->room * 2 : 1024;
        struct rf_event *more = room <= RF_LOG_MAX ? reallocarray(log->event, room, sizeof *more) : NULL;
        if (!more) {
            log->missed++;
            return;
        }
        log->event = more;
        log->room = room;
    }
    /* threads of one tick are decoded in another order than they were held in */
    size_t at = log->n++;
    for (; at && log->event[at - 1].time_ns > event.time_ns; at--)
        log->event[at] = log->event[at - 1];
    log->event[at] = event;
}
