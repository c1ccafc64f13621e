/* Samples are added up into frames, a tree, and the rows and lines of the formats. */
#include "profile/profile.h"
#include "report/rows.h"
#include "report/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct rf_text text(const char *s)
{
    return (struct rf_text){s, strlen(s)};
}

static struct rf_frame frame(const char *file, uint32_t line, const char *fn)
{
    return (struct rf_frame){.file = text(file), .fn = text(fn), .line = line};
}

static void add(struct rf_profile *p, const struct rf_frame *f, size_t n, uint64_t ns)
{
    uint32_t node = rf_profile_place(p, 0, f, n);
    assert_int_not_equal(node, UINT32_MAX);
    rf_profile_charge(p, node, 1, (struct rf_charge){.weight_ns = ns});
}

/* What a format writes; the caller frees. */
static char *written(const struct rf_profile *p, const char *format, const struct rf_render *how)
{
    char *bytes;
    size_t n;
    struct rf_error err;
    FILE *to = open_memstream(&bytes, &n);
    const struct rf_format *f = rf_formats();
    while (strcmp(f->name, format))
        f++;
    assert_int_equal(f->write(p, how, to, &err), RF_OK);
    fclose(to);
    return bytes;
}

static void expect(const struct rf_profile *p, const char *format, bool functions, const char *shown)
{
    char *got = written(p, format, &(struct rf_render){.view = functions ? RF_VIEW_FN : RF_VIEW_LINE});
    assert_string_equal(got, shown);
    free(got);
}

#define HEADER "file\tline\tfn\tself_ms\ttotal_ms\tsamples\n"

static void nothing_sampled_is_a_header(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    assert_int_equal(rf_profile_samples(p), 0);
    expect(p, "tsv", false, HEADER);
    expect(p, "folded", false, "");
    rf_profile_free(p);
}

static void self_and_total(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    struct rf_frame f[] = {frame("a.rfl", 9, "<top>"), frame("a.rfl", 5, "outer"), frame("b.rfl", 2, "leaf")};
    add(p, f, 3, 2500000);
    add(p, f, 3, 500);
    add(p, f, 2, 1000000);
    expect(p, "tsv", false,
           HEADER "b.rfl\t2\tleaf\t2.501\t2.501\t2\n"
                  "a.rfl\t5\touter\t1.000\t3.501\t3\n"
                  "a.rfl\t9\t<top>\t0.000\t3.501\t3\n");
    expect(p, "folded", false,
           "<top> (a.rfl:9);outer (a.rfl:5) 1\n"
           "<top> (a.rfl:9);outer (a.rfl:5);leaf (b.rfl:2) 2\n");
    rf_profile_free(p);
}

static void recursion_counts_once_per_sample(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    struct rf_frame a = frame("f.rfl", 3, "fib"), b = frame("f.rfl", 4, "fib"), g = frame("f.rfl", 8, "go");
    struct rf_frame one[] = {g, a, b, a, a}, two[] = {g, b, a}, three[] = {g, b, b};
    add(p, one, 5, 1000000);
    add(p, two, 3, 2000000);
    add(p, three, 3, 4000000);
    expect(p, "tsv", false,
           HEADER "f.rfl\t4\tfib\t4.000\t7.000\t3\n"
                  "f.rfl\t3\tfib\t3.000\t3.000\t2\n"
                  "f.rfl\t8\tgo\t0.000\t7.000\t3\n");
    expect(p, "tsv", true, HEADER "f.rfl\t0\tfib\t7.000\t7.000\t3\nf.rfl\t0\tgo\t0.000\t7.000\t3\n");
    rf_profile_free(p);
}

static void ties_are_sorted_by_file_line_fn(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    struct rf_frame f[] = {frame("b", 1, "x"), frame("a\xc3\xa9", 1, "x"), frame("a", 10, "x"), frame("a", 9, "y"),
                           frame("a", 9, "x")};
    for (size_t i = 0; i < 5; i++)
        add(p, &f[i], 1, 1000000);
    expect(p, "tsv", false,
           HEADER "a\t9\tx\t1.000\t1.000\t1\na\t9\ty\t1.000\t1.000\t1\na\t10\tx\t1.000\t1.000\t1\n"
                  "a\xc3\xa9\t1\tx\t1.000\t1.000\t1\nb\t1\tx\t1.000\t1.000\t1\n");
    rf_profile_free(p);
}

/* An invalid byte and the control character of the same value print alike, so they are one row. */
static void names_that_print_alike_are_one_row(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    struct rf_frame f[] = {frame("a;b\"", 1, "\x85"), frame("a;b\"", 1, "\xc2\x85")};
    add(p, &f[0], 1, 1000000);
    add(p, &f[1], 1, 1000000);
    add(p, f, 2, 1000000);
    expect(p, "tsv", false, HEADER "a;b\\x22\t1\t\\x85\t3.000\t3.000\t3\n");
    expect(p, "folded", false,
           "\\x85 (a\\x3bb\\\":1) 2\n"
           "\\x85 (a\\x3bb\\\":1);\\x85 (a\\x3bb\\\":1) 1\n");
    rf_profile_free(p);
}

