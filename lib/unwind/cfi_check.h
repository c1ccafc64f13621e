/* cfi_check.h: is the CFI for an address fit for libunwind? Private to this room. */
#ifndef RF_CFI_CHECK_H
#define RF_CFI_CHECK_H

#include "../image/image.h"

/* True when the FDE that the image's search table has for addr, and its CIE, hold only what libunwind handles
 * safely. Compilers write nothing else. */
bool rf_cfi_is_sane(const struct rf_image *image, const struct rf_cfi *cfi, uint64_t addr);

#endif
