/* escape.h: one rule for every text format: \t \n \r \\ \" for those characters, \xNN for other control
 * characters (C0, DEL, C1) and for bytes that are not UTF-8. */
#ifndef RF_ESCAPE_H
#define RF_ESCAPE_H

#include "rfprof.h"

/* A malloc'ed, terminated copy of text, escaped; NULL when out of memory. */
char *rf_escape(struct rf_text text);

/* Length of the UTF-8 character at s and its code point; 0 when there is no valid one in the n bytes. */
size_t rf_utf8(const char *s, size_t n, uint32_t *out);

#endif
