/* cache.c: a hash table whose entries are in order of last use. */
#include "cache.h"

struct rf_cached *rf_cache_find(const struct rf_cache *c, uint64_t addr)
{
    struct rf_cached *one;
    HASH_FIND(hh, c->oldest, &addr, sizeof addr, one);
    return one;
}

/* uthash keeps the order in which entries were added. */
static struct rf_cached *append(struct rf_cache *c, struct rf_cached *one, uint64_t epoch)
{
    one->epoch = epoch;
    HASH_ADD(hh, c->oldest, addr, sizeof one->addr, one);
    if (one->hh.tbl)
        return one;
    c->free(one);
    return NULL;
}

struct rf_cached *rf_cache_add(struct rf_cache *c, struct rf_cached *one, uint64_t epoch)
{
    while (HASH_COUNT(c->oldest) >= c->room && c->oldest->epoch != epoch)
        rf_cache_drop(c, c->oldest);
    return append(c, one, epoch);
}

struct rf_cached *rf_cache_use(struct rf_cache *c, struct rf_cached *one, uint64_t epoch)
{
    HASH_DEL(c->oldest, one);
    return append(c, one, epoch);
}

void rf_cache_drop(struct rf_cache *c, struct rf_cached *one)
{
    HASH_DEL(c->oldest, one);
    c->free(one);
}

void rf_cache_clear(struct rf_cache *c)
{
    while (c->oldest)
        rf_cache_drop(c, c->oldest);
}
