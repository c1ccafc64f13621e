/* The histogram of hold times: percentiles right to a bucket (6 %), sums and maxima exact; and what such a time is. */
#include "target/engine.h"
#include "target/stop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void empty_is_zero(void **state)
{
    (void)state;
    static struct rf_hist h;
    assert_int_equal(rf_hist_percentile(&h, .5), 0);
}

static void percentiles_are_right_to_a_bucket(void **state)
{
    (void)state;
    static struct rf_hist h;
    for (uint64_t v = 1; v <= 100000; v++)
        rf_hist_add(&h, v);
    assert_int_equal(h.n, 100000);
    assert_int_equal(h.sum, 100000ull * 100001 / 2);
    assert_int_equal(h.max, 100000);
    for (unsigned percent = 1; percent < 100; percent++) {
        uint64_t exact = percent * 1000;
        assert_in_range(rf_hist_percentile(&h, percent / 100.0), exact - exact / 15, exact + 1);
    }
    assert_int_equal(rf_hist_percentile(&h, 1), 100000);
}

static void extremes_have_a_bucket(void **state)
{
    (void)state;
    static struct rf_hist h;
    rf_hist_add(&h, 0);
    rf_hist_add(&h, UINT64_MAX);
    assert_int_equal(rf_hist_percentile(&h, 0), 0);
    assert_in_range(rf_hist_percentile(&h, .99), UINT64_MAX / 16 * 15, UINT64_MAX);
}

/* Asked at 1000, stopped at 5000, let go at 5300. */
static void waiting_for_a_cpu_is_no_hold_but_only_until_the_stop(void **state)
{
    (void)state;
    struct rf_hold hold = {.from_ns = 1000, .at_ns = 5000};
    assert_int_equal(rf_hold_ns(&hold, 5300, 0), 4300);
    assert_int_equal(rf_hold_ns(&hold, 5300, 3000), 1300);
    assert_int_equal(rf_hold_ns(&hold, 5300, 4000), 300);
    assert_int_equal(rf_hold_ns(&hold, 5300, 90000), 300); /* it had waited before we came, too */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_is_zero),
        cmocka_unit_test(percentiles_are_right_to_a_bucket),
        cmocka_unit_test(extremes_have_a_bucket),
        cmocka_unit_test(waiting_for_a_cpu_is_no_hold_but_only_until_the_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
