/* The ticker: one instant in each period, at random, none early, none twice; missed ones are counted. */
#include "target/ticker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void each_period_has_one_instant(void **state)
{
    (void)state;
    struct rf_ticker t;
    rf_ticker_start(&t, 5000000, 100, 42);
    uint64_t offsets = 0;
    for (uint64_t k = 0; k < 1000; k++) {
        uint64_t from = 5000000 + k * 10000000;
        assert_in_range(t.next_ns, from, from + 9999999);
        offsets += t.next_ns - from;
        assert_int_equal(rf_ticker_advance(&t, t.next_ns), 0);
    }
    /* 1000 draws of a uniform 0..10 ms: their mean is within 5 standard errors (91 us each) of 5 ms */
    assert_in_range(offsets / 1000, 5000000 - 456000, 5000000 + 456000);
}

static void instants_differ_from_period_to_period(void **state)
{
    (void)state;
    struct rf_ticker t;
    rf_ticker_start(&t, 0, 1000, 7);
    uint64_t first = t.next_ns;
    rf_ticker_advance(&t, first);
    assert_int_not_equal(t.next_ns - 1000000, first);
}

static void missed_periods_are_counted_and_not_made_up_for(void **state)
{
    (void)state;
    struct rf_ticker t;
    for (uint64_t seed = 0; seed < 200; seed++) {
        rf_ticker_start(&t, 0, 100, seed);
        uint64_t asked = 1, missed = 0, now = t.next_ns;
        for (unsigned i = 0; i < 50; i++) {
            missed += rf_ticker_advance(&t, now);
            asked++;
            assert_true(t.next_ns > now);
            now = t.next_ns + i * 3000000; /* later and later */
        }
        /* Every period up to the present one was either asked for or missed. */
        assert_int_equal(asked + missed, t.next_ns / 10000000 + 1);
    }
}

static void a_new_rate_begins_now(void **state)
{
    (void)state;
    struct rf_ticker t;
    rf_ticker_start(&t, 0, 1000, 3);
    rf_ticker_set_rate(&t, 777, 10);
    assert_in_range(t.next_ns, 777, 777 + 100000000);
    assert_int_equal(t.period_ns, 100000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_period_has_one_instant),
        cmocka_unit_test(instants_differ_from_period_to_period),
        cmocka_unit_test(missed_periods_are_counted_and_not_made_up_for),
        cmocka_unit_test(a_new_rate_begins_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
