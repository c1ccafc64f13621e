/* source.c: from nodes and span ids to places in source text, when the process tells the truth and when not. */
#include "fake_memory.h"

#include "rayfall/source.h"
#include "rayfall/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* What the keys of these tests are: addresses of nodes, which nobody reads. */
enum { NODE_A = 0x100000, NODE_B = 0x200000, NODE_C = 0x300000, NODE_D = 0x400000 };

struct fixture {
    struct fake *f;
    struct rf_sources *sources;
    uint64_t epoch;
};

static int open_fixture(void **state)
{
    static struct fixture x;
    x = (struct fixture){fake_new(), rf_sources_new(), 0};
    *state = &x;
    return x.f && x.sources ? 0 : -1;
}

static int close_fixture(void **state)
{
    struct fixture *x = *state;
    rf_sources_free(x->sources);
    free(x->f);
    return 0;
}

/* As it is now: in a sample of its own. */
static const struct rf_source *get(struct fixture *x, uint64_t nfo)
{
    return rf_sources_get(x->sources, &x->f->memory, nfo, ++x->epoch);
}

static struct rf_span repaired(const struct rf_source *s, uint64_t id)
{
    struct rf_span span;
    assert_true(rf_source_repair(s, id, &span));
    return span;
}

static const char *const two_functions = "(set outer (fn [x]\n"
                                         "  (map (fn [y]\n"
                                         "         (+ x y))\n"
                                         "       (til 9))))\n"
                                         "(fnord 1)\n";

static void texts_and_spans_are_read(void **state)
{
    struct fixture *x = *state;
    uint64_t keys[] = {NODE_B, NODE_A}, spans[] = {fake_span(1, 2, 3, 14), fake_span(0, 0, 3, 16)};
    uint64_t nfo = fake_nfo(x->f, "f.rfl", two_functions, keys, spans, 2);
    struct rf_span span;
    const struct rf_source *s = get(x, nfo);
    assert_non_null(s);
    assert_int_equal(s->file.n, 5); /* stands in the string's header */
    assert_memory_equal(s->file.s, "f.rfl", 6);
    assert_string_equal(s->text.s, two_functions);
    assert_true(rf_source_node(s, NODE_B, &span));
    assert_int_equal(span.line, 1);
    assert_int_equal(span.end_line, 3);
    assert_int_equal(span.col, 2);
    assert_int_equal(span.end_col, 14);
    assert_false(rf_source_node(s, NODE_C, &span));
    /* a long file name is behind a pointer; there may be no text and no nodes */
    s = get(x, fake_nfo(x->f, "scripts/longer.rfl", "", NULL, NULL, 0));
    assert_non_null(s);
    assert_string_equal(s->file.s, "scripts/longer.rfl");
    assert_int_equal(s->text.n, 0);
    assert_false(rf_source_node(s, NODE_A, &span));
    assert_int_equal(repaired(s, fake_span(7, 1, 7, 2)).line, 7);
}

static void the_last_match_is_the_live_nodes(void **state)
{
    struct fixture *x = *state;
    /* B was an atom of line 0, was freed, and is now a form of line 4 */
    uint64_t keys[] = {NODE_B, NODE_A, NODE_B, NODE_C};
    uint64_t spans[] = {fake_span(0, 16, 0, 16), fake_span(2, 0, 2, 9), fake_span(4, 0, 4, 8), fake_span(0, 0, 0, 3)};
    uint64_t nfo = fake_nfo(x->f, "f.rfl", two_functions, keys, spans, 4);
    const struct rf_source *s = get(x, nfo);
    struct rf_span span;
    assert_non_null(s);
    assert_true(rf_source_node(s, NODE_B, &span));
    assert_int_equal(span.line, 4);
    /* a debug vector has the dead atom's span: what was meant is the node */
    span = repaired(s, spans[0]);
    assert_int_equal(span.line, 4);
    assert_int_equal(span.end_col, 8);
    assert_int_equal(repaired(s, spans[1]).line, 2);
    assert_int_equal(repaired(s, spans[2]).line, 4);
    assert_int_equal(repaired(s, spans[3]).line, 0);
    /* an address that was reused many times */
    uint64_t same[9], turn[9];
    for (unsigned i = 0; i < 9; i++) {
        same[i] = NODE_B;
        turn[i] = fake_span(10 + i, 0, 10 + i, 1);
    }
    const struct rf_source *reused = get(x, fake_nfo(x->f, "g.rfl", two_functions, same, turn, 9));
    assert_non_null(reused);
    for (unsigned i = 0; i < 9; i++)
        assert_int_equal(repaired(reused, turn[i]).line, 18);
    s = get(x, nfo);
    /* an id that is not there is taken as it is */
    assert_int_equal(repaired(s, fake_span(3, 1, 3, 2)).line, 3);
}

