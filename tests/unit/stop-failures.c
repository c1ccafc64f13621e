/* Whichever call fails while a thread is sampled, the thread runs on, traced by nobody.
 *
 * This file's rf_raw takes the place of the library's: it lets the n-th ptrace(2), wait4(2) or process_vm_readv(2)
 * fail. That is done for each n that a few ticks reach, and for the errors that these calls can return. */
#include "target/arch.h"
#include "target/engine.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { TICKS = 3, THREADS = 2, PTRACES = 30, WAITS = 12, READS = 6 };

static volatile unsigned calls, fail_at; /* shared with the holder, as all memory is */
static volatile long fail_number, fail_with;

long rf_raw(long number, long a, long b, long c, long d, long e, long f)
{
    if (number == fail_number && ++calls == fail_at)
        return -fail_with;
    long r = syscall(number, a, b, c, d, e, f);
    return r < 0 ? -errno : r;
}

static volatile uint64_t *progress; /* of each thread of the target */

static void *work(void *arg)
{
    for (volatile uint64_t *mine = arg;; ++*mine)
        ;
    return NULL;
}

static pid_t start_target(void)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    pthread_t t;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 1; i < THREADS; i++)
        pthread_create(&t, NULL, work, (void *)(progress + i));
    work((void *)progress);
    return 0;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static bool all_run(const uint64_t *before)
{
    for (size_t i = 0; i < THREADS; i++)
        if (progress[i] == before[i])
            return false;
    return true;
}

static uint64_t status_number(pid_t pid, const char *key)
{
    char path[64], line[256];
    uint64_t value = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtoull(line + strlen(key), NULL, 10);
    if (f)
        fclose(f);
    return value;
}

/* Each thread makes progress, and then there is no tracer; on a busy machine that takes a while to be seen. */
static bool let_go(pid_t pid)
{
    uint64_t before[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        before[i] = progress[i];
    for (unsigned tries = 0; tries < 1000; tries++) {
        pause_ms(5);
        if (all_run(before) && status_number(pid, "TracerPid:") == 0)
            return true;
    }
    return false;
}

/* A few ticks with call n failing. False when there was no n-th call. */
static bool ticks(const struct rf_process *p, unsigned n)
{
    struct rf_engine *e;
    struct rf_error err = {0};
    calls = 0;
    fail_at = n;
    if (rf_engine_open(&e, p, NULL, &err) == RF_OK) {
        for (unsigned i = 0; i < TICKS; i++) {
            struct rf_snapshot *const *s;
            size_t got;
            pause_ms(2);
            rf_engine_tick(e, &s, &got, &err); /* it may well fail */
        }
        /* While the engine is still there: it is not its end that frees what a failed call left. */
        assert_true(let_go(p->pid));
        rf_engine_close(e);
    }
    fail_at = 0;
    assert_true(let_go(p->pid));
    return calls >= n;
}

static void fail_each(long number, long error, unsigned most)
{
    progress = mmap(NULL, RF_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(progress, MAP_FAILED);
    pid_t pid = start_target();
    struct rf_process *p;
    struct rf_error err;
    fail_number = number;
    fail_with = error;
    pause_ms(20);
    assert_int_equal(rf_process_open(&p, pid, &err), RF_OK);
    unsigned failed = 0;
    for (unsigned n = 1; n <= most; n++) /* on a busy machine not every run gets as far as call n */
        failed += ticks(p, n);
    assert_true(failed > 0);
    rf_process_close(p);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    munmap((void *)progress, RF_PAGE);
}

static void a_ptrace_call_fails(void **state)
{
    (void)state;
    fail_each(SYS_ptrace, EIO, PTRACES);
}

static void ptrace_says_that_the_thread_has_gone(void **state)
{
    (void)state;
    fail_each(SYS_ptrace, ESRCH, PTRACES);
}

static void a_wait_fails(void **state)
{
    (void)state;
    fail_each(SYS_wait4, EINVAL, WAITS);
}

static void a_read_fails(void **state)
{
    (void)state;
    fail_each(SYS_process_vm_readv, EFAULT, READS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ptrace_call_fails),
        cmocka_unit_test(ptrace_says_that_the_thread_has_gone),
        cmocka_unit_test(a_wait_fails),
        cmocka_unit_test(a_read_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