/* rayforce's reader pairs quotes across rows, so a row must not have one without a partner. */
static void a_quote_without_partner_is_hex_in_tsv(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    struct rf_frame f = frame("\"a\"", 1, "b\"\"c\"d");
    add(p, &f, 1, 1000000);
    expect(p, "tsv", false, HEADER "\\\"a\\\"\t1\tb\\\"\\\"c\\x22d\t1.000\t1.000\t1\n");
    expect(p, "folded", false, "b\\\"\\\"c\\\"d (\\\"a\\\":1) 1\n");
    rf_profile_free(p);
}

static void line_0_is_not_shown_in_frames(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    struct rf_frame f[] = {frame("a.rfl", 7, "known"), frame("<unknown>", 0, "<unwind>")};
    add(p, f, 2, 1000000);
    expect(p, "folded", false, "known (a.rfl:7);<unwind> (<unknown>) 1\n");
    expect(p, "folded", true, "known (a.rfl);<unwind> (<unknown>) 1\n");
    rf_profile_free(p);
}

static void long_names_are_cut_between_characters(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    static char name[3 * RF_TEXT_MAX];
    for (size_t i = 0; i < sizeof name; i++)
        name[i] = "\xe4\xb8\xad"[i % 3];
    struct rf_frame f = {.file = text("a"), .fn = {name, sizeof name}, .line = 1};
    add(p, &f, 1, 1);
    assert_int_equal(rf_profile_frame(p, 0).fn.n, RF_TEXT_MAX / 3 * 3);
    rf_profile_free(p);
}

/* Many different stacks of a thousand frames: neither recursion nor time that grows with the square. */
static void deep_stacks(void **state)
{
    (void)state;
    enum { DEPTH = 1000, STACKS = 300 };
    struct rf_profile *p = rf_profile_new();
    static struct rf_frame f[DEPTH];
    for (size_t i = 0; i < DEPTH; i++)
        f[i] = frame("deep.rfl", (uint32_t)(i % 7 + 1), "down");
    for (uint32_t k = 0; k < STACKS; k++) {
        f[0].line = 100 + k;
        add(p, f, DEPTH, 1000);
    }
    assert_int_equal(rf_profile_nodes(p), 1 + DEPTH * STACKS);
    struct rf_profile *shown;
    struct rf_row *row;
    assert_int_equal(rf_printable(p, &(struct rf_render){0}, false, &shown, NULL), RF_OK);
    assert_int_equal(rf_rows(shown, &row, NULL), RF_OK);
    assert_int_equal(rf_profile_frames(shown), 7 + STACKS);
    assert_int_equal(row[0].self_ns, STACKS * 1000);
    for (size_t i = 0; i < 7 + STACKS; i++)
        assert_int_equal(row[i].samples, row[i].frame.line >= 100 ? 1 : STACKS);
    free(row);
    rf_profile_free(shown);
    rf_profile_free(p);
}

static void table_fits_the_terminal(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    struct rf_frame f[] = {frame("/a/very/long/path/that/does/not/fit/into/the/terminal/book.rfl", 41, "short"),
                           frame("b.rfl", 2, "a function's name that is far too long for one line of a terminal"),
                           frame("c.rfl", 3, "third")};
    add(p, &f[0], 1, 7000000);
    add(p, &f[1], 1, 2000000);
    add(p, &f[2], 1, 1000000);
    char *got = written(p, "table", &(struct rf_render){.rows = 2, .width = 80});
    assert_non_null(strstr(got, " 70.0%   70.0%        7.0  .."));
    assert_non_null(strstr(got, "/book.rfl:41  short\n"));
    assert_non_null(strstr(got, ".."));
    assert_non_null(strstr(got, "\n1 more row: -f tsv writes all\n"));
    for (char *line = strtok(got, "\n"); line; line = strtok(NULL, "\n"))
        assert_true(strlen(line) <= 80);
    free(got);
    rf_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_sampled_is_a_header),
        cmocka_unit_test(self_and_total),
        cmocka_unit_test(recursion_counts_once_per_sample),
        cmocka_unit_test(ties_are_sorted_by_file_line_fn),
        cmocka_unit_test(names_that_print_alike_are_one_row),
        cmocka_unit_test(a_quote_without_partner_is_hex_in_tsv),
        cmocka_unit_test(line_0_is_not_shown_in_frames),
        cmocka_unit_test(long_names_are_cut_between_characters),
        cmocka_unit_test(deep_stacks),
        cmocka_unit_test(table_fits_the_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
