/* Threads: what they are called, rows and stacks of their own, and what of a row pool workers used. */
#include "profile/profile.h"
#include "profile/tids.h"

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

static void expect(const struct rf_profile *p, const char *format, struct rf_render how, const char *shown)
{
    char *bytes;
    size_t n;
    FILE *to = open_memstream(&bytes, &n);
    const struct rf_format *f = rf_formats();
    while (strcmp(f->name, format))
        f++;
    assert_int_equal(f->write(p, &how, to, NULL), RF_OK);
    fclose(to);
    assert_string_equal(bytes, shown);
    free(bytes);
}

static void called(const struct rf_tid *t, const char *name)
{
    assert_non_null(t);
    assert_int_equal(t->name.n, strlen(name));
    assert_memory_equal(t->name.s, name, t->name.n);
}

static void threads_are_named_as_first_seen(void **state)
{
    (void)state;
    struct rf_tids *t = rf_tids_new(100);
    assert_null(rf_tids_find(t, 107));
    called(rf_tids_add(t, 107, text("rayforce"), true), "worker-1");
    called(rf_tids_add(t, 100, text("rayforce"), false), "main");
    called(rf_tids_add(t, 103, text("rayforce"), true), "worker-2");
    called(rf_tids_add(t, 104, text("timer"), false), "timer-104");
    called(rf_tids_add(t, 105, text("a name of more than 16"), false), "a name of more t-105");
    called(rf_tids_add(t, 107, text("other"), false), "worker-1");
    called(rf_tids_find(t, 103), "worker-2");
    /* caught before it was in its loop */
    const struct rf_tid *early = rf_tids_add(t, 106, text("rayforce"), false);
    called(early, "rayforce-106");
    called(rf_tids_add(t, 106, text("rayforce"), true), "worker-3");
    called(early, "worker-3");
    rf_tids_free(t);
}

/* 2 ms on line 1 by main; on line 2 by main 1 ms, by two workers 3 and 4 ms. */
static struct rf_profile *pool(void)
{
    struct rf_profile *p = rf_profile_new();
    struct rf_frame line[] = {{.file = text("p.rfl"), .fn = text("f"), .line = 1, .named = true},
                              {.file = text("p.rfl"), .fn = text("f"), .line = 2, .named = true}};
    const struct {
        const char *name;
        unsigned on;
        uint64_t ns;
    } sample[] = {{"main", 0, 2000000}, {"worker-1", 1, 3000000}, {"main", 1, 1000000}, {"worker-2", 1, 4000000}};
    for (size_t i = 0; i < 4; i++) {
        struct rf_frame f[] = {
            {.kind = RF_KIND_THREAD, .file = text(""), .fn = text(sample[i].name), .named = true}, line[0], line[1]};
        bool worker = sample[i].name[0] == 'w';
        struct rf_charge charge = {.weight_ns = sample[i].ns, .pool_ns = worker ? sample[i].ns : 0};
        rf_profile_charge(p, rf_profile_place(p, 0, f, 2 + sample[i].on), 1, charge);
    }
    return p;
}

static void threads_are_roots_of_stacks(void **state)
{
    (void)state;
    struct rf_profile *p = pool();
    expect(p, "folded", (struct rf_render){.threads = true},
           "main;f (p.rfl:1) 1\nworker-1;f (p.rfl:1);f (p.rfl:2) 1\nmain;f (p.rfl:1);f (p.rfl:2) 1\n"
           "worker-2;f (p.rfl:1);f (p.rfl:2) 1\n");
    expect(p, "folded", (struct rf_render){.threads = true, .view = RF_VIEW_FILE},
           "main;p.rfl 2\nworker-1;p.rfl 1\nworker-2;p.rfl 1\n");
    expect(p, "folded", (struct rf_render){.threads = true, .view = RF_VIEW_QUERY},
           "main;f (p.rfl) 2\nworker-1;f (p.rfl) 1\nworker-2;f (p.rfl) 1\n");
    expect(p, "folded", (struct rf_render){0}, "f (p.rfl:1) 1\nf (p.rfl:1);f (p.rfl:2) 3\n");
    expect(p, "folded", (struct rf_render){.view = RF_VIEW_THREAD}, "main 2\nworker-1 1\nworker-2 1\n");
    rf_profile_free(p);
}