static void the_text_at_a_span(void **state)
{
    struct fixture *x = *state;
    const struct rf_source *s = get(x, fake_nfo(x->f, "f.rfl", two_functions, NULL, NULL, 0));
    assert_non_null(s);
    struct rf_text t = rf_source_at(s, rf_span_unpack(fake_span(4, 1, 4, 5)));
    assert_int_equal(t.n, 9);
    assert_memory_equal(t.s, "fnord 1)\n", 9);
    assert_int_equal(rf_source_at(s, rf_span_unpack(fake_span(5, 0, 5, 0))).n, 0); /* behind the last newline */
    assert_int_equal(rf_source_at(s, rf_span_unpack(fake_span(6, 0, 6, 0))).n, 0); /* no such line */
    assert_int_equal(rf_source_at(s, rf_span_unpack(fake_span(65535, 65535, 0, 0))).n, 0);
    assert_int_equal(rf_source_at(s, rf_span_unpack(fake_span(4, 65535, 4, 65535))).n, 0); /* no such column */
}

static void the_smallest_function_around(void **state)
{
    struct fixture *x = *state;
    enum { OUTER, INNER, PLUS, SET, FNORD, MAP };
    uint64_t keys[] = {0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 0x6000};
    uint64_t spans[] = {fake_span(0, 11, 3, 15), fake_span(1, 7, 2, 16), fake_span(2, 9, 2, 15),
                        fake_span(0, 0, 3, 16),  fake_span(4, 0, 4, 8),  fake_span(1, 2, 3, 14)};
    const struct rf_source *s = get(x, fake_nfo(x->f, "f.rfl", two_functions, keys, spans, 6));
    struct rf_span fn;
    assert_non_null(s);
    assert_true(rf_source_function(s, rf_span_unpack(spans[PLUS]), &fn));
    assert_int_equal(fn.line, 1);
    assert_int_equal(fn.col, 7);
    assert_true(rf_source_function(s, rf_span_unpack(spans[MAP]), &fn));
    assert_int_equal(fn.line, 0);
    assert_int_equal(fn.col, 11);
    /* the whole set form is in no function; nor is (fnord 1), which only begins like one */
    assert_false(rf_source_function(s, rf_span_unpack(spans[SET]), &fn));
    assert_false(rf_source_function(s, rf_span_unpack(fake_span(4, 1, 4, 5)), &fn));
}

/* A text of `lines` lines and a last one of `columns` characters that are none, between two functions. */
static char *long_text(unsigned lines, unsigned columns)
{
    char *text = malloc(lines + columns + 256), *to = text;
    assert_non_null(text);
    to += sprintf(to, "(set f (fn [x] \"a \\\" (\"\n  (med {key:x}))) ; (\n");
    memset(to, '\n', lines);
    to += lines;
    memset(to, ' ', columns);
    to += columns;
    strcpy(to, "(set g (fn [x] ;)\n (med\n  x)))");
    return text;
}

static uint64_t id_of(unsigned line, unsigned col, unsigned end_line, unsigned end_col)
{
    return fake_span(line & 0xffff, col & 0xffff, end_line & 0xffff, end_col & 0xffff);
}

