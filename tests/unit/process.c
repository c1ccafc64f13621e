/* process: whether a process is still what it was when it was opened. */
#include "target/process.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct child {
    pid_t pid;
    int go;   /* written to: it executes another program */
    int said; /* by which it says when it has */
    struct rf_process *process;
};

static int begin(void **state)
{
    static struct child c;
    int go[2], said[2];
    if (pipe(go) != 0 || pipe(said) != 0)
        return -1;
    c.pid = fork();
    if (c.pid == 0) {
        char byte;
        close(go[1]);
        if (read(go[0], &byte, 1) == 1 && dup2(go[0], 0) == 0 && dup2(said[1], 1) == 1)
            execl("/bin/sh", "sh", "-c", "echo; read line", (char *)NULL);
        _exit(0);
    }
    close(go[0]);
    close(said[1]);
    c.go = go[1];
    c.said = said[0];
    *state = &c;
    return c.pid > 0 && rf_process_open(&c.process, c.pid, NULL) == RF_OK ? 0 : -1;
}

static int end(void **state)
{
    struct child *c = *state;
    if (c->pid) {
        kill(c->pid, SIGKILL);
        waitpid(c->pid, NULL, 0);
    }
    close(c->go);
    close(c->said);
    rf_process_close(c->process);
    return 0;
}

static void execute(const struct child *c)
{
    char byte;
    assert_int_equal(write(c->go, "", 1), 1);
    assert_int_equal(read(c->said, &byte, 1), 1);
}

static void exec_gives_other_memory(void **state)
{
    struct child *c = *state;
    assert_true(rf_process_same_memory(c->process));
    assert_false(rf_process_execed(c->process));
    execute(c);
    assert_true(rf_process_execed(c->process));
    assert_false(rf_process_same_memory(c->process));
    assert_true(rf_process_renew(c->process));
    assert_true(rf_process_same_memory(c->process));
    assert_false(rf_process_execed(c->process));
}

/* What may not be opened cannot be told: then whoever asks has to look further. */
static void without_its_memory_nothing_is_said(void **state)
{
    struct child *c = *state;
    close(c->process->memory_fd);
    c->process->memory_fd = -1;
    assert_false(rf_process_same_memory(c->process));
    assert_false(rf_process_execed(c->process));
}

/* More descriptors than one may have is an error of poll(2) that can be had at will, unlike EINTR. */
static void a_failing_poll_is_no_end(void **state)
{
    struct child *c = *state;
    struct rlimit had, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &had), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = had.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    bool alive = rf_process_alive(c->process);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &had), 0);
    assert_true(alive);
}

/* Until the parent has waited the clock lasts; afterwards the number may be another's, as it is made to seem here. */
static void the_clock_is_that_of_no_other_process(void **state)
{
    struct child *c = *state;
    siginfo_t info;
    assert_int_equal(kill(c->pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOWAIT), 0);
    assert_false(rf_process_alive(c->process));
    assert_true(rf_process_cpu_ns(c->process) > 0);
    assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
    c->pid = 0;
    assert_int_equal(clock_getcpuclockid(getpid(), &c->process->clock), 0);
    assert_int_equal(rf_process_cpu_ns(c->process), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(exec_gives_other_memory, begin, end),
        cmocka_unit_test_setup_teardown(the_clock_is_that_of_no_other_process, begin, end),
        cmocka_unit_test_setup_teardown(without_its_memory_nothing_is_said, begin, end),
        cmocka_unit_test_setup_teardown(a_failing_poll_is_no_end, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
