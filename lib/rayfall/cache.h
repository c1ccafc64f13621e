/* cache.h: what was read of the target, kept by the address that it was read at, the last used longest.
 *
 * An entry embeds struct rf_cached as its first member. An epoch is a sample: what it has used is not dropped before
 * the next, so that pointers into entries hold as long as it lasts. */
#ifndef RF_CACHE_H
#define RF_CACHE_H

#include <stddef.h>
#include <stdint.h>

#define HASH_NONFATAL_OOM 1 /* an entry that could not be added has no table */
#define uthash_nonfatal_oom(entry) ((void)(entry))
#include <uthash.h>

struct rf_cached {
    uint64_t addr, epoch;
    UT_hash_handle hh;
};

struct rf_cache {
    struct rf_cached *oldest;            /* in order of last use, by hh.next */
    size_t room;                         /* entries; more only while one epoch uses more */
    void (*free)(struct rf_cached *one); /* an entry, as a whole */
};

struct rf_cached *rf_cache_find(const struct rf_cache *c, uint64_t addr); /* NULL without one */
/* A new entry, whose addr is set. It may drop others. Returns it, or NULL when out of memory: it is then freed. */
struct rf_cached *rf_cache_add(struct rf_cache *c, struct rf_cached *one, uint64_t epoch);
/* An entry that was found is used in this epoch. Returns it, or NULL when out of memory: it is then freed. */
struct rf_cached *rf_cache_use(struct rf_cache *c, struct rf_cached *one, uint64_t epoch);
void rf_cache_drop(struct rf_cache *c, struct rf_cached *one);
void rf_cache_clear(struct rf_cache *c);

#endif
