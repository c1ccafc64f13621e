/* texts.h: texts compared, byte by byte. */
#ifndef RF_TEXTS_H
#define RF_TEXTS_H

#include "rfprof.h"

#include <string.h>

/* Less than, equal to or greater than 0, as strcmp(3); what is the beginning of another text comes before it. */
static inline int rf_text_compare(struct rf_text a, struct rf_text b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n ? memcmp(a.s, b.s, n) : 0;
    return c ? c : (a.n > b.n) - (a.n < b.n);
}

static inline bool rf_text_same(struct rf_text a, struct rf_text b)
{
    return a.n == b.n && (!a.n || memcmp(a.s, b.s, a.n) == 0);
}

static inline bool rf_text_is(struct rf_text t, const char *s)
{
    return rf_text_same(t, (struct rf_text){s, strlen(s)});
}

#endif
