/* session.c: a program that is to be sampled from its start, and has ended before the session could be opened. */
#include "rfprof.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

static void one_that_has_ended_is_refused(void **state)
{
    (void)state;
    siginfo_t end;
    struct rf_error err = {0};
    struct rf_session *s;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT), 0);
    struct rf_session_options how = {.pid = child, .rate_hz = 100, .max_stop_percent = 5, .starting = true};
    assert_int_equal(rf_session_open(&s, &how, &err), RF_TARGET);
    assert_null(s);
    assert_int_equal(err.status, RF_TARGET);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_that_has_ended_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
