/* debuginfod.h: debug information from a debuginfod(8) server. Private to this room. */
#ifndef RF_DEBUGINFOD_H
#define RF_DEBUGINFOD_H

#include "rfprof.h"

/* Fetches the debug information of a build. *fd is the caller's. RF_FAILURE with the reason; takes some seconds at
 * most. */
enum rf_status rf_debuginfod_fetch(const char *build_id, int *fd, struct rf_error *err);

#endif
