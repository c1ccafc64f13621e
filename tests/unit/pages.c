/* pages: what is read once is kept for the pass, and for no longer. */
#include "target/pages.h"
#include "target/snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { START = 0x10000, SIZE = 3 * 4096 };

/* The second of three pages cannot be read. */
struct world {
    struct rf_memory memory; /* first member */
    unsigned char bytes[SIZE];
    unsigned *reads;
};

static bool read_world(const struct rf_memory *m, uint64_t addr, void *to, size_t n)
{
    const struct world *w = (const struct world *)m;
    ++*w->reads;
    if (addr < START || addr + n > START + SIZE || (addr < START + 8192 && addr + n > START + 4096))
        return false;
    memcpy(to, w->bytes + (addr - START), n);
    return true;
}

static unsigned reads;

static struct world *new_world(void)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    reads = 0;
    w->memory.read = read_world;
    w->reads = &reads;
    for (size_t i = 0; i < SIZE; i++)
        w->bytes[i] = (unsigned char)(i * 7);
    return w;
}

static void a_page_is_read_once_until_it_is_forgotten(void **state)
{
    (void)state;
    struct world *w = new_world();
    struct rf_pages p;
    unsigned char byte;
    rf_pages_open(&p, &w->memory);
    for (unsigned i = 0; i < 100; i++) {
        assert_true(rf_read(&p.memory, START + i, &byte, 1));
        assert_int_equal(byte, (unsigned char)(i * 7));
    }
    assert_int_equal(reads, 1);
    w->bytes[3] = 99;
    assert_true(rf_read(&p.memory, START + 3, &byte, 1) && byte == 21);
    rf_forget(&p.memory);
    assert_true(rf_read(&p.memory, START + 3, &byte, 1) && byte == 99);
    rf_pages_close(&p);
    free(w);
}

static void what_cannot_be_read_is_not_kept(void **state)
{
    (void)state;
    struct world *w = new_world();
    struct rf_pages p;
    unsigned char bytes[16];
    rf_pages_open(&p, &w->memory);
    assert_false(rf_read(&p.memory, START + 5000, bytes, 8));
    assert_false(rf_read(&p.memory, START + 4090, bytes, 16));
    assert_true(rf_read(&p.memory, START + 8192, bytes, 16));
    assert_memory_equal(bytes, w->bytes + 8192, 16);
    rf_pages_close(&p);
    free(w);
}

/* What is read through a snapshot and then of the process is forgotten through it, too. */
static void a_snapshot_over_pages_passes_it_on(void **state)
{
    (void)state;
    struct world *w = new_world();
    struct rf_snapshot *s = calloc(1, sizeof *s);
    struct rf_pages p;
    unsigned char byte;
    assert_non_null(s);
    s->memory.read = rf_snapshot_read;
    rf_pages_open(&p, &w->memory);
    struct rf_overlay view = rf_overlay(s, &p.memory);
    assert_true(rf_read(&view.memory, START, &byte, 1) && byte == 0);
    w->bytes[0] = 5;
    assert_true(rf_read(&view.memory, START, &byte, 1) && byte == 0);
    rf_forget(&view.memory);
    assert_true(rf_read(&view.memory, START, &byte, 1) && byte == 5);
    rf_pages_close(&p);
    free(s);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_is_read_once_until_it_is_forgotten),
        cmocka_unit_test(what_cannot_be_read_is_not_kept),
        cmocka_unit_test(a_snapshot_over_pages_passes_it_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
