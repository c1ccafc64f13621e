/* store.h: derived slot maps kept on disk, by build-id. Only for lib/slots. */
#ifndef RF_STORE_H
#define RF_STORE_H

#include "slotmap.h"

/* The folder is ~/.cache/rfprof of the effective user as the user database has it: never what an environment says,
 * which under sudo is another user's. False when there is nothing that can be trusted. */
bool rf_store_load(struct rf_slotmap *out, const char *build_id, uint64_t size);
/* Failing to keep it is no error: it is derived again next time. */
void rf_store_save(const struct rf_slotmap *map, const char *build_id, uint64_t size);

#endif
