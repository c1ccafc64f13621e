/* Format perf: the text of `perf script`, what is escaped in it, and the log that it is written from. */
#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct rf_text text(const char *s)
{
    return (struct rf_text){s, strlen(s)};
}

static const struct rf_format *perf(void)
{
    const struct rf_format *f = rf_formats();
    while (strcmp(f->name, "perf"))
        f++;
    return f;
}

static void expect(const struct rf_profile *p, struct rf_render how, const char *shown)
{
    char *bytes;
    size_t n;
    FILE *to = open_memstream(&bytes, &n);
    assert_int_equal(perf()->write(p, &how, to, NULL), RF_OK);
    fclose(to);
    assert_string_equal(bytes, shown);
    free(bytes);
}

/* Logs a sample of a stack. */
static void sample(struct rf_profile *p, pid_t tid, uint64_t time_ns, uint64_t weight_ns, const struct rf_frame *f,
                   size_t n)
{
    uint32_t node = rf_profile_place(p, 0, f, n);
    rf_profile_charge(p, node, 1, (struct rf_charge){.weight_ns = weight_ns});
    rf_log_add(rf_profile_log(p),
               (struct rf_event){.time_ns = time_ns, .weight_ns = weight_ns, .node = node, .tid = tid});
}

static void samples_in_order_innermost_frame_first(void **state)
{
    (void)state;
    struct rf_tids *tids = rf_tids_new(100);
    rf_tids_add(tids, 100, text("rayforce"), false);
    rf_tids_add(tids, 104, text("rf pool"), true);
    struct rf_profile *p = rf_profile_new();
    assert_true(rf_profile_keep_log(p, tids));
    struct rf_frame f[] = {
        {.kind = RF_KIND_THREAD, .file = text(""), .fn = text("worker-1"), .named = true},
        {.kind = RF_KIND_NATIVE, .file = text("rayforce"), .fn = text("main")},
        {.kind = RF_KIND_INTERPRETER, .file = text("rayforce"), .fn = text("vm_exec")},
        {.file = text("my book.rfl"), .fn = text("join-all"), .line = 41, .col = 3, .named = true},
        {.kind = RF_KIND_NATIVE, .file = text("src/hash.c"), .fn = text("hash_row_keys"), .line = 120},
    };
    sample(p, 100, 1234567890123, 9000000, f + 1, 3);
    sample(p, 104, 1234000000007, 1234, f, 5);
    expect(p, (struct rf_render){0},
           "rf_pool 100/104 1234.000000007:       1234 cpu-clock:\n"
           "\t               3 hash_row_keys+0x0 (src/hash.c:120)\n"
           "\t               2 join-all [my book.rfl:41]+0x0 (my\\x20book.rfl)\n"
           "\t               1 main+0x0 (rayforce)\n"
           "\n"
           "rayforce 100/100 1234.567890123:    9000000 cpu-clock:\n"
           "\t               2 join-all [my book.rfl:41]+0x0 (my\\x20book.rfl)\n"
           "\t               1 main+0x0 (rayforce)\n"
           "\n");
    rf_profile_free(p);
    rf_tids_free(tids);
}

static void frame_is(const char *fn, const char *symbol)
{
    struct rf_tids *tids = rf_tids_new(7);
    rf_tids_add(tids, 7, text("r"), false);
    struct rf_profile *p = rf_profile_new();
    assert_true(rf_profile_keep_log(p, tids));
    struct rf_frame f = {.file = text("<ipc>"), .fn = text(fn)};
    char shown[200];
    sample(p, 7, 0, 1, &f, 1);
    snprintf(shown, sizeof shown, "r  7/7 0.000000000:          1 cpu-clock:\n\t               1 %s+0x0 (<ipc>)\n\n",
             symbol);
    expect(p, (struct rf_render){0}, shown);
    rf_profile_free(p);
    rf_tids_free(tids);
}

static void what_readers_would_take_amiss_is_escaped(void **state)
{
    (void)state;
    frame_is("(f \"x\")", "\\x28f \\\"x\\\"\\x29 [<ipc>]");
    frame_is("int->str", "int-\\x3estr [<ipc>]");
    frame_is("a > b", "a > b [<ipc>]");
    frame_is("a;b\nc", "a\\x3bb\\nc [<ipc>]");
    frame_is("plus+0x10", "plus+0x10 [<ipc>]");
}

static void comm_is(const char *comm, const char *shown)
{
    struct rf_tids *tids = rf_tids_new(7);
    rf_tids_add(tids, 7, text(comm), false);
    struct rf_profile *p = rf_profile_new();
    assert_true(rf_profile_keep_log(p, tids));
    struct rf_frame f = {.file = text("a"), .fn = text("f")};
    char expected[200];
    sample(p, 7, 0, 1, &f, 1);
    snprintf(expected, sizeof expected,
             "%s 7/7 0.000000000:          1 cpu-clock:\n\t               1 f [a]+0x0 (a)\n\n", shown);
    expect(p, (struct rf_render){0}, expected);
    rf_profile_free(p);
    rf_tids_free(tids);
}

static void names_of_threads_are_one_word(void **state)
{
    (void)state;
    comm_is("worker 12 x", "worker_12_x");
    comm_is("12/3", "\\x312/3");
    comm_is("#1", "\\x231");
    comm_is("{", "\\x7b");
    comm_is("a\nb", "a\\nb");
    comm_is("", ":7");
}

static void a_profile_without_log_is_refused(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    struct rf_error err;
    FILE *to = fopen("/dev/null", "w");
    assert_int_equal(perf()->write(p, &(struct rf_render){0}, to, &err), RF_FAILURE);
    fclose(to);
    rf_profile_free(p);
}

static void the_log_has_a_limit(void **state)
{
    (void)state;
    struct rf_log log = {0};
    for (uint64_t i = 0; i < RF_LOG_MAX + 3; i++)
        rf_log_add(&log, (struct rf_event){.time_ns = i ^ 1});
    assert_int_equal(sizeof(struct rf_event), 24);
    assert_int_equal(log.n, RF_LOG_MAX);
    assert_int_equal(log.missed, 3);
    for (uint64_t i = 0; i < RF_LOG_MAX; i += 1000)
        assert_int_equal(log.event[i].time_ns, i);
    free(log.event);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_in_order_innermost_frame_first),
        cmocka_unit_test(what_readers_would_take_amiss_is_escaped),
        cmocka_unit_test(names_of_threads_are_one_word),
        cmocka_unit_test(a_profile_without_log_is_refused),
        cmocka_unit_test(the_log_has_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