static void threads_have_rows_of_their_own(void **state)
{
    (void)state;
    struct rf_profile *p = pool();
    const char *rows = HEADER "\tthread\n"
                              "p.rfl\t2\tf\t4.000\t4.000\t1\tworker-2\n"
                              "p.rfl\t2\tf\t3.000\t3.000\t1\tworker-1\n"
                              "p.rfl\t1\tf\t2.000\t3.000\t2\tmain\n"
                              "p.rfl\t2\tf\t1.000\t1.000\t1\tmain\n"
                              "p.rfl\t1\tf\t0.000\t3.000\t1\tworker-1\n"
                              "p.rfl\t1\tf\t0.000\t4.000\t1\tworker-2\n";
    expect(p, "tsv", (struct rf_render){.threads = true}, rows);
    expect(p, "tsv", (struct rf_render){.column = {RF_COLUMN_THREAD}, .n_columns = 1}, rows);
    expect(p, "tsv", (struct rf_render){.threads = true, .column = {RF_COLUMN_THREAD}, .n_columns = 1}, rows);
    expect(p, "tsv", (struct rf_render){.view = RF_VIEW_THREAD, .threads = true},
           HEADER "\n\t0\tworker-2\t4.000\t4.000\t1\n\t0\tmain\t3.000\t3.000\t2\n\t0\tworker-1\t3.000\t3.000\t1\n");
    expect(p, "table", (struct rf_render){.threads = true, .rows = 2, .column = {RF_COLUMN_MAIN_MS}, .n_columns = 1},
           "  self   total    self ms    main ms  thread    where    fn\n"
           " 40.0%   40.0%        4.0        0.0  worker-2  p.rfl:2  f\n"
           " 30.0%   30.0%        3.0        0.0  worker-1  p.rfl:2  f\n"
           "4 more rows: -f tsv writes all\n");
    rf_profile_free(p);
}

static void the_pools_part_and_the_rest_add_up(void **state)
{
    (void)state;
    struct rf_profile *p = pool();
    struct rf_render how = {.column = {RF_COLUMN_POOL_MS, RF_COLUMN_MAIN_MS}, .n_columns = 2};
    expect(p, "tsv", how,
           HEADER "\tpool_ms\tmain_ms\np.rfl\t2\tf\t8.000\t8.000\t3\t7.000\t1.000\n"
                  "p.rfl\t1\tf\t2.000\t10.000\t4\t0.000\t2.000\n");
    how.view = RF_VIEW_FN;
    expect(p, "tsv", how, HEADER "\tpool_ms\tmain_ms\np.rfl\t0\tf\t10.000\t10.000\t4\t7.000\t3.000\n");
    rf_profile_free(p);
    /* also where each would be rounded up: 0.0005 + 0.0005 = 0.001 */
    p = rf_profile_new();
    struct rf_frame f = {.file = text("p.rfl"), .fn = text("f"), .line = 1};
    struct rf_charge half = {.weight_ns = 1000, .pool_ns = 500};
    rf_profile_charge(p, rf_profile_place(p, 0, &f, 1), 1, half);
    how.view = RF_VIEW_LINE;
    expect(p, "tsv", how, HEADER "\tpool_ms\tmain_ms\np.rfl\t1\tf\t0.001\t0.001\t1\t0.001\t0.000\n");
    rf_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_are_named_as_first_seen),
        cmocka_unit_test(threads_are_roots_of_stacks),
        cmocka_unit_test(threads_have_rows_of_their_own),
        cmocka_unit_test(the_pools_part_and_the_rest_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
