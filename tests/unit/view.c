/* Views: which rows become one, what a query costs, and that withheld text is in no output. */
#include "report/view.h"
#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEADER "file\tline\tfn\tself_ms\ttotal_ms\tsamples"

static struct rf_text text(const char *s)
{
    return (struct rf_text){s, strlen(s)};
}

static struct rf_frame form(const char *file, uint32_t line, uint32_t col, const char *fn, const char *expr)
{
    return (struct rf_frame){
        .file = text(file), .fn = text(fn), .line = line, .col = col, .expr = text(expr), .named = true};
}

/* The root frame of a text that a client sent; fn is its beginning. */
static struct rf_frame sent(const char *query, const char *beginning)
{
    struct rf_frame f = form("<ipc>", 1, 1, beginning, query);
    f.query = text(query);
    f.named = false;
    return f;
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

static void expect(const struct rf_profile *p, const char *format, struct rf_render how, const char *shown)
{
    char *got = written(p, format, &how);
    assert_string_equal(got, shown);
    free(got);
}

/* Two forms on line 4, one of them calling back into its function on line 3. */
static struct rf_profile *forms_of_a_line(void)
{
    struct rf_profile *p = rf_profile_new();
    struct rf_frame first = form("a.rfl", 4, 8, "f", "(med v)"), second = form("a.rfl", 4, 16, "f", "(max\tv)"),
                    outer = form("a.rfl", 3, 1, "f", "(f n)"), other = form("b.rfl", 7, 2, "g", "(f 1)");
    struct rf_frame one[] = {other, outer, first}, two[] = {other, outer, second},
                    three[] = {outer, first, outer, second};
    add(p, one, 3, 1000000);
    add(p, two, 3, 2000000);
    add(p, three, 4, 4000000);
    return p;
}

/* The frame of the runtime that has the name of a C function is left out under that function, and nowhere else. */
static void the_runtime_is_not_named_twice(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    struct rf_frame start = {.kind = RF_KIND_NATIVE, .file = text("r"), .fn = text("_start"), .named = true},
                    leaf = {.kind = RF_KIND_NATIVE, .file = text("c"), .fn = text("poll"), .named = true},
                    named = form("<runtime>", 0, 0, "poll", ""), reads = form("<runtime>", 0, 0, "<ipc read>", ""),
                    wait = form("<runtime>", 0, 0, "<poll>", "");
    named.named = reads.named = wait.named = true;
    struct rf_frame running[] = {start, leaf, named}, waiting[] = {start, leaf, named, wait},
                    reading[] = {start, leaf, reads}, joined[] = {named, leaf}, alone[] = {named};
    add(p, running, 3, 1000000);
    add(p, waiting, 4, 2000000);
    add(p, reading, 3, 4000000);
    add(p, joined, 2, 8000000);
    expect(p, "folded", (struct rf_render){.native = true},
           "_start (r);poll (c) 1\n"
           "_start (r);poll (c);<poll> (<runtime>) 1\n"
           "_start (r);poll (c);<ipc read> (<runtime>) 1\n"
           "poll (<runtime>);poll (c) 1\n");
    expect(p, "folded", (struct rf_render){0},
           "poll (<runtime>) 2\n"
           "poll (<runtime>);<poll> (<runtime>) 1\n"
           "<ipc read> (<runtime>) 1\n");
    rf_profile_free(p);
    p = rf_profile_new();
    add(p, alone, 1, 1000000); /* C functions were not recorded */
    expect(p, "folded", (struct rf_render){.native = true}, "poll (<runtime>) 1\n");
    rf_profile_free(p);
}

static void columns_of_a_line_are_one_row(void **state)
{
    (void)state;
    struct rf_profile *p = forms_of_a_line();
    expect(p, "tsv", (struct rf_render){0},
           HEADER "\na.rfl\t4\tf\t7.000\t7.000\t3\na.rfl\t3\tf\t0.000\t7.000\t3\nb.rfl\t7\tg\t0.000\t3.000\t2\n");
    expect(p, "folded", (struct rf_render){0},
           "g (b.rfl:7);f (a.rfl:3);f (a.rfl:4) 2\nf (a.rfl:3);f (a.rfl:4);f (a.rfl:3);f (a.rfl:4) 1\n");
    rf_profile_free(p);
}

static void expressions_of_a_line_are_rows(void **state)
{
    (void)state;
    struct rf_profile *p = forms_of_a_line();
    expect(p, "tsv", (struct rf_render){.view = RF_VIEW_EXPR},
           HEADER "\tcol\texpr\n"
                  "a.rfl\t4\tf\t6.000\t6.000\t2\t16\t(max\\tv)\n"
                  "a.rfl\t4\tf\t1.000\t5.000\t2\t8\t(med v)\n"
                  "a.rfl\t3\tf\t0.000\t7.000\t3\t1\t(f n)\n"
                  "b.rfl\t7\tg\t0.000\t3.000\t2\t2\t(f 1)\n");
    expect(p, "folded", (struct rf_render){.view = RF_VIEW_EXPR},
           "g (b.rfl:7:2);f (a.rfl:3:1);f (a.rfl:4:8) 1\n"
           "g (b.rfl:7:2);f (a.rfl:3:1);f (a.rfl:4:16) 1\n"
           "f (a.rfl:3:1);f (a.rfl:4:8);f (a.rfl:3:1);f (a.rfl:4:16) 1\n");
    rf_profile_free(p);
}

static void equal_forms_are_sorted_by_column(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    struct rf_frame f[] = {form("a", 4, 16, "f", "(a)"), form("a", 4, 8, "f", "(b)"), form("a", 4, 9, "f", "(a)")};
    for (size_t i = 0; i < 3; i++)
        add(p, &f[i], 1, 1000000);
    expect(p, "tsv", (struct rf_render){.view = RF_VIEW_EXPR},
           HEADER "\tcol\texpr\n"
                  "a\t4\tf\t1.000\t1.000\t1\t8\t(b)\n"
                  "a\t4\tf\t1.000\t1.000\t1\t9\t(a)\n"
                  "a\t4\tf\t1.000\t1.000\t1\t16\t(a)\n");
    rf_profile_free(p);
}

static void columns_come_in_the_order_asked_for(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    struct rf_frame f = form("a.rfl", 4, 8, "f", "(odd \"quote)");
    add(p, &f, 1, 1000000);
    struct rf_render how = {.column = {RF_COLUMN_EXPR, RF_COLUMN_COL}, .n_columns = 2};
    expect(p, "tsv", how, HEADER "\texpr\tcol\na.rfl\t4\tf\t1.000\t1.000\t1\t(odd \\x22quote)\t8\n");
    how.view = RF_VIEW_EXPR;
    expect(p, "tsv", how, HEADER "\texpr\tcol\na.rfl\t4\tf\t1.000\t1.000\t1\t(odd \\x22quote)\t8\n");
    how = (struct rf_render){.column = {RF_COLUMN_COL}, .n_columns = 1};
    expect(p, "tsv", how, HEADER "\tcol\na.rfl\t4\tf\t1.000\t1.000\t1\t8\n");
    expect(p, "folded", how, "f (a.rfl:4) 1\n");
    rf_profile_free(p);
}

static void tables_have_the_columns(void **state)
{
    (void)state;
    struct rf_profile *p = forms_of_a_line();
    expect(p, "table", (struct rf_render){.view = RF_VIEW_EXPR, .rows = 2},
           "  self   total    self ms  where    fn    col  expr\n"
           " 85.7%   85.7%        6.0  a.rfl:4  f      16  (max\\tv)\n"
           " 14.3%   71.4%        1.0  a.rfl:4  f       8  (med v)\n"
           "2 more rows: -f tsv writes all\n");
    struct rf_frame wide =
        form("a/very/long/path/that/does/not/fit/into/the/terminal/book.rfl", 41, 4,
             "a function's name that is too long as well", "(and (an expression) that goes on and on)");
    add(p, &wide, 1, 1000000);
    for (unsigned width = 100; width > 78; width--) {
        char *got = written(p, "table", &(struct rf_render){.view = RF_VIEW_EXPR, .width = width});
        for (char *line = strtok(got, "\n"); line; line = strtok(NULL, "\n"))
            assert_true(strlen(line) <= width);
        free(got);
    }
    rf_profile_free(p);
}

static void functions_and_files(void **state)
{
    (void)state;
    struct rf_profile *p = forms_of_a_line();
    expect(p, "tsv", (struct rf_render){.view = RF_VIEW_FN},
           HEADER "\na.rfl\t0\tf\t7.000\t7.000\t3\nb.rfl\t0\tg\t0.000\t3.000\t2\n");
    expect(p, "tsv", (struct rf_render){.view = RF_VIEW_FILE},
           HEADER "\na.rfl\t0\t\t7.000\t7.000\t3\nb.rfl\t0\t\t0.000\t3.000\t2\n");
    expect(p, "folded", (struct rf_render){.view = RF_VIEW_FILE}, "b.rfl;a.rfl 2\na.rfl 1\n");
    expect(p, "table", (struct rf_render){.view = RF_VIEW_FILE},
           "  self   total    self ms  file\n"
           "100.0%  100.0%        7.0  a.rfl\n"
           "  0.0%   42.9%        0.0  b.rfl\n");
    rf_profile_free(p);
}

static struct rf_profile *server(void)
{
    struct rf_profile *p = rf_profile_new();
    struct rf_frame dear = sent("(dear \"secret\")", "(dear \"secret\")"),
                    other = sent("(dear \"secret\") ; to the end", "(dear \"secret\")"),
                    fn = form("s.rfl", 5, 3, "dear", "(med v)"), inner = form("s.rfl", 2, 3, "cheap", "(max v)"),
                    timer = form("s.rfl", 9, 1, "tick", "(cheap 1)"),
                    defined = form("<ipc>", 1, 4, "named", "(secret)"),
                    typed = form("<repl>", 1, 1, "(secret of a former client)", "(secret of)"),
                    idle = form("<runtime>", 0, 0, "<ipc read>", "");
    typed.named = false;
    struct rf_frame a[] = {dear, fn, inner}, b[] = {other, fn}, c[] = {timer, inner}, d[] = {other, defined, dear};
    add(p, a, 3, 1000000);
    add(p, a, 2, 1000000);
    add(p, b, 2, 5000000);
    add(p, c, 2, 500000);
    add(p, c, 1, 500000);
    add(p, &idle, 1, 250000);
    add(p, d, 3, 3000000);
    add(p, d, 2, 3000000);
    add(p, &typed, 1, 125000);
    return p;
}

static void a_query_has_all_that_it_called(void **state)
{
    (void)state;
    struct rf_profile *p = server();
    expect(p, "tsv", (struct rf_render){.view = RF_VIEW_QUERY},
           HEADER "\n"
                  "<ipc>\t0\t(dear \\\"secret\\\") ; to the end\t8.000\t11.000\t3\n"
                  "<ipc>\t0\t(dear \\\"secret\\\")\t5.000\t5.000\t3\n"
                  "s.rfl\t0\ttick\t1.000\t1.000\t2\n"
                  "<runtime>\t0\t<ipc read>\t0.250\t0.250\t1\n"
                  "<repl>\t0\t(secret of a former client)\t0.125\t0.125\t1\n");
    rf_profile_free(p);
}

static void withheld_texts_are_numbered_as_first_seen(void **state)
{
    (void)state;
    struct rf_profile *p = server();
    expect(p, "tsv", (struct rf_render){.view = RF_VIEW_QUERY, .no_text = true},
           HEADER "\n"
                  "<ipc>\t0\t<ipc #2>\t8.000\t11.000\t3\n"
                  "<ipc>\t0\t<ipc #1>\t5.000\t5.000\t3\n"
                  "s.rfl\t0\ttick\t1.000\t1.000\t2\n"
                  "<runtime>\t0\t<ipc read>\t0.250\t0.250\t1\n"
                  "<repl>\t0\t<repl #3>\t0.125\t0.125\t1\n");
    expect(p, "folded", (struct rf_render){.no_text = true},
           "<ipc #1> (<ipc>:1);dear (s.rfl:5) 2\n"
           "<ipc #1> (<ipc>:1);dear (s.rfl:5);cheap (s.rfl:2) 1\n"
           "tick (s.rfl:9) 1\n"
           "tick (s.rfl:9);cheap (s.rfl:2) 1\n"
           "<ipc read> (<runtime>) 1\n"
           "<ipc #1> (<ipc>:1);named (<ipc>:1) 1\n"
           "<ipc #1> (<ipc>:1);named (<ipc>:1);<ipc #1> (<ipc>:1) 1\n"
           "<repl #2> (<repl>:1) 1\n");
    rf_profile_free(p);
}

/* As if each stack had been sampled once while the log was kept. */
static struct rf_tids *logged(struct rf_profile *p)
{
    struct rf_tids *tids = rf_tids_new(1);
    assert_true(rf_profile_keep_log(p, tids));
    for (uint32_t i = 1; i < rf_profile_nodes(p); i++)
        rf_log_add(rf_profile_log(p), (struct rf_event){.time_ns = i, .node = i, .tid = 1});
    return tids;
}

static void withheld_text_is_in_no_output(void **state)
{
    (void)state;
    struct rf_profile *p = server();
    struct rf_tids *tids = logged(p);
    for (const struct rf_format *f = rf_formats(); f->name; f++)
        for (int view = 0; rf_views()[view].name; view++)
            for (size_t columns = 0; columns <= RF_COLUMNS; columns++) {
                if (f->wants & RF_WANTS_ALL) /* compressed: tests/unit/saved.c looks into it */
                    continue;
                struct rf_render how = {.view = (enum rf_view)view,
                                        .column = {RF_COLUMN_EXPR, RF_COLUMN_COL},
                                        .n_columns = columns,
                                        .folder = "/srv"};
                bool tells =
                    view == RF_VIEW_LINE || view == RF_VIEW_FN || view == RF_VIEW_EXPR || view == RF_VIEW_QUERY;
                char *told = written(p, f->name, &how);
                how.no_text = true;
                char *withheld = written(p, f->name, &how);
                assert_int_equal(strstr(told, "secret") != NULL, tells);
                assert_null(strstr(withheld, "secret"));
                free(told);
                free(withheld);
            }
    rf_profile_free(p);
    rf_tids_free(tids);
}

static void full_path(const char *folder, const char *name, const char *path)
{
    struct rf_text got = rf_full_path(folder, text(name));
    assert_int_equal(got.n, strlen(path));
    assert_memory_equal(got.s, path, got.n);
    free((char *)got.s);
}

static void full_paths_are_resolved_as_text(void **state)
{
    (void)state;
    full_path("/srv/app", "a.rfl", "/srv/app/a.rfl");
    full_path("/srv/app", "./lib//b.rfl", "/srv/app/lib/b.rfl");
    full_path("/srv/app", "../b.rfl", "/srv/b.rfl");
    full_path("/srv/app", "x/../../b.rfl", "/srv/b.rfl");
    full_path("/srv/app", "../../../../b.rfl", "/b.rfl");
    full_path("/srv/app", "..a/b..", "/srv/app/..a/b..");
    full_path("/srv/app", "../..", "/");
    full_path("/", "a.rfl", "/a.rfl");
    full_path("/", "..", "/");
    full_path("/srv/app", "/abs/../a.rfl", "/abs/../a.rfl");
    full_path("/srv/app", "<ipc>", "<ipc>");
    full_path("/srv/app", "<repl>", "<repl>");
    full_path("/srv/app", "<runtime>", "<runtime>");
    full_path("/srv/app", "<unknown>", "<unknown>");
    full_path("/srv/app", "<mine>", "/srv/app/<mine>");
    full_path("/srv/app", "", "");
}

static void names_of_one_file_are_one_row(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    struct rf_frame f[] = {form("a.rfl", 1, 1, "f", ""), form("./a.rfl", 1, 1, "f", ""),
                           form("/s/a.rfl", 1, 1, "f", "")};
    for (size_t i = 0; i < 3; i++)
        add(p, &f[i], 1, 1000000);
    expect(p, "tsv", (struct rf_render){.folder = "/s"}, HEADER "\n/s/a.rfl\t1\tf\t3.000\t3.000\t3\n");
    rf_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_runtime_is_not_named_twice),
        cmocka_unit_test(columns_of_a_line_are_one_row),
        cmocka_unit_test(expressions_of_a_line_are_rows),
        cmocka_unit_test(equal_forms_are_sorted_by_column),
        cmocka_unit_test(columns_come_in_the_order_asked_for),
        cmocka_unit_test(tables_have_the_columns),
        cmocka_unit_test(functions_and_files),
        cmocka_unit_test(a_query_has_all_that_it_called),
        cmocka_unit_test(withheld_texts_are_numbered_as_first_seen),
        cmocka_unit_test(withheld_text_is_in_no_output),
        cmocka_unit_test(full_paths_are_resolved_as_text),
        cmocka_unit_test(names_of_one_file_are_one_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
