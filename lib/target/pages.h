/* pages.h: one pass over a process's memory, page by page instead of word by word.
 *
 * At start some thousand small objects are looked at; a system call for each would take longer than everything else.
 * Of a sample it is some twenty, half of them beside another. What is read is as old as its page's first use, so this
 * is for a pass, not for keeping: rf_forget begins another. */
#ifndef RF_PAGES_H
#define RF_PAGES_H

#include "memory.h"

struct rf_pages {
    struct rf_memory memory; /* reads through the pages; first member */
    const struct rf_memory *from;
    unsigned char *bytes; /* NULL when out of memory: then every read goes to from */
    uint64_t *page;
};

void rf_pages_open(struct rf_pages *p, const struct rf_memory *from);
void rf_pages_close(struct rf_pages *p);

#endif
