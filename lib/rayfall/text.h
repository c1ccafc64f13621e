/* text.h: rayforce's strings and symbols as bytes. */
#ifndef RF_RAYFALL_TEXT_H
#define RF_RAYFALL_TEXT_H

#include "layout/layout.h"

enum { RF_NAME_MAX = 1024 };

/* The text of a string atom, at most max bytes of it, malloc'ed into *out (never NULL on success, a zero follows the
 * bytes). False when it is no string or cannot be read. */
bool rf_string_read(const struct rf_memory *m, uint64_t addr, size_t max, struct rf_text *out);
/* The text of symbol id. */
bool rf_symbol_read(const struct rf_memory *m, const struct rf_runtime *rt, int64_t id, struct rf_text *out);

/* A line of source without the brackets at its end that close what earlier lines opened, and a comment behind those;
 * all of it, where other text follows them. */
struct rf_text rf_own_forms(struct rf_text line);

#endif
