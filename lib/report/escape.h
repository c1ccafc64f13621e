/* escape.h: one rule for every text format: \t \n \r \\ \" for those characters, \xNN for other control
 * characters (C0, DEL, C1) and for bytes that are not UTF-8. */
#ifndef RF_ESCAPE_H
#define RF_ESCAPE_H

#include "rfprof.h"

/* A malloc'ed, terminated copy of text, escaped; NULL when out of memory. */
char *rf_escape(struct rf_text text);

/* Length of the UTF-8 character at s and its code point; 0 when there is no valid one in the n bytes. */
size_t rf_utf8(const char *s, size_t n, uint32_t *out);

/* For formats that have rules of their own for what they hold: the first character of a text (which is not empty),
 * terminated; for what is no character of a text (control characters, bytes that are not UTF-8, U+FFFE, U+FFFF) the
 * \xNN of its first byte. Sets the columns that it takes on a screen and returns how many bytes it stands for. */
size_t rf_readable(struct rf_text text, char to[static 8], unsigned *columns);
/* A malloc'ed, terminated copy of text, made of such characters; NULL when out of memory. */
char *rf_readable_copy(struct rf_text text);

#endif
