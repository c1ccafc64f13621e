/* tls.c: thread-local variables of another process, of its program and of libraries in each way of linking. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "image/tls.h"

#include <asm/prctl.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((aligned(64))) __thread int tls_test_variable = 5;

struct seen { /* by the child itself */
    uint64_t fs_base, addr;
};

struct target {
    pid_t child;
    struct seen seen;
    struct rf_process *process;
    struct rf_images *images;
};

/* A child that loads the library, if any, and says where its thread-local variable is. */
static void child_says(int to, const char *library)
{
    struct seen s = {.addr = (uint64_t)(uintptr_t)&tls_test_variable};
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    syscall(SYS_arch_prctl, ARCH_GET_FS, &s.fs_base);
    if (library) {
        void *l = dlopen(library, RTLD_NOW);
        s.addr = l ? (uint64_t)(uintptr_t)dlsym(l, "__VM") : 0;
    }
    if (write(to, &s, sizeof s) == sizeof s)
        pause();
    _exit(0);
}

static void start(struct target *t, const char *library)
{
    int pipe_fd[2];
    char path[4096] = "";
    struct rf_error err;
    const char *build = getenv("B");
    snprintf(path, sizeof path, "%s/fixtures/%s", build ? build : "build", library ? library : "");
    if (library && access(path, R_OK))
        skip();
    assert_int_equal(pipe(pipe_fd), 0);
    t->child = fork();
    if (t->child == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0) /* when a test fails */
        child_says(pipe_fd[1], library ? path : NULL);
    if (t->child == 0)
        _exit(1);
    close(pipe_fd[1]);
    assert_int_equal(read(pipe_fd[0], &t->seen, sizeof t->seen), sizeof t->seen);
    close(pipe_fd[0]);
    assert_int_equal(rf_process_open(&t->process, t->child, &err), RF_OK);
    assert_int_equal(rf_images_open(&t->images, t->process, &err), RF_OK);
}

static void end(struct target *t)
{
    rf_images_close(t->images);
    rf_process_close(t->process);
    kill(t->child, SIGKILL);
    waitpid(t->child, NULL, 0);
}

static void is_where_the_child_says(const char *library, const char *variable, bool executable, enum rf_tls_kind kind)
{
    struct target t;
    struct rf_symbol s;
    uint64_t addr;
    const struct rf_image *image = NULL;
    start(&t, library);
    assert_int_not_equal(t.seen.addr, 0);
    for (size_t i = 0; i < rf_images_count(t.images) && !image; i++)
        if (rf_image_find(rf_images_get(t.images, i), variable, &s))
            image = rf_images_get(t.images, i);
    assert_non_null(image);
    assert_int_equal(rf_image_is_executable(image), executable);
    struct rf_tls tls = rf_tls_of(image, &t.process->memory);
    if (kind != RF_TLS_NONE)
        assert_int_equal(tls.kind, kind);
    assert_true(rf_tls_at(&tls, &t.process->memory, t.seen.fs_base, s.addr, &addr));
    assert_int_equal(addr, t.seen.addr);
    end(&t);
}

static void of_the_program(void **state)
{
    (void)state;
    is_where_the_child_says(NULL, "tls_test_variable", true, RF_TLS_FIXED);
}

static void of_a_library(void **state)
{
    (void)state;
    is_where_the_child_says("fakeforce.so", "__VM", false, RF_TLS_DTV);
}

static void of_a_library_at_a_fixed_distance(void **state)
{
    (void)state;
    is_where_the_child_says("fakeforce-initial.so", "__VM", false, RF_TLS_FIXED);
}

/* The dynamic linker chooses, by what room it has left. */
static void of_a_library_with_descriptors(void **state)
{
    (void)state;
    is_where_the_child_says("fakeforce-descriptors.so", "__VM", false, RF_TLS_NONE);
}

static void a_library_without_any_has_none(void **state)
{
    struct target t;
    unsigned without = 0;
    uint64_t addr, size, align;
    (void)state;
    start(&t, NULL);
    for (size_t i = 0; i < rf_images_count(t.images); i++) {
        if (rf_image_tls(rf_images_get(t.images, i), &size, &align))
            continue;
        struct rf_tls tls = rf_tls_of(rf_images_get(t.images, i), &t.process->memory);
        assert_int_equal(tls.kind, RF_TLS_NONE);
        assert_false(rf_tls_at(&tls, &t.process->memory, t.seen.fs_base, 0, &addr));
        without++;
    }
    assert_true(without > 0);
    end(&t);
}

/* --- dtvs that are none ------------------------------------------------------------------------------------- */

enum { WORDS = 64, THREAD = 8, DTV = 32 };
struct words {
    struct rf_memory memory;
    uint64_t word[WORDS]; /* at address 0x10000 */
};

static bool read_words(const struct rf_memory *m, uint64_t addr, void *to, size_t n)
{
    const struct words *w = (const struct words *)(const void *)m;
    uint64_t at = addr - 0x10000;
    if (at > sizeof w->word || n > sizeof w->word - at)
        return false;
    memcpy(to, (const char *)w->word + at, n);
    return true;
}

static uint64_t at_word(unsigned i)
{
    return 0x10000 + 8 * (uint64_t)i;
}

static void blocks_of_threads(void **state)
{
    struct words w = {.memory = {.read = read_words}};
    const struct rf_tls t = {.kind = RF_TLS_DTV, .module = 3};
    uint64_t addr;
    (void)state;
    w.word[THREAD + 1] = at_word(DTV);
    w.word[DTV - 2] = 4; /* entries */
    w.word[DTV + 6] = 0x5000;
    assert_true(rf_tls_at(&t, &w.memory, at_word(THREAD), 16, &addr));
    assert_int_equal(addr, 0x5010);
    w.word[DTV + 6] = UINT64_MAX; /* not touched yet */
    assert_true(rf_tls_at(&t, &w.memory, at_word(THREAD), 16, &addr));
    assert_int_equal(addr, 0);
    w.word[DTV + 6] = 0;
    assert_true(rf_tls_at(&t, &w.memory, at_word(THREAD), 16, &addr));
    assert_int_equal(addr, 0);
    w.word[DTV + 6] = 0x5000;
    w.word[DTV - 2] = 2; /* the vector is shorter */
    assert_true(rf_tls_at(&t, &w.memory, at_word(THREAD), 16, &addr));
    assert_int_equal(addr, 0);
}

static void vectors_that_are_none(void **state)
{
    struct words w = {.memory = {.read = read_words}};
    struct rf_tls t = {.kind = RF_TLS_DTV, .module = 3};
    uint64_t addr;
    (void)state;
    w.word[THREAD + 1] = 0xdead0000;
    assert_false(rf_tls_at(&t, &w.memory, at_word(THREAD), 16, &addr));
    w.word[THREAD + 1] = at_word(DTV);
    w.word[DTV - 2] = UINT64_MAX;
    t.module = 1 << 15;
    assert_false(rf_tls_at(&t, &w.memory, at_word(THREAD), 16, &addr));
    assert_false(rf_tls_at(&t, &w.memory, 0, 16, &addr));
    assert_false(rf_tls_at(&t, &w.memory, 0xdead0000, 16, &addr));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_the_program),
        cmocka_unit_test(of_a_library),
        cmocka_unit_test(of_a_library_at_a_fixed_distance),
        cmocka_unit_test(of_a_library_with_descriptors),
        cmocka_unit_test(a_library_without_any_has_none),
        cmocka_unit_test(blocks_of_threads),
        cmocka_unit_test(vectors_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
