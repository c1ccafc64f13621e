/* snapshot.c: reading what was copied, and nothing else: a page or block that is not there fails the read. */
#include "snapshot.h"

const unsigned char rf_saved_regs[RF_SAVED] = {RF_RBX, RF_RBP, RF_R12, RF_R13, RF_R14, RF_R15};

static bool page_absent(const struct rf_snapshot *s, size_t page)
{
    return s->absent[page / 64] >> (page % 64) & 1;
}

static const unsigned char *on_stack(const struct rf_snapshot *s, uint64_t addr, size_t n)
{
    if (addr < s->stack_addr || n > s->stack_size || addr - s->stack_addr > s->stack_size - n)
        return NULL;
    size_t at = addr - s->stack_addr;
    for (size_t page = at / RF_PAGE; page <= (at + n - 1) / RF_PAGE; page++)
        if (page_absent(s, page))
            return NULL;
    return s->stack + at;
}

static const unsigned char *in_block(const struct rf_snapshot *s, uint64_t addr, size_t n)
{
    for (size_t i = 0; i < s->n_blocks; i++) {
        const struct rf_block *b = &s->block[i];
        if (addr >= b->addr && n <= b->size && addr - b->addr <= b->size - n)
            return s->bytes + b->off + (addr - b->addr);
    }
    return NULL;
}

static const unsigned char *find(const struct rf_snapshot *s, uint64_t addr, size_t n)
{
    const unsigned char *p = on_stack(s, addr, n);
    return p ? p : in_block(s, addr, n);
}

bool rf_snapshot_read(const struct rf_memory *m, uint64_t addr, void *to, size_t n)
{
    const struct rf_snapshot *s = (const struct rf_snapshot *)m; /* its first member */
    if (n == 0)
        return true;
    const unsigned char *p = find(s, addr, n);
    if (p)
        memcpy(to, p, n);
    return p != NULL;
}

static bool view_read(const struct rf_memory *m, uint64_t addr, void *to, size_t n)
{
    const struct rf_overlay *v = (const struct rf_overlay *)m; /* its first member */
    return rf_snapshot_read(&v->s->memory, addr, to, n) || rf_read(v->live, addr, to, n);
}

static void view_forget(const struct rf_memory *m)
{
    rf_forget(((const struct rf_overlay *)m)->live);
}

struct rf_overlay rf_overlay(const struct rf_snapshot *s, const struct rf_memory *live)
{
    return (struct rf_overlay){{view_read, view_forget}, s, live};
}

bool rf_snapshot_word(const struct rf_snapshot *s, uint64_t addr, uint64_t *to)
{
    const unsigned char *p = find(s, addr, sizeof *to);
    if (p)
        memcpy(to, p, sizeof *to);
    return p != NULL;
}
