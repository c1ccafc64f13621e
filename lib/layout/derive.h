/* derive.h: parts of a layout that machine code shows, for what debug information does not say. Private to this room.
 */
#ifndef RF_DERIVE_H
#define RF_DERIVE_H

#include "layout.h"

/* Who this is: core, compiler, build-id. */
void rf_derive_identity(struct rf_runtime *rt);
/* The VM's fields, from the functions that return them; each may stay unknown. */
void rf_derive_vm(struct rf_runtime *rt);
/* How many slots a function object has; may stay unknown. */
void rf_derive_lambda(struct rf_runtime *rt);
/* The pool's window; may stay unknown. */
void rf_derive_pool(struct rf_runtime *rt);
/* The buddy block that an execution block of this size is in: it has a header of its own. */
int32_t rf_derive_order(int32_t exec_size);

#endif
