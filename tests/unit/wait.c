/* What a sleeping thread waits for, by its system call. */
#include "rayfall/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

/* The name, for a thread whose innermost C function is fn. */
static const char *wait_of(long number, const char *fn)
{
    static char name[64];
    char room[32];
    struct rf_snapshot *s = calloc(1, sizeof *s);
    struct rf_native *frame = calloc(1, sizeof *frame);
    assert_true(s && frame);
    s->syscall = number;
    frame->fn.name = fn;
    struct rf_native_stack native = {.frame = frame, .n = 1};
    struct rf_frame f = rf_wait_frame(s, &native, room);
    assert_true(f.named);
    assert_int_equal(f.kind, RF_KIND_RAYFALL);
    assert_true(f.file.n == 9 && memcmp(f.file.s, "<runtime>", 9) == 0);
    assert_true(f.fn.n < sizeof name);
    memcpy(name, f.fn.s, f.fn.n);
    name[f.fn.n] = 0;
    free(frame);
    free(s);
    return name;
}

static void known_by_number(void **state)
{
    (void)state;
    assert_string_equal(wait_of(SYS_epoll_pwait, NULL), "<epoll>");
    assert_string_equal(wait_of(SYS_futex, NULL), "<futex>");
    assert_string_equal(wait_of(SYS_wait4, NULL), "<child>");
    assert_string_equal(wait_of(SYS_waitid, NULL), "<child>");
    assert_string_equal(wait_of(SYS_clock_nanosleep, NULL), "<sleep>");
    assert_string_equal(wait_of(SYS_read, NULL), "<read>");
    assert_string_equal(wait_of(SYS_recvfrom, NULL), "<read>");
    assert_string_equal(wait_of(SYS_ppoll, NULL), "<poll>");
}

static void others_by_their_number(void **state)
{
    (void)state;
    assert_string_equal(wait_of(123456, NULL), "<syscall 123456>");
    assert_string_equal(wait_of(-7, NULL), "<syscall -7>"); /* a thread may ask for any */
}

static void restarted_ones_by_their_function(void **state)
{
    (void)state;
    assert_string_equal(wait_of(SYS_restart_syscall, "clock_nanosleep"), "<sleep>");
    assert_string_equal(wait_of(SYS_restart_syscall, "__poll"), "<poll>");
    assert_string_equal(wait_of(SYS_restart_syscall, "__futex_abstimed_wait_cancelable64"), "<futex>");
    char unknown[32];
    snprintf(unknown, sizeof unknown, "<syscall %d>", SYS_restart_syscall);
    assert_string_equal(wait_of(SYS_restart_syscall, "main"), unknown);
    assert_string_equal(wait_of(SYS_restart_syscall, NULL), unknown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_by_number),
        cmocka_unit_test(others_by_their_number),
        cmocka_unit_test(restarted_ones_by_their_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
