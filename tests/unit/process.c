/* process: whether a process is still what it was when it was opened. */
#include "target/process.h"
#include "clock.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct child {
    pid_t pid;
    int go; /* written to: it executes another program */
    struct rf_process *process;
};

static int begin(void **state)
{
    static struct child c;
    int go[2];
    if (pipe(go) != 0)
        return -1;
    c.pid = fork();
    if (c.pid == 0) {
        char byte;
        close(go[1]);
        if (read(go[0], &byte, 1) == 1)
            execl("/bin/sleep", "sleep", "60", (char *)NULL);
        _exit(0);
    }
    close(go[0]);
    c.go = go[1];
    *state = &c;
    return c.pid > 0 && rf_process_open(&c.process, c.pid, NULL) == RF_OK ? 0 : -1;
}

static int end(void **state)
{
    struct child *c = *state;
    kill(c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    close(c->go);
    rf_process_close(c->process);
    return 0;
}

/* Until it has executed, or 20 s have passed. */
static void execute(struct child *c)
{
    uint64_t began = rf_now_ns();
    assert_int_equal(write(c->go, "", 1), 1);
    while (!rf_process_execed(c->process) && rf_now_ns() - began < 20000000000u)
        usleep(1000);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(exec_gives_other_memory, begin, end),
        cmocka_unit_test_setup_teardown(without_its_memory_nothing_is_said, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
