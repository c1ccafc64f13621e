/* Samples of pool workers that wait for one of the main thread: which it may be, and for how long they do. */
#include "rayfall/waiting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SORT = 1, MERGE, SUM, /* tasks */ SORTS, SUMS /* dispatchers */ };
static const uint64_t SECOND = 1000000000;

static void add(struct rf_waiting *w, pid_t tid, uint64_t task, bool apart, uint64_t now)
{
    struct rf_wait *one = rf_waiting_add(w, tid, task, apart, now);
    one->ns += 10;
    one->samples++;
}

static void taken(struct rf_waiting *w, uint64_t dispatcher, uint64_t now, uint64_t task, uint32_t samples)
{
    const struct rf_wait *one = NULL;
    assert_true(rf_waiting_take(w, dispatcher, now, &one));
    assert_int_equal(one->task, task);
    assert_int_equal(one->samples, samples);
    assert_int_equal(one->ns, 10 * samples);
}

static void nothing(struct rf_waiting *w, uint64_t dispatcher, uint64_t now)
{
    const struct rf_wait *one;
    assert_false(rf_waiting_take(w, dispatcher, now, &one));
}

static void a_task_goes_with_its_dispatchers(void **state)
{
    (void)state;
    struct rf_waiting *w = rf_waiting_new();
    rf_waiting_learn(w, SORT, SORTS);
    rf_waiting_learn(w, MERGE, SORTS);
    rf_waiting_learn(w, MERGE, SUMS);
    rf_waiting_learn(w, 0, SUMS);
    rf_waiting_learn(w, SUM, 0);
    add(w, 7, SORT, false, SECOND);
    nothing(w, SUMS, SECOND);
    taken(w, SORTS, SECOND, SORT, 1);
    nothing(w, SORTS, SECOND);
    add(w, 7, MERGE, false, SECOND);
    taken(w, SUMS, SECOND, MERGE, 1);
    add(w, 7, 0, false, SECOND); /* between two tasks */
    taken(w, SUMS, SECOND, 0, 1);
    add(w, 7, SUM, false, SECOND); /* it is not known whose that is */
    nothing(w, SUMS, SECOND);
    rf_waiting_learn(w, SUM, SUMS);
    taken(w, SUMS, SECOND, SUM, 1);
    add(w, 7, SORT, false, SECOND); /* nor whose window that is */
    taken(w, 0, SECOND, SORT, 1);
    rf_waiting_free(w);
}

static void it_does_not_wait_for_ever(void **state)
{
    (void)state;
    struct rf_waiting *w = rf_waiting_new();
    const struct rf_wait *one;
    rf_waiting_learn(w, SORT, SORTS);
    add(w, 7, SORT, false, SECOND);
    add(w, 7, SORT, false, 2 * SECOND); /* joins the first, which is what counts */
    taken(w, SUMS, 2 * SECOND, SORT, 2);
    add(w, 7, SORT, false, 3 * SECOND);
    add(w, 8, SORT, false, 4 * SECOND);
    assert_false(rf_waiting_give_up(w, 4 * SECOND, &one));
    assert_true(rf_waiting_give_up(w, 5 * SECOND, &one));
    assert_int_equal(one->tid, 7);
    assert_false(rf_waiting_give_up(w, 5 * SECOND, &one));
    assert_int_equal(rf_waiting_n(w), 1);
    assert_int_equal(rf_waiting_ns(w), 10);
    rf_waiting_free(w);
}

static void nothing_is_lost_where_room_is_short(void **state)
{
    (void)state;
    struct rf_waiting *w = rf_waiting_new();
    for (int i = 0; i < 1000; i++)
        add(w, 7, SORT, true, SECOND);
    assert_int_equal(rf_waiting_ns(w), 10000);
    assert_true(rf_waiting_n(w) > 1 && rf_waiting_n(w) < 1000);
    for (uint64_t i = 1; i < 5000; i++)
        rf_waiting_learn(w, i, SUMS);
    add(w, 8, 0, false, SECOND);
    assert_int_equal(rf_waiting_ns(w), 10010);
    rf_waiting_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_goes_with_its_dispatchers),
        cmocka_unit_test(it_does_not_wait_for_ever),
        cmocka_unit_test(nothing_is_lost_where_room_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
