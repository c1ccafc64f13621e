/* calibrate.h: are the numbers of a derived layout right? Asked of running frames, before a line of them is believed.
 *
 * What code alone cannot tell (which of two shapes a block has, whether opcodes still mean what they meant) shows in
 * frames that validate each other: an interpreter frame has exactly one block, a return stack points behind calls in
 * its callers' bytecode, bytecode ends with one value on the stack, and a call comes from text that begins with "(". */
#ifndef RF_CALIBRATE_H
#define RF_CALIBRATE_H

#include "layout/layout.h"
#include "target/engine.h"
#include "unwind/unwind.h"

enum rf_verdict {
    RF_WAITING,  /* too few observations so far */
    RF_BELIEVED, /* rt->layout is right; what could not be established is in rt->off */
    RF_REFUTED,
};

struct rf_calibration;

/* rt is changed when a verdict is reached. All must outlive it. NULL when out of memory. */
struct rf_calibration *rf_calibration_new(struct rf_runtime *rt, const struct rf_memory *live);
void rf_calibration_free(struct rf_calibration *c);
/* What an engine must copy so that its snapshots can be observed: whole execution blocks. */
struct rf_selector rf_calibration_selector(struct rf_calibration *c);
/* Looks at the frames of one snapshot. err is filled when they refute the layout. */
enum rf_verdict rf_calibration_observe(struct rf_calibration *c, const struct rf_snapshot *s,
                                       const struct rf_native_stack *native, struct rf_error *err);
/* Samples the process until there is a verdict, for so long at most. RF_OK also while it waits. */
enum rf_status rf_calibrate(struct rf_calibration *c, const struct rf_process *p, struct rf_images *images,
                            uint64_t at_most_ns, enum rf_verdict *verdict, struct rf_error *err);
/* The same for who keeps no calibration: a layout that was not derived is believed as it is. */
enum rf_status rf_calibrate_once(struct rf_runtime *rt, const struct rf_process *p, struct rf_images *images,
                                 uint64_t at_most_ns, enum rf_verdict *verdict, struct rf_error *err);
/* Does any frame of this stack run bytecode? */
bool rf_runs_bytecode(const struct rf_runtime *rt, const struct rf_native_stack *native);
/* "catalog 2.4.0, by build-id", or "calibrated, 93 live observations agreed; off: callers". */
void rf_calibration_describe(const struct rf_runtime *rt, char *out, size_t n);

#endif
