/* The maps parser: names with anything in them, lines that make no sense, look-ups at the edges. */
#include "target/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static struct rf_maps parse(const char *text)
{
    struct rf_maps m;
    assert_true(rf_maps_parse(&m, strdup(text)));
    return m;
}

static void a_line_has_its_fields(void **state)
{
    (void)state;
    struct rf_maps m = parse("00400000-00452000 r-xp 00001000 fd:0a 173521      /usr/bin/ray force\n"
                             "7ffc0000-7ffd0000 rw-p 00000000 00:00 0 \n"
                             "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n");
    assert_int_equal(m.n, 3);
    assert_int_equal(m.v[0].start, 0x400000);
    assert_int_equal(m.v[0].end, 0x452000);
    assert_int_equal(m.v[0].offset, 0x1000);
    assert_int_equal(m.v[0].inode, 173521);
    assert_int_equal(m.v[0].dev_major, 0xfd);
    assert_int_equal(m.v[0].dev_minor, 0x0a);
    assert_string_equal(m.v[0].perms, "r-xp");
    assert_string_equal(m.v[0].path, "/usr/bin/ray force");
    assert_string_equal(m.v[1].path, "");
    assert_string_equal(m.v[2].path, "[vsyscall]");
    rf_maps_free(&m);
    assert_null(m.v);
}

static void a_name_may_hold_anything(void **state)
{
    (void)state;
    struct rf_maps m = parse("1000-2000 r--p 0 08:01 5 /tmp/two\\012lines\n"
                             "2000-3000 r--p 0 08:01 5 /tmp/1000-2000 r--p 0 08:01 5 x (deleted)\n"
                             "3000-4000 r--p 0 08:01 5 /tmp/back\\slash");
    assert_int_equal(m.n, 3);
    assert_string_equal(m.v[0].path, "/tmp/two\nlines");
    assert_string_equal(m.v[1].path, "/tmp/1000-2000 r--p 0 08:01 5 x (deleted)");
    assert_string_equal(m.v[2].path, "/tmp/back\\slash");
    rf_maps_free(&m);
}

static void nonsense_is_skipped(void **state)
{
    (void)state;
    struct rf_maps m = parse("\n"
                             "1000-2000\n"
                             "1000-2000 r-\n"
                             "2000-1000 r--p 0 08:01 5\n"
                             "1000-2000 r--p 0 08:01 \n"
                             "-1000-2000 r--p 0 08:01 5\n"
                             "11111111111111111-2 r--p 0 08:01 5\n"
                             "5000-6000 r--p 0 08:01 5 /good\n"
                             "5800-7000 r--p 0 08:01 5 /overlaps\n"
                             "3000-4000 r--p 0 08:01 5 /behind\n");
    assert_int_equal(m.n, 1);
    assert_string_equal(m.v[0].path, "/good");
    rf_maps_free(&m);
    m = parse("");
    assert_int_equal(m.n, 0);
    assert_null(rf_maps_at(&m, 0));
    rf_maps_free(&m);
}

static void look_ups_end_at_the_edges(void **state)
{
    (void)state;
    struct rf_maps m = parse("1000-2000 r--p 0 08:01 5 a\n2000-3000 r--p 0 08:01 5 b\n5000-6000 r--p 0 08:01 5 c\n");
    assert_null(rf_maps_at(&m, 0xfff));
    assert_string_equal(rf_maps_at(&m, 0x1000)->path, "a");
    assert_string_equal(rf_maps_at(&m, 0x1fff)->path, "a");
    assert_string_equal(rf_maps_at(&m, 0x2000)->path, "b");
    assert_null(rf_maps_at(&m, 0x3000));
    assert_null(rf_maps_at(&m, 0x4fff));
    assert_string_equal(rf_maps_at(&m, 0x5fff)->path, "c");
    assert_null(rf_maps_at(&m, 0x6000));
    assert_null(rf_maps_at(&m, UINT64_MAX));
    rf_maps_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_its_fields),
        cmocka_unit_test(a_name_may_hold_anything),
        cmocka_unit_test(nonsense_is_skipped),
        cmocka_unit_test(look_ups_end_at_the_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
