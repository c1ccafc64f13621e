/* doing.h: a name for what the runtime does when no Rayfall line is in progress. */
#ifndef RF_DOING_H
#define RF_DOING_H

#include "profile/profile.h"
#include "unwind/unwind.h"

/* By the innermost function of this image that says so, as "<ipc read>" (the functions of ipc.c, sock.c, parse.c and
 * pool.c of releases 2.1.0 and 2.4.0); else the innermost C function that has a name, else "<unwind>". The text lives
 * as long as the images do. */
struct rf_text rf_doing(const struct rf_image *runtime, const struct rf_native_stack *native);

#endif
