/* signals.h: signals are read from a descriptor, between ticks, and not handled wherever they happen to arrive. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include "rfprof.h"

#include <signal.h>

/* Blocks these signals, but for those that are ignored (as under nohup), which stay so, and opens a descriptor to read
 * them from (signalfd(2)), non-blocking. *caught: which they are. EPIPE and EFBIG come as errors, not as signals. */
enum rf_status signals_catch(const int *numbers, size_t n, sigset_t *caught, int *fd, struct rf_error *err);
/* The next one that has arrived; 0 when there is none. */
int signals_next(int fd);

#endif
