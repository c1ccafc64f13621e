/* Which threads are looked at in a tick, and in which order. Their clocks cannot be read here: so each may have run. */
#include "target/watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MANY = 200, FEW = 6, TURNS = 20 };

struct looks {
    pid_t tid[MANY];
    size_t n;
    bool sleep; /* what is looked at does */
};

static void look(void *ctx, struct rf_thread *t)
{
    struct looks *l = ctx;
    assert_in_range(l->n, 0, MANY - 1);
    l->tid[l->n++] = t->tid;
    t->look.slept = l->sleep;
}

/* One without a clock. */
static const struct rf_process ended = {.clock = -1};

/* n threads, numbered from 1: the main thread. */
static void watch(struct rf_watch *w, size_t n)
{
    *w = (struct rf_watch){.process = &ended, .threads = {.n = n, .task_fd = -1, .listed = true}};
    w->threads.v = calloc(n, sizeof *w->threads.v);
    assert_non_null(w->threads.v);
    for (size_t i = 0; i < n; i++)
        w->threads.v[i] = (struct rf_thread){.tid = (pid_t)i + 1, .stat_fd = -1, .sched_fd = -1};
}

/* A pool's workers are younger than the thread that gives them work: while that is held they run out of it. */
static void the_youngest_is_looked_at_first_and_the_main_thread_last(void **state)
{
    (void)state;
    struct rf_watch w;
    watch(&w, FEW);
    for (unsigned tick = 0; tick < 3; tick++) {
        struct looks l = {0};
        assert_int_equal(rf_watch_tick(&w, look, &l), 0);
        assert_int_equal(l.n, FEW);
        for (size_t i = 0; i < FEW; i++)
            assert_int_equal(l.tid[i], FEW - i);
    }
    free(w.threads.v);
}

static void of_many_that_sleep_each_has_its_turn(void **state)
{
    (void)state;
    struct rf_watch w;
    unsigned seen[MANY + 1] = {0};
    watch(&w, MANY);
    struct looks l = {.sleep = true};
    rf_watch_tick(&w, look, &l); /* all, since none was asleep for sure */
    assert_int_equal(l.n, MANY);
    for (unsigned tick = 0; tick < TURNS; tick++) {
        for (size_t i = 0; i < MANY; i++)
            w.threads.v[i].look.ran = 0; /* else they are those that ran lately */
        l.n = 0;
        size_t not = rf_watch_tick(&w, look, &l);
        assert_int_equal(l.n + not, MANY);
        assert_in_range(l.n, 1, MANY / TURNS + 1);
        for (size_t i = 0; i < l.n; i++) {
            assert_true(i == 0 || l.tid[i] < l.tid[i - 1]);
            seen[l.tid[i]]++;
        }
    }
    for (size_t i = 1; i <= MANY; i++)
        assert_in_range(seen[i], 1, 2);
    free(w.threads.v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_youngest_is_looked_at_first_and_the_main_thread_last),
        cmocka_unit_test(of_many_that_sleep_each_has_its_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