/* Lines and columns beyond 16 bits are found by reading the text again; ids that may be two nodes' say nothing. */
static void numbers_beyond_16_bits(void **state)
{
    static const struct {
        unsigned lines, columns;
    } cases[] = {{65534, 0}, {65535, 3}, {70000, 0}, {200000, 1}, {3, 65536}, {2, 300000}};
    struct fixture *x = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned line = 2 + cases[i].lines, col = cases[i].columns;
        /* "set" and "f" are not asked for; the parser records what is in brackets behind its elements */
        uint64_t keys[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
        uint64_t spans[] = {id_of(0, 12, 0, 12),
                            id_of(0, 15, 0, 22),
                            id_of(1, 12, 1, 12), /* behind a key */
                            id_of(1, 2, 1, 14),
                            id_of(0, 7, 1, 15),
                            id_of(0, 0, 1, 16),
                            id_of(line + 1, 1, line + 2, 3),
                            id_of(line, col + 7, line + 2, 4),
                            id_of(line, col, line + 2, 5),
                            id_of(line + 2, 6, line + 2, 5)};
        char *text = long_text(cases[i].lines, cases[i].columns);
        const struct rf_source *s = get(x, fake_nfo(x->f, "f.rfl", text, keys, spans, 10));
        struct rf_span span;
        assert_non_null(s);
        assert_false(s->unplaced);
        for (unsigned k = 0; k < 3; k++) {
            unsigned at = k == 0 ? line + 1 : line, want = k == 0 ? 1 : k == 1 ? col + 7 : col;
            assert_true(rf_source_node(s, 7 + k, &span));
            assert_int_equal(span.line, at);
            assert_int_equal(span.col, want);
            assert_int_equal(span.end_line, line + 2);
            assert_int_equal(repaired(s, spans[6 + k]).line, at);
            assert_int_equal(rf_source_at(s, span).s[0], '(');
        }
        assert_int_equal(rf_source_at(s, repaired(s, spans[3])).s[1], 'm');
        assert_int_equal(rf_source_at(s, repaired(s, spans[9])).n, 0); /* the list of all forms */
        assert_false(rf_source_repair(s, id_of(1, 1, 1, 1), &span));   /* nobody's: it may stand for any line */
        /* another text than that of the spans */
        text[7] = ' ';
        s = get(x, fake_nfo(x->f, "f.rfl", text, keys, spans, 10));
        assert_non_null(s);
        assert_true(s->unplaced);
        assert_false(rf_source_node(s, 7, &span));
        free(text);
        x->f->used = 0x10000; /* there is no room for all */
    }
}

/* 65536 lines apart, at the same column. */
static void ids_of_two_nodes(void **state)
{
    struct fixture *x = *state;
    enum { APART = 65536 };
    char *text = malloc(APART + 16);
    uint64_t keys[] = {1, 2, 3}, spans[] = {fake_span(0, 0, 0, 2), fake_span(0, 0, 0, 2), fake_span(1, 0, 1, 0)};
    struct rf_span span;
    assert_non_null(text);
    strcpy(text, "(f)");
    memset(text + 3, '\n', APART);
    strcpy(text + 3 + APART, "(f)\n1");
    const struct rf_source *s = get(x, fake_nfo(x->f, "f.rfl", text, keys, spans, 3));
    assert_non_null(s);
    assert_true(rf_source_node(s, 2, &span));
    assert_int_equal(span.line, APART);
    assert_false(rf_source_repair(s, spans[0], &span));
    assert_int_equal(repaired(s, spans[2]).line, APART + 1);
    free(text);
}

/* Spans of lines and columns that the text does not have. */
static void spans_outside_the_text(void **state)
{
    struct fixture *x = *state;
    uint64_t keys[] = {NODE_A, NODE_B, NODE_C};
    uint64_t spans[] = {fake_span(9000, 0, 9001, 0), fake_span(0, 60000, 9, 1), UINT64_MAX};
    const struct rf_source *s = get(x, fake_nfo(x->f, "f.rfl", "(fn", keys, spans, 3));
    struct rf_span fn;
    assert_non_null(s);
    assert_false(rf_source_function(s, rf_span_unpack(spans[0]), &fn));
    assert_false(rf_source_function(s, rf_span_unpack(spans[2]), &fn));
}

