/* pages.c: a direct-mapped cache of pages. */
#include "pages.h"

#include <stdlib.h>

enum { PAGE = 4096, PAGES = 128 };

static const unsigned char *page_at(const struct rf_pages *p, uint64_t number)
{
    size_t slot = (size_t)(number % PAGES);
    unsigned char *bytes = p->bytes + slot * PAGE;
    if (p->page[slot] == number)
        return bytes;
    p->page[slot] = UINT64_MAX;
    if (!rf_read(p->from, number * PAGE, bytes, PAGE))
        return NULL;
    p->page[slot] = number;
    return bytes;
}

static bool read_through(const struct rf_memory *m, uint64_t addr, void *to, size_t n)
{
    const struct rf_pages *p = (const struct rf_pages *)m;
    if (!p->bytes || n > PAGE || addr % PAGE + n > PAGE)
        return rf_read(p->from, addr, to, n);
    const unsigned char *bytes = page_at(p, addr / PAGE);
    if (!bytes)
        return rf_read(p->from, addr, to, n);
    memcpy(to, bytes + addr % PAGE, n);
    return true;
}

static void forget(const struct rf_memory *m)
{
    const struct rf_pages *p = (const struct rf_pages *)m;
    for (size_t i = 0; p->bytes && i < PAGES; i++)
        p->page[i] = UINT64_MAX;
}

void rf_pages_open(struct rf_pages *p, const struct rf_memory *from)
{
    p->memory = (struct rf_memory){read_through, forget};
    p->from = from;
    p->page = malloc(PAGES * sizeof *p->page);
    p->bytes = p->page ? malloc(PAGES * PAGE) : NULL;
    forget(&p->memory);
}

void rf_pages_close(struct rf_pages *p)
{
    free(p->page);
    free(p->bytes);
}
