/* Which parts of the runtime's and of the undecoded time are named in the account. */
#include "account.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct rf_frame frame(enum rf_kind kind, const char *file, const char *fn)
{
    return (struct rf_frame){.kind = kind, .file = {file, strlen(file)}, .fn = {fn, strlen(fn)}, .named = true};
}

static void add(struct rf_profile *p, const struct rf_frame *f, size_t n, uint64_t ns)
{
    uint32_t node = rf_profile_place(p, 0, f, n);
    assert_int_not_equal(node, UINT32_MAX);
    rf_profile_charge(p, node, 1, (struct rf_charge){.weight_ns = ns});
}

static void the_dearest_are_named_in_order(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    static const struct {
        const char *fn;
        uint64_t ns;
    } runtime[] = {{"poll", 5}, {"<parse>", 70}, {"<ipc read>", 20}, {"<pool idle>", 90}, {"poll", 60}};
    for (size_t i = 0; i < sizeof runtime / sizeof *runtime; i++) {
        struct rf_frame f = frame(RF_KIND_RAYFALL, "<runtime>", runtime[i].fn);
        add(p, &f, 1, runtime[i].ns);
    }
    struct rf_account a = {0};
    rf_account_name(&a, p);
    assert_string_equal(a.runtime[0].name, "<pool idle>");
    assert_int_equal(a.runtime[0].ns, 90);
    assert_string_equal(a.runtime[1].name, "<parse>");
    assert_string_equal(a.runtime[2].name, "poll");
    assert_int_equal(a.runtime[2].ns, 65);
    assert_string_equal(a.unknown[0].name, "");
    rf_profile_free(p);
}

static void what_a_line_waits_for_is_the_lines(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    struct rf_frame line[] = {frame(RF_KIND_RAYFALL, "a.rfl", "f"), frame(RF_KIND_RAYFALL, "<runtime>", "<child>")};
    struct rf_frame cut[] = {frame(RF_KIND_RAYFALL, "<unknown>", "<truncated>"), frame(RF_KIND_RAYFALL, "a.rfl", "f")};
    add(p, line, 2, 10);
    add(p, cut, 2, 10);
    struct rf_account a = {0};
    rf_account_name(&a, p);
    assert_string_equal(a.runtime[0].name, "");
    assert_string_equal(a.unknown[0].name, "");
    rf_profile_free(p);
}

static void threads_and_c_functions_do_not_hide_it(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    struct rf_frame idle[] = {frame(RF_KIND_THREAD, "", "worker-1"), frame(RF_KIND_RAYFALL, "<runtime>", "<pool idle>"),
                              frame(RF_KIND_NATIVE, "libc.so.6", "sem_wait"),
                              frame(RF_KIND_RAYFALL, "<runtime>", "<futex>")};
    struct rf_frame torn[] = {frame(RF_KIND_THREAD, "", "main"), frame(RF_KIND_RAYFALL, "<unknown>", "<torn>"),
                              frame(RF_KIND_NATIVE, "rayforce", "main")};
    add(p, idle, 4, 30);
    add(p, torn, 3, 7);
    struct rf_account a = {0};
    rf_account_name(&a, p);
    assert_string_equal(a.runtime[0].name, "<pool idle>");
    assert_int_equal(a.runtime[0].ns, 30);
    assert_string_equal(a.runtime[1].name, "");
    assert_string_equal(a.unknown[0].name, "<torn>");
    assert_int_equal(a.unknown[0].ns, 7);
    rf_profile_free(p);
}

static void long_names_are_cut(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    char name[200];
    memset(name, 'x', sizeof name);
    struct rf_frame f = {.file = {"<runtime>", 9}, .fn = {name, sizeof name}, .named = true};
    add(p, &f, 1, 1);
    struct rf_account a = {0};
    rf_account_name(&a, p);
    assert_int_equal(strlen(a.runtime[0].name), sizeof a.runtime[0].name - 1);
    rf_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_dearest_are_named_in_order),
        cmocka_unit_test(what_a_line_waits_for_is_the_lines),
        cmocka_unit_test(threads_and_c_functions_do_not_hide_it),
        cmocka_unit_test(long_names_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