static void what_is_no_nfo(void **state)
{
    struct fixture *x = *state;
    struct fake *f = x->f;
    uint64_t keys[] = {NODE_A}, spans[] = {fake_span(0, 0, 0, 1)};
    uint64_t nfo = fake_nfo(f, "somewhere.rfl", "(+ 1 2) and more", keys, spans, 1), at[4], text;
    static const int64_t absurd[] = {-1, INT64_MIN, INT64_MAX, 1 << 23, 2};
    memcpy(at, fake_at(f, nfo + RAY_DATA, sizeof at), sizeof at);
    memcpy(&text, fake_at(f, at[1] + RAY_LEN, 8), 8);
    assert_non_null(get(x, nfo));
    assert_null(get(x, nfo + 8)); /* misaligned */
    assert_null(get(x, 0));
    assert_null(get(x, FAKE_BASE - 64));        /* unreadable */
    assert_null(get(x, FAKE_BASE + FAKE_SIZE)); /* just behind what is readable */
    for (size_t k = 0; k < sizeof absurd / sizeof *absurd; k++) {
        uint64_t place[] = {nfo, at[2], at[3], text};
        for (size_t i = 0; i < sizeof place / sizeof *place; i++) {
            uint64_t old;
            if (place[i] == text && absurd[k] == 2)
                continue; /* a fine length of text */
            memcpy(&old, fake_at(f, place[i] + RAY_LEN, 8), 8);
            fake_u64(f, place[i] + RAY_LEN, (uint64_t)absurd[k]);
            if (get(x, nfo))
                fail_msg("length %lld of part %zu was believed", (long long)absurd[k], i);
            fake_u64(f, place[i] + RAY_LEN, old);
        }
    }
    for (unsigned i = 0; i < 4; i++) {
        static const uint64_t wrong[] = {0, 1, FAKE_BASE + FAKE_SIZE, UINT64_MAX - 31};
        uint64_t part = nfo + RAY_DATA + 8 * i;
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
            fake_u64(f, part, wrong[k]);
            if (get(x, nfo))
                fail_msg("part %u at %#llx was believed", i, (unsigned long long)wrong[k]);
        }
        fake_u64(f, part, nfo); /* itself */
        assert_null(get(x, nfo));
        fake_u64(f, part, at[i]);
    }
    fake_u64(f, at[1] + RAY_LEN, at[1]); /* a string that points to itself */
    assert_null(get(x, nfo));
    fake_u64(f, at[1] + RAY_LEN, text);
    fake_u8(f, at[2] + RAY_ATTRS, RAY_ATTR_SLICE); /* its data are elsewhere */
    assert_null(get(x, nfo));
    fake_u8(f, at[2] + RAY_ATTRS, 0);
    fake_i32(f, nfo + RAY_RC, 0); /* freed */
    assert_null(get(x, nfo));
    fake_i32(f, nfo + RAY_RC, 1);
    assert_non_null(get(x, nfo));
}

static void another_text_at_the_same_address(void **state)
{
    struct fixture *x = *state;
    struct fake *f = x->f;
    uint64_t keys[] = {NODE_A}, spans[] = {fake_span(0, 0, 0, 6)};
    uint64_t nfo = fake_nfo(f, "repl", "(+ 1 2) and more", keys, spans, 1), at[4], bytes;
    memcpy(at, fake_at(f, nfo + RAY_DATA, sizeof at), sizeof at);
    memcpy(&bytes, fake_at(f, at[1] + RAY_LEN, 8), 8);
    uint64_t first = get(x, nfo)->serial;
    assert_int_equal(get(x, nfo)->serial, first);
    /* within a sample it is not looked at again */
    const struct rf_source *s = get(x, nfo);
    fake_u8(f, bytes + RAY_DATA + 1, '-');
    assert_ptr_equal(rf_sources_get(x->sources, &f->memory, nfo, x->epoch), s);
    s = get(x, nfo);
    assert_int_not_equal(s->serial, first);
    assert_memory_equal(s->text.s, "(- 1 2)", 7);
    /* the same text again: still a serial that was never given */
    fake_u8(f, bytes + RAY_DATA + 1, '+');
    uint64_t second = s->serial, third = get(x, nfo)->serial;
    assert_true(third != first && third != second);
    /* it becomes unreadable and comes back */
    fake_u64(f, nfo + RAY_LEN, 3);
    assert_null(get(x, nfo));
    fake_u64(f, nfo + RAY_LEN, 4);
    assert_int_not_equal(get(x, nfo)->serial, third);
}

