/* copy.c: process_vm_readv(2) while the thread is held. It stops at the first page that it cannot read and says
 * nothing of what lies behind, so after each hole the copy starts anew. */
#include "copy.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum {
    HEAD = (sizeof(struct rf_snapshot) + RF_PAGE - 1) / RF_PAGE * RF_PAGE,
    WHOLE = HEAD + RF_STACK_MAX + RF_BYTES_MAX,
};

struct rf_snapshot *rf_snapshot_new(void)
{
    unsigned char *m = mmap(NULL, WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED)
        return NULL;
    struct rf_snapshot *s = (struct rf_snapshot *)m;
    s->memory.read = rf_snapshot_read;
    s->stack = m + HEAD;
    s->bytes = m + HEAD + RF_STACK_MAX;
    return s;
}

void rf_snapshot_free(struct rf_snapshot *s)
{
    munmap(s, WHOLE);
}

/* Bytes copied, 0 when none. */
static size_t copy(pid_t tid, void *to, size_t n, const struct iovec *from, size_t n_from)
{
    struct iovec here = {to, n};
    long got = rf_raw(SYS_process_vm_readv, tid, (long)&here, 1, (long)from, (long)n_from, 0);
    return got > 0 ? (size_t)got : 0;
}

static void mark_absent(struct rf_snapshot *s, size_t page)
{
    s->absent[page / 64] |= 1ull << (page % 64);
}

/* Bytes [at, end) of the stack; a page that cannot be read is marked and passed over. */
static void copy_slice(struct rf_snapshot *s, size_t at, size_t end)
{
    while (at < end) {
        struct iovec from = {(void *)(uintptr_t)(s->stack_addr + at), end - at};
        size_t got = copy(s->tid, s->stack + at, end - at, &from, 1);
        at += got;
        if (got)
            s->stack_size = at; /* so that absent pages at the end are no part of it */
        if (at < end) {
            mark_absent(s, at / RF_PAGE);
            at = (at / RF_PAGE + 1) * RF_PAGE;
        }
    }
}

void rf_copy_stack(struct rf_snapshot *s, uint64_t top, size_t slice)
{
    s->stack_addr = s->reg[RF_RSP] & ~(uint64_t)(RF_PAGE - 1);
    s->stack_size = 0;
    s->stack_capped = false;
    memset(s->absent, 0, sizeof s->absent);
    if (top <= s->stack_addr)
        return;
    size_t want = top - s->stack_addr > RF_STACK_MAX ? RF_STACK_MAX : (size_t)(top - s->stack_addr);
    s->stack_capped = top - s->stack_addr > RF_STACK_MAX;
    if (want <= 2 * slice) {
        copy_slice(s, 0, want);
        return;
    }
    size_t upper = (want - slice) / RF_PAGE * RF_PAGE;
    copy_slice(s, 0, slice);
    for (size_t page = slice / RF_PAGE; page < upper / RF_PAGE; page++)
        mark_absent(s, page);
    copy_slice(s, upper, want);
}

/* Copies v[0..n), one behind the other; those that cannot be read whole are left out. */
static void copy_ranges(struct rf_snapshot *s, const struct rf_range *v, size_t n)
{
    struct iovec from[RF_BLOCKS_MAX];
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        from[i] = (struct iovec){(void *)(uintptr_t)v[i].addr, v[i].size};
        left += v[i].size;
    }
    for (size_t i = 0; i < n;) {
        size_t got = copy(s->tid, s->bytes + s->n_bytes, left, from + i, n - i);
        for (; i < n && got >= v[i].size; i++) {
            s->block[s->n_blocks++] = (struct rf_block){v[i].addr, v[i].size, (uint32_t)s->n_bytes};
            s->n_bytes += v[i].size;
            got -= v[i].size;
            left -= v[i].size;
        }
        if (i < n)
            left -= v[i++].size;
    }
}

void rf_copy_blocks(struct rf_snapshot *s, const struct rf_selector *selector)
{
    struct rf_range v[RF_BLOCKS_MAX];
    s->n_blocks = 0;
    s->n_bytes = 0;
    for (unsigned round = 0; selector->select && round < RF_ROUNDS_MAX; round++) {
        size_t room = RF_BLOCKS_MAX - s->n_blocks, bytes = RF_BYTES_MAX - s->n_bytes, kept = 0;
        size_t n = selector->select(selector->ctx, s, round, v, room);
        if (n == 0 || room == 0)
            break;
        for (size_t i = 0; i < n && i < room; i++) {
            if (v[i].size == 0 || v[i].size > bytes)
                continue;
            bytes -= v[i].size;
            v[kept++] = v[i];
        }
        copy_ranges(s, v, kept);
    }
}
