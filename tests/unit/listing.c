/* Listings: what each row of a view has cost in all and since an instant, and the text of its line. */
#include "profile/profile.h"
#include "rfprof.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct rf_text text(const char *s)
{
    return (struct rf_text){s, strlen(s)};
}

static struct rf_frame line(const char *file, uint32_t number, const char *fn, const char *source)
{
    return (struct rf_frame){.file = text(file), .fn = text(fn), .line = number, .source = text(source), .named = true};
}

static void add(struct rf_profile *p, const struct rf_frame *f, size_t n, uint64_t ns)
{
    uint32_t node = rf_profile_place(p, 0, f, n);
    assert_int_not_equal(node, UINT32_MAX);
    rf_profile_charge(p, node, 1, (struct rf_charge){.weight_ns = ns});
}

static struct rf_listing *list(const struct rf_profile *p, const struct rf_instant *since, struct rf_render how)
{
    struct rf_listing *l;
    struct rf_error err;
    assert_int_equal(rf_listing_make(p, since, &how, &l, &err), RF_OK);
    return l;
}

static struct rf_instant *now(const struct rf_profile *p)
{
    struct rf_instant *i;
    struct rf_error err;
    assert_int_equal(rf_instant_take(p, &i, &err), RF_OK);
    return i;
}

static void expect_text(struct rf_text t, const char *s)
{
    assert_int_equal(t.n, strlen(s));
    assert_memory_equal(t.s, s, t.n);
}

static void expect_cost(struct rf_cost c, uint64_t self, uint64_t total, uint64_t samples)
{
    assert_int_equal(c.self_ns, self);
    assert_int_equal(c.total_ns, total);
    assert_int_equal(c.samples, samples);
}

static void costs_since_an_instant(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    struct rf_frame a = line("a.rfl", 1, "f", "(g x)"), b = line("b.rfl", 2, "g", "(med v)"),
                    c = line("b.rfl", 9, "h", "");
    const struct rf_frame ab[] = {a, b}, abab[] = {a, b, a, b}, ac[] = {a, c};
    add(p, ab, 2, 100);
    add(p, &a, 1, 50);
    struct rf_instant *then = now(p);
    add(p, abab, 4, 30); /* both recur: they count once */
    add(p, ac, 2, 7);
    struct rf_listing *l = list(p, then, (struct rf_render){.view = RF_VIEW_LINE});
    assert_int_equal(l->n, 3);
    assert_int_equal(l->all_ns, 187);
    assert_int_equal(l->since_ns, 37);
    expect_text(l->row[0].fn, "g");
    expect_text(l->row[0].source, "(med v)");
    expect_cost(l->row[0].all, 130, 130, 2);
    expect_cost(l->row[0].since, 30, 30, 1);
    expect_text(l->row[1].file, "a.rfl");
    assert_int_equal(l->row[1].line, 1);
    expect_cost(l->row[1].all, 50, 187, 4);
    expect_cost(l->row[1].since, 0, 37, 2);
    expect_text(l->row[2].source, "");
    expect_cost(l->row[2].all, 7, 7, 1);
    expect_cost(l->row[2].since, 7, 7, 1);
    rf_listing_free(l);

    /* the same of another view: g and h are both in b.rfl */
    l = list(p, then, (struct rf_render){.view = RF_VIEW_FILE});
    assert_int_equal(l->n, 2);
    expect_text(l->row[0].file, "b.rfl");
    expect_text(l->row[0].fn, "");
    expect_text(l->row[0].source, "");
    expect_cost(l->row[0].since, 37, 37, 2);
    rf_listing_free(l);
    rf_instant_free(then);

    /* nothing has come since just now */
    then = now(p);
    l = list(p, then, (struct rf_render){.view = RF_VIEW_LINE});
    assert_int_equal(l->since_ns, 0);
    expect_cost(l->row[0].since, 0, 0, 0);
    rf_listing_free(l);
    rf_instant_free(then);
    rf_profile_free(p);
}

static void without_an_instant_since_is_all(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new(), *other = rf_profile_new();
    struct rf_frame a = line("a.rfl", 1, "f", "");
    add(p, &a, 1, 5);
    add(other, &a, 1, 5);
    struct rf_instant *of_another = now(other);
    const struct rf_instant *since[] = {NULL, of_another};
    for (size_t i = 0; i < 2; i++) {
        struct rf_listing *l = list(p, since[i], (struct rf_render){.view = RF_VIEW_LINE});
        assert_int_equal(l->since_ns, 5);
        expect_cost(l->row[0].since, 5, 5, 1);
        rf_listing_free(l);
    }
    rf_instant_free(of_another);
    rf_profile_free(other);
    rf_profile_free(p);
}

/* The text is not part of what a line is: an edited line stays one row, with the text last seen. */
static void an_edited_line_is_one_row(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    const char *seen[] = {"(med v)", "(med\tv) \x1b", ""};
    for (size_t i = 0; i < 3; i++) {
        struct rf_frame f = line("a.rfl", 1, "f", seen[i]);
        add(p, &f, 1, 5);
    }
    struct rf_listing *l = list(p, NULL, (struct rf_render){.view = RF_VIEW_LINE});
    assert_int_equal(l->n, 1);
    expect_text(l->row[0].source, "(med\\tv) \\x1b");
    rf_listing_free(l);
    rf_profile_free(p);
}

static void withheld_text_has_no_source(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    struct rf_frame sent = line("<ipc>", 1, "(secret)", "(secret)"), filed = line("a.rfl", 1, "f", "(g)");
    sent.named = false;
    add(p, &sent, 1, 9);
    add(p, &filed, 1, 5);
    struct rf_listing *l = list(p, NULL, (struct rf_render){.view = RF_VIEW_LINE, .no_text = true});
    expect_text(l->row[0].fn, "<ipc #1>");
    expect_text(l->row[0].source, "");
    expect_text(l->row[1].source, "(g)");
    rf_listing_free(l);
    rf_profile_free(p);
}

static void an_empty_profile_has_no_rows(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    struct rf_instant *then = now(p);
    struct rf_listing *l = list(p, then, (struct rf_render){.view = RF_VIEW_QUERY});
    assert_int_equal(l->n, 0);
    assert_int_equal(l->all_ns, 0);
    rf_listing_free(l);
    rf_listing_free(NULL);
    rf_instant_free(then);
    rf_instant_free(NULL);
    rf_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_since_an_instant),       cmocka_unit_test(without_an_instant_since_is_all),
        cmocka_unit_test(an_edited_line_is_one_row),    cmocka_unit_test(withheld_text_has_no_source),
        cmocka_unit_test(an_empty_profile_has_no_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