/* The process frees the text while it is being read and puts another one there. */
static void change_text(struct fake *f, uint64_t addr)
{
    (void)addr;
    if (f->reads == 14)
        for (uint64_t at = FAKE_BASE; at < FAKE_BASE + f->used; at += 32)
            if (memcmp(fake_at(f, at, 7), "(+ 1 2)", 7) == 0)
                fake_put(f, at, "(* 1 2)", 7);
}

static void a_source_that_changes_while_it_is_read(void **state)
{
    struct fixture *x = *state;
    uint64_t keys[] = {NODE_A}, spans[] = {fake_span(0, 0, 0, 6)};
    uint64_t nfo = fake_nfo(x->f, "f.rfl", "(+ 1 2) and more", keys, spans, 1);
    x->f->reads = 0;
    x->f->before_read = change_text;
    assert_null(get(x, nfo));
    assert_true(x->f->reads > 14);
    const struct rf_source *s = get(x, nfo); /* the next sample sees it whole */
    assert_non_null(s);
    assert_memory_equal(s->text.s, "(* 1 2)", 7);
}

/* More sources than are kept: each is found as it is, and one that is used in every sample is read only once. */
static void more_sources_than_are_kept(void **state)
{
    struct fixture *x = *state;
    enum { MANY = 200 };
    uint64_t nfo[MANY], keys[] = {NODE_A};
    for (unsigned i = 0; i < MANY; i++) {
        uint64_t span = fake_span(i, 0, i, 1);
        nfo[i] = fake_nfo(x->f, "f.rfl", "text", keys, &span, 1);
    }
    uint64_t kept = get(x, nfo[0])->serial;
    for (unsigned i = 1; i < MANY; i++) {
        struct rf_span span;
        assert_int_equal(get(x, nfo[0])->serial, kept);
        const struct rf_source *s = get(x, nfo[i]);
        assert_non_null(s);
        assert_true(rf_source_node(s, NODE_A, &span));
        assert_int_equal(span.line, i);
    }
    uint64_t last = get(x, nfo[MANY - 1])->serial;
    assert_true(get(x, nfo[1])->serial > last); /* was dropped and read again */
}

static void own_forms(const char *line, const char *expected)
{
    struct rf_text t = rf_own_forms((struct rf_text){line, strlen(line)});
    assert_int_equal(t.n, strlen(expected));
    assert_memory_equal(t.s, expected, t.n);
}

static void what_closes_earlier_forms(void **state)
{
    (void)state;
    own_forms("(tick x)))", "(tick x)");
    own_forms("(map heartbeat (til 10)))] ; )", "(map heartbeat (til 10))");
    own_forms("(like notes \")))\") ; as it is", "(like notes \")))\") ; as it is");
    own_forms("x) (tick y))", "x) (tick y))");
    own_forms("(let a [1 2]", "(let a [1 2]");
    own_forms("\"unfinished ) \\", "\"unfinished ) \\");
    own_forms(")", "");
    own_forms("", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_closes_earlier_forms),
        cmocka_unit_test_setup_teardown(texts_and_spans_are_read, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(the_last_match_is_the_live_nodes, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(the_text_at_a_span, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(the_smallest_function_around, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(numbers_beyond_16_bits, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(ids_of_two_nodes, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(spans_outside_the_text, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(what_is_no_nfo, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(another_text_at_the_same_address, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(a_source_that_changes_while_it_is_read, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(more_sources_than_are_kept, open_fixture, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
