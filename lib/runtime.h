/* runtime.h: a process in which no rayforce runtime was found: what the user is told. */
#ifndef RF_RUNTIME_H
#define RF_RUNTIME_H

#include "image/image.h"

/* RF_TARGET, with what is missing: images has none that rf_runtime_image would have found. */
enum rf_status rf_no_runtime(const struct rf_process *p, const struct rf_images *images, struct rf_error *err);

#endif
