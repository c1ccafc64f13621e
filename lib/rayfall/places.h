/* places.h: where nodes stand in a text that is too long for rayforce's 16-bit lines and columns.
 *
 * A span is what the parser saw modulo 65536 (nfo_record in lang/parse.c). But it records each expression when it has
 * read its end, so the spans are in the order of these ends: reading the text again in the same order tells them. */
#ifndef RF_RAYFALL_PLACES_H
#define RF_RAYFALL_PLACES_H

#include "source.h"

/* The places of the n nodes whose span ids were recorded in this order: *out has room for them. False when the text is
 * not the one that they were recorded of, or is nested deeper than the parser allows. */
bool rf_places_find(struct rf_text text, const uint64_t *id, size_t n, struct rf_span *out);

#endif
