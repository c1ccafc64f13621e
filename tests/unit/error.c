/* Errors never overrun, however long what they quote is. */
#include "rfprof.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void hints_are_lines(void **state)
{
    (void)state;
    struct rf_error err = {0};
    assert_int_equal(rf_fail(&err, RF_TARGET, 3, "no %s", "process"), RF_TARGET);
    rf_hint(&err, "one %d", 1);
    rf_hint(&err, "two");
    assert_string_equal(err.what, "no process");
    assert_string_equal(err.next, "  one 1\n  two\n");
    rf_fail(&err, RF_FAILURE, 0, "other");
    assert_string_equal(err.next, "");
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    static char text[4000];
    memset(text, 'x', sizeof text - 1);
    struct rf_error err = {0};
    rf_fail(&err, RF_TARGET, 0, "%s", text);
    assert_int_equal(strlen(err.what), sizeof err.what - 1);
    for (unsigned i = 0; i < 3; i++)
        rf_hint(&err, "%s", text);
    assert_true(strlen(err.next) < sizeof err.next);
    assert_int_equal(err.next[strlen(err.next) - 1], '\n');
}

static void nobody_has_to_listen(void **state)
{
    (void)state;
    assert_int_equal(rf_fail(NULL, RF_USAGE, 0, "unheard"), RF_USAGE);
    rf_hint(NULL, "unheard");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hints_are_lines),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(nobody_has_to_listen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
