/* starting.h: where in a process the rayforce runtime is, now, or as soon as it is up.
 *
 * A process may be opened before there is a runtime in it: a child that has yet to execute its program, one that is
 * just being loaded, a Python that imports rayforce when it comes to it. It is then looked at before each tick (at most
 * every few milliseconds: one read of its maps). Any program that it executes meanwhile is taken for its next one;
 * the runtime is found when an image that defines __RUNTIME is mapped, and up when the layout that was chosen for that
 * image agrees with the live memory. While it is being set up it does not. Where __RUNTIME is set and for long there
 * is the same contradiction, the layout is refused as it would have been for a process that has been running. */
#ifndef RF_STARTING_H
#define RF_STARTING_H

#include "layout/layout.h"

struct rf_starting {
    bool waiting;                           /* the runtime is not up yet */
    const struct rf_layout_options *layout; /* see rf_layout_choose */
    bool chosen;                            /* a layout */
    bool seen;                              /* an image with a runtime, at some time */
    uint64_t opened_ns, looked_ns;          /* CLOCK_MONOTONIC */
    uint64_t up_ns;                         /* __RUNTIME is set, and since then `why` is the same; 0: it is not */
    struct rf_error why;                    /* what is missing */
};

/* Finds the runtime of a process that is up, chooses a layout and validates it. *images is opened; the caller closes it
 * whatever comes back. */
enum rf_status rf_starting_find(struct rf_images **images, struct rf_runtime *rt, const struct rf_process *p,
                                const struct rf_layout_options *layout, struct rf_error *err);

/* Appends to the error of a layout that does not fit, where the process may just be starting. */
void rf_hint_starting(struct rf_error *err);

/* May a runtime come up in a process where rf_starting_find found none? In one that has its image but not yet set
 * __RUNTIME, and in a Python, told by what its C API exports: it may import rayforce. */
bool rf_starting_later(const struct rf_images *images, const struct rf_process *p);

/* layout must outlive it. */
void rf_starting_begin(struct rf_starting *st, const struct rf_layout_options *layout);
/* Looks whether it is up now; st->waiting says so. *images (NULL at first) and *rt are filled on the way. An error when
 * no layout can be had. */
enum rf_status rf_starting_look(struct rf_starting *st, struct rf_images **images, struct rf_runtime *rt,
                                struct rf_process *p, struct rf_error *err);

#endif
