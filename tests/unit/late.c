/* Late ticks: one sample does not stand for all of what ran meanwhile, and nothing of it is lost. */
#include "target/late.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MS = 1000000, PERIOD = 5 * MS };

static void in_time_a_sample_has_what_was_used(void **state)
{
    (void)state;
    struct rf_late l = {0};
    struct rf_put_off p = {0};
    rf_late_expect(&l, PERIOD);
    uint64_t now = MS;
    for (unsigned i = 0; i < 1000; i++) {
        rf_late_tick(&l, now);
        assert_int_equal(rf_late_weight(&l, &p, i % 7 * MS), i % 7 * MS);
        now += i % 2 ? 1 * MS : 9 * MS; /* as far apart and as near as instants of neighbouring periods are */
    }
    assert_int_equal(l.total_ns, 0);
}

/* A thread that always runs. */
static void a_late_tick_is_spread_over_the_next_samples(void **state)
{
    (void)state;
    struct rf_late l = {0};
    struct rf_put_off p = {0};
    rf_late_expect(&l, PERIOD);
    uint64_t now = MS, sum = 0, most = 0, samples = 0;
    rf_late_tick(&l, now);
    for (unsigned i = 0; i < 100; i++) {
        uint64_t gap = i == 3 ? 80 * MS : PERIOD;
        now += gap;
        rf_late_tick(&l, now);
        uint64_t weight = rf_late_weight(&l, &p, gap);
        sum += weight;
        most = weight > most ? weight : most;
        samples += weight > PERIOD;
    }
    assert_int_equal(sum, now - MS);
    assert_int_equal(p.ns, 0);
    assert_in_range(most, 2 * PERIOD, 2 * PERIOD + MS);
    assert_in_range(samples, 10, 20);
}

static void a_pause_of_ten_seconds_is_no_single_sample_and_not_how_the_machine_is(void **state)
{
    (void)state;
    struct rf_late l = {0};
    struct rf_put_off p = {0};
    rf_late_expect(&l, PERIOD);
    uint64_t now = MS, most = 0, sum = 0;
    rf_late_tick(&l, now);
    for (unsigned i = 0; i < 1500; i++) {
        uint64_t gap = i == 3 ? (uint64_t)10000 * MS : PERIOD;
        now += gap;
        rf_late_tick(&l, now);
        uint64_t weight = rf_late_weight(&l, &p, gap);
        sum += weight;
        most = weight > most ? weight : most;
        assert_in_range(l.gap_ns, PERIOD - 1000, 2 * PERIOD);
    }
    assert_int_equal(sum, now - MS);
    assert_in_range(most, 100 * MS, 200 * MS);
}

static void what_slept_meanwhile_is_not_touched(void **state)
{
    (void)state;
    struct rf_late l = {0};
    struct rf_put_off p = {0};
    rf_late_expect(&l, PERIOD);
    rf_late_tick(&l, MS);
    rf_late_tick(&l, 500 * MS);
    assert_int_equal(rf_late_weight(&l, &p, 2 * MS), 2 * MS);
    /* What it used without a sample when ticks were in time, because each found it asleep, is the next sample's. */
    rf_late_tick(&l, 505 * MS);
    assert_int_equal(rf_late_weight(&l, &p, 60 * MS), 60 * MS);
}

/* Where every tick is late nothing can be put off to better ones. */
static void a_machine_on_which_all_are_late_does_not_run_up_a_debt(void **state)
{
    (void)state;
    struct rf_late l = {0};
    struct rf_put_off p = {0};
    rf_late_expect(&l, PERIOD);
    uint64_t now = MS;
    for (unsigned i = 0; i < 500; i++) {
        uint64_t gap = 40 * MS + i % 5 * 10 * MS;
        now += gap;
        rf_late_tick(&l, now);
        rf_late_weight(&l, &p, gap);
    }
    assert_in_range(l.gap_ns, 50 * MS, 70 * MS);
    assert_in_range(p.ns, 0, 120 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_time_a_sample_has_what_was_used),
        cmocka_unit_test(a_late_tick_is_spread_over_the_next_samples),
        cmocka_unit_test(a_pause_of_ten_seconds_is_no_single_sample_and_not_how_the_machine_is),
        cmocka_unit_test(what_slept_meanwhile_is_not_touched),
        cmocka_unit_test(a_machine_on_which_all_are_late_does_not_run_up_a_debt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
