/* What is a fair sample: not a thread that was woken up, or put off its CPU, before the tick and waits for one. */
#include "target/engine_ptrace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { US = 1000, TICK = 1000000 * US };

/* Stopped so long after the tick began, let go 20 us later, its clock read 10 us after that. */
static bool waited(uint64_t waited_ns, uint64_t stopped_ns)
{
    uint64_t at_ns = TICK + stopped_ns, let_go_ns = at_ns + 20 * US;
    return rf_waited_before(waited_ns, TICK, at_ns, let_go_ns, let_go_ns + 10 * US);
}

static void who_ran_until_the_stop_did_not_wait(void **state)
{
    (void)state;
    assert_false(waited(0, 0));
    assert_false(waited(0, 40 * US));
    assert_false(waited(0, 4000 * US));
}

/* Put off its CPU by the holder: from its wake-up, at the earliest just before the tick, to the stop. */
static void who_was_put_off_by_us_did_not_wait_before(void **state)
{
    (void)state;
    assert_false(waited(40 * US, 40 * US));
    assert_false(waited(60 * US, 40 * US));
    assert_false(waited(4000 * US, 4000 * US));
}

/* ... and by others, after it was let go. */
static void what_it_waited_since_is_left_out(void **state)
{
    (void)state;
    assert_false(waited(50 * US, 40 * US));
    assert_false(rf_waited_before(3000 * US, TICK, TICK + 40 * US, TICK + 60 * US, TICK + 3060 * US));
    assert_true(rf_waited_before(3200 * US, TICK, TICK + 40 * US, TICK + 60 * US, TICK + 3060 * US));
}

static void who_waited_for_longer_than_the_tick_waited_before(void **state)
{
    (void)state;
    assert_true(waited(100 * US, 40 * US));
    assert_true(waited(4000 * US, 40 * US));
    assert_true(waited(8000 * US, 4000 * US));
    assert_true(rf_waited_before(31 * US, TICK, TICK, TICK, TICK));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_ran_until_the_stop_did_not_wait),
        cmocka_unit_test(who_was_put_off_by_us_did_not_wait_before),
        cmocka_unit_test(what_it_waited_since_is_left_out),
        cmocka_unit_test(who_waited_for_longer_than_the_tick_waited_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
