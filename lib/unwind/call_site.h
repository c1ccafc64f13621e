/* call_site.h: does a call instruction end here? Private to this room.
 *
 * In an executable without PIE any small integer looks like an address of code, so a word counts as a return
 * address only when the instruction before it is a call. */
#ifndef RF_CALL_SITE_H
#define RF_CALL_SITE_H

#include <stdbool.h>
#include <stddef.h>

enum { RF_CALL_MAX = 7, RF_SIGRETURN_SIZE = 9 }; /* longest call without its prefixes, which do not matter here */

/* True when the n bytes that end at the return address can end with a call. */
bool rf_ends_with_call(const unsigned char *bytes, size_t n);
/* True when the n bytes from pc are the kernel's signal trampoline: mov $15,%rax; syscall. */
bool rf_is_sigreturn(const unsigned char *bytes, size_t n);

#endif
