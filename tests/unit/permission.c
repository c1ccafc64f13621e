/* permission.c: each reason for which the kernel refuses has its own explanation and its own way out. */
#include "target/permission.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* What would be allowed: the user's own process, with nothing in the way. Cases take from it. */
static const struct rf_grounds fine = {.why = EPERM,
                                       .same_uid = true,
                                       .same_ids = true,
                                       .dumpable = true,
                                       .us = "ops",
                                       .them = "market",
                                       .program = "/opt/bin/rfprof"};
#define SETCAP "sudo setcap cap_sys_ptrace+ep /opt/bin/rfprof"
#define DOCKER "--cap-add SYS_PTRACE"

static void expect(struct rf_grounds g, const char *cause, const char *way, const char *not_said)
{
    struct rf_error err = {0};
    rf_explain_grounds(&g, &err);
    if (!strstr(err.next, cause) || (way && !strstr(err.next, way)) || (not_said && strstr(err.next, not_said)))
        fail_msg("expected '%s' and '%s', not '%s', in:\n%s", cause, way ? way : "", not_said ? not_said : "",
                 err.next);
    assert_true(strlen(err.next) < sizeof err.next - 1);
}

static void test_tracer(void **state)
{
    (void)state;
    struct rf_grounds g = fine;
    g.tracer = 77;
    strcpy(g.tracer_command, "gdb");
    g.same_uid = g.same_ids = false;
    expect(g, "another tracer holds it: pid 77 (gdb)", "detach", "sudo");
}

static void test_users(void **state)
{
    (void)state;
    struct rf_grounds g = fine;
    g.same_uid = g.same_ids = false;
    expect(g, "belongs to user 'market' and you are 'ops'", SETCAP, DOCKER);
    g.same_uid = true;
    expect(g, "has changed its user ids", SETCAP, "belongs to");
    g.root = true;
    expect(g, "root without CAP_SYS_PTRACE", DOCKER, "sudo");
    g.program[0] = '\0';
    g.root = false;
    expect(g, "changed", "cap_sys_ptrace+ep rfprof", NULL);
}

static void test_dumpable(void **state)
{
    (void)state;
    struct rf_grounds g = fine;
    g.dumpable = false;
    g.yama = 1;
    expect(g, "not dumpable", SETCAP, "yama");
}

static void test_yama(void **state)
{
    (void)state;
    struct rf_grounds g = fine;
    g.yama = 1;
    expect(g, "ptrace_scope is 1: only a process's ancestors", "sudo sysctl kernel.yama.ptrace_scope=0", DOCKER);
    g.yama = 2;
    expect(g, "ptrace_scope is 2: only CAP_SYS_PTRACE", SETCAP, "sysctl");
    g.yama = 3;
    g.capable = true;
    expect(g, "ptrace_scope is 3", "next boot", "sudo");
}

static void test_sandboxes(void **state)
{
    (void)state;
    struct rf_grounds g = fine;
    g.filtered = true;
    expect(g, "seccomp filter", "seccomp=unconfined", "sudo");
    g.capable = g.root = true;
    expect(g, "seccomp filter", DOCKER, "sudo");
    g.user_namespace = true;
    expect(g, "only for this user namespace", "on the host", "seccomp");
    g = fine;
    g.capable = true;
    expect(g, "perhaps a security module forbids it", "journalctl -k", "sudo");
    g.why = ENOSYS;
    expect(g, "no ptrace(2)", "on the host", "sudo");
    g = fine;
    expect(g, "a capability that you have not", SETCAP, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tracer), cmocka_unit_test(test_users),     cmocka_unit_test(test_dumpable),
        cmocka_unit_test(test_yama),   cmocka_unit_test(test_sandboxes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
