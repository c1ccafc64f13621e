/* Reads of a snapshot: what was copied, and not a byte besides; and copying around holes in memory. */
#include "target/snapshot.h"
#include "target/copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static unsigned char stack[3 * RF_PAGE], bytes[64];

static struct rf_snapshot *example(void)
{
    static struct rf_snapshot s;
    for (size_t i = 0; i < sizeof stack; i++)
        stack[i] = (unsigned char)(i / RF_PAGE + 1);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(100 + i);
    s = (struct rf_snapshot){.memory.read = rf_snapshot_read, .stack_addr = 0x7000, .stack = stack, .bytes = bytes};
    s.stack_size = sizeof stack - 8; /* the last word is not part of it */
    s.absent[0] = 2;                 /* nor is page 1 */
    s.block[0] = (struct rf_block){0x100, 16, 0};
    s.block[1] = (struct rf_block){0x9ffc, 32, 16}; /* overlaps the end of the stack */
    s.n_blocks = 2;
    return &s;
}

static void the_stack_is_read_up_to_its_ends(void **state)
{
    (void)state;
    const struct rf_snapshot *s = example();
    unsigned char b[16];
    assert_true(rf_read(&s->memory, 0x7000, b, 1));
    assert_int_equal(b[0], 1);
    assert_false(rf_read(&s->memory, 0x6fff, b, 1));
    assert_false(rf_read(&s->memory, 0x6fff, b, 2));
    assert_true(rf_read(&s->memory, 0x9ff0, b, 8));
    assert_false(rf_read(&s->memory, 0x9ff0, b, 9));
    assert_false(rf_read(&s->memory, UINT64_MAX, b, 16));
    assert_true(rf_read(&s->memory, UINT64_MAX, b, 0));
}

static void an_absent_page_is_not_read(void **state)
{
    (void)state;
    const struct rf_snapshot *s = example();
    unsigned char b[2 * RF_PAGE];
    uint64_t word;
    assert_true(rf_read(&s->memory, 0x7fff, b, 1));
    assert_false(rf_read(&s->memory, 0x7fff, b, 2));
    assert_false(rf_read(&s->memory, 0x8800, b, 8));
    assert_false(rf_read(&s->memory, 0x8fff, b, 2));
    assert_false(rf_read(&s->memory, 0x7ff0, b, RF_PAGE + 32));
    assert_true(rf_read(&s->memory, 0x9000, b, 1));
    assert_int_equal(b[0], 3);
    assert_false(rf_snapshot_word(s, 0x7ffc, &word));
    assert_true(rf_snapshot_word(s, 0x7ff8, &word));
    assert_int_equal(word, 0x0101010101010101);
}

static void blocks_are_read_whole_or_not(void **state)
{
    (void)state;
    const struct rf_snapshot *s = example();
    unsigned char b[64];
    uint64_t word;
    assert_true(rf_read(&s->memory, 0x104, b, 12));
    assert_int_equal(b[0], 104);
    assert_false(rf_read(&s->memory, 0x104, b, 13));
    assert_true(rf_snapshot_word(s, 0x9ffc, &word)); /* from the block, not across the stack's end */
    assert_int_equal(word & 0xff, 116);
    assert_false(rf_snapshot_word(s, 0xa018, &word));
}

/* Copies come from this process; a thread need not be stopped for process_vm_readv(2). */
static struct rf_snapshot *of_this_process(uint64_t rsp)
{
    struct rf_snapshot *s = rf_snapshot_new();
    assert_non_null(s);
    s->tid = getpid();
    s->reg[RF_RSP] = rsp;
    return s;
}

