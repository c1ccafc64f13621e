/* native.h: native frames as they are shown: each address is looked up once. */
#ifndef RF_NATIVE_H
#define RF_NATIVE_H

#include "layout/layout.h"
#include "profile/profile.h"
#include "unwind/unwind.h"

struct rf_natives;

/* rt must outlive it. NULL when out of memory. */
struct rf_natives *rf_natives_new(const struct rf_runtime *rt);
void rf_natives_free(struct rf_natives *n);
/* Forgets everything when it has become much. Texts of frames are valid until then. */
void rf_natives_trim(struct rf_natives *n);

/* What frame i of the stack is shown as, outermost first: its function, then, where debug information tells, those that
 * were inlined at its address. What stands for no C function of the program's own, because the interpreter is it
 * (releases §1.1 and §2: vm_exec, ray_eval and what they call on the way to a function), is RF_KIND_INTERPRETER.
 * Returns how many; *out lives until the next rf_natives_trim. */
size_t rf_natives_frames(struct rf_natives *n, const struct rf_native_stack *native, size_t i,
                         const struct rf_frame **out);

/* Does a native frame only pass a call on to the builtin or lambda that is called? */
bool rf_native_passes_on(const struct rf_native *f);

#endif
