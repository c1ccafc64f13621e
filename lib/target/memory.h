/* memory.h: bytes at an address of the target, whoever has them.
 *
 * Decoders read through this, so that a live process, a snapshot, a core file or a test's array all look
 * alike. What is read is hostile input: every caller checks what it got. */
#ifndef RF_MEMORY_H
#define RF_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Embed as the first member. read copies exactly n bytes or returns false; *to is then unspecified. */
struct rf_memory {
    bool (*read)(const struct rf_memory *m, uint64_t addr, void *to, size_t n);
    /* Forgets what it keeps, so that it is read anew. NULL: it keeps nothing. */
    void (*forget)(const struct rf_memory *m);
};

static inline bool rf_read(const struct rf_memory *m, uint64_t addr, void *to, size_t n)
{
    return m->read(m, addr, to, n);
}

static inline bool rf_read_u64(const struct rf_memory *m, uint64_t addr, uint64_t *to)
{
    return m->read(m, addr, to, sizeof *to);
}

static inline bool rf_read_i32(const struct rf_memory *m, uint64_t addr, int32_t *to)
{
    return m->read(m, addr, to, sizeof *to);
}

/* Before what was read is compared with what is there now. */
static inline void rf_forget(const struct rf_memory *m)
{
    if (m->forget)
        m->forget(m);
}

#endif