static void pages_behind_a_hole_are_copied(void **state)
{
    (void)state;
    unsigned char *m = mmap(NULL, 8 * RF_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(m, MAP_FAILED);
    for (unsigned page = 0; page < 8; page++)
        m[page * RF_PAGE + 77] = (unsigned char)(page + 1);
    munmap(m + 2 * RF_PAGE, RF_PAGE);
    mprotect(m + 4 * RF_PAGE, RF_PAGE, PROT_NONE);
    munmap(m + 6 * RF_PAGE, 2 * RF_PAGE);
    uint64_t base = (uint64_t)(uintptr_t)m;
    struct rf_snapshot *s = of_this_process(base + 100);
    rf_copy_stack(s, base + 8 * RF_PAGE, RF_STACK_MAX);
    assert_int_equal(s->stack_addr, base);
    assert_int_equal(s->stack_size, 6 * RF_PAGE); /* holes at the end are no part of it */
    assert_false(s->stack_capped);
    for (unsigned page = 0; page < 8; page++) {
        unsigned char byte;
        bool there = page != 2 && page != 4 && page < 6;
        assert_int_equal(rf_read(&s->memory, base + page * RF_PAGE + 77, &byte, 1), there);
        if (there)
            assert_int_equal(byte, page + 1);
    }
    rf_snapshot_free(s);
    munmap(m, 2 * RF_PAGE);
    munmap(m + 3 * RF_PAGE, 3 * RF_PAGE);
}

static void of_a_long_stack_both_ends_are_copied(void **state)
{
    (void)state;
    enum { PAGES = 16, SLICE = 3 };
    unsigned char *m = mmap(NULL, PAGES * RF_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(m, MAP_FAILED);
    uint64_t base = (uint64_t)(uintptr_t)m, top = base + PAGES * RF_PAGE - 8;
    struct rf_snapshot *s = of_this_process(base + 8);
    rf_copy_stack(s, top, SLICE * RF_PAGE);
    assert_int_equal(s->stack_size, PAGES * RF_PAGE - 8);
    for (unsigned page = 0; page < PAGES; page++) {
        unsigned char byte;
        bool there = page < SLICE || page >= PAGES - SLICE - 1; /* the upper slice begins on a page */
        assert_int_equal(rf_read(&s->memory, base + page * RF_PAGE + 77, &byte, 1), there);
    }
    rf_snapshot_free(s);
    munmap(m, PAGES * RF_PAGE);
}

static void a_stack_is_capped_and_nonsense_is_empty(void **state)
{
    (void)state;
    struct rf_snapshot *s = of_this_process(0x1000);
    rf_copy_stack(s, UINT64_MAX, 4 * RF_PAGE);
    assert_true(s->stack_capped);
    assert_int_equal(s->stack_size, 0);
    s->reg[RF_RSP] = UINT64_MAX;
    rf_copy_stack(s, 0x5000, 4 * RF_PAGE);
    assert_int_equal(s->stack_size, 0);
    rf_snapshot_free(s);
}

static const char first[] = "first", third[] = "third", later[] = "later";
static uint64_t hole;

static size_t choose(void *ctx, const struct rf_snapshot *s, unsigned round, struct rf_range *out, size_t max)
{
    (void)ctx;
    assert_true(max >= 5);
    if (round == 1)
        assert_int_equal(s->n_blocks, 3);
    if (round > 1)
        return 0;
    if (round == 1) {
        out[0] = (struct rf_range){(uint64_t)(uintptr_t)later, sizeof later};
        return 1;
    }
    out[0] = (struct rf_range){(uint64_t)(uintptr_t)first, sizeof first};
    out[1] = (struct rf_range){hole - 8, 16}; /* its first half is there */
    out[2] = (struct rf_range){(uint64_t)(uintptr_t)third, sizeof third};
    out[3] = (struct rf_range){0, 0};
    out[4] = (struct rf_range){(uint64_t)(uintptr_t)third, RF_BYTES_MAX + 1};
    out[5] = (struct rf_range){8, 8};
    out[6] = (struct rf_range){(uint64_t)(uintptr_t)first, 2};
    return 7;
}

static void ranges_behind_a_bad_one_are_copied(void **state)
{
    (void)state;
    unsigned char *m = mmap(NULL, 2 * RF_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(m, MAP_FAILED);
    munmap(m + RF_PAGE, RF_PAGE);
    hole = (uint64_t)(uintptr_t)m + RF_PAGE;
    struct rf_snapshot *s = of_this_process(0x1000);
    rf_copy_blocks(s, &(struct rf_selector){.select = choose});
    assert_int_equal(s->n_blocks, 4);
    assert_int_equal(s->n_bytes, sizeof first + sizeof third + 2 + sizeof later);
    assert_string_equal((char *)s->bytes + s->block[0].off, first);
    assert_string_equal((char *)s->bytes + s->block[1].off, third);
    assert_memory_equal(s->bytes + s->block[2].off, first, 2);
    assert_string_equal((char *)s->bytes + s->block[3].off, later);
    rf_snapshot_free(s);
    munmap(m, RF_PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stack_is_read_up_to_its_ends),
        cmocka_unit_test(an_absent_page_is_not_read),
        cmocka_unit_test(blocks_are_read_whole_or_not),
        cmocka_unit_test(pages_behind_a_hole_are_copied),
        cmocka_unit_test(of_a_long_stack_both_ends_are_copied),
        cmocka_unit_test(a_stack_is_capped_and_nonsense_is_empty),
        cmocka_unit_test(ranges_behind_a_bad_one_are_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
