/* The flame graph: what XML cannot hold, text that is cut to its box, frames too small to draw, facts that are known.
 */
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

static void add(struct rf_profile *p, const struct rf_frame *f, size_t n, uint64_t ns)
{
    uint32_t node = rf_profile_place(p, 0, f, n);
    assert_int_not_equal(node, UINT32_MAX);
    rf_profile_charge(p, node, 1, (struct rf_charge){.weight_ns = ns});
}

/* What the format writes; the caller frees. */
static char *drawn(const struct rf_profile *p, struct rf_render how)
{
    char *bytes;
    size_t n;
    struct rf_error err;
    FILE *to = open_memstream(&bytes, &n);
    const struct rf_format *f = rf_formats();
    while (strcmp(f->name, "svg"))
        f++;
    assert_int_equal(f->write(p, &how, to, &err), RF_OK);
    fclose(to);
    assert_int_equal(strlen(bytes), n);
    return bytes;
}

/* Not with strstr(3): under AddressSanitizer each call measures the whole rest of the picture. */
static size_t count(const char *in, const char *what)
{
    size_t n = 0, len = strlen(what);
    for (; *in; in++)
        n += *in == *what && !strncmp(in, what, len);
    return n;
}

static void name_is(const char *fn, const char *in_text, const char *in_json)
{
    struct rf_profile *p = rf_profile_new();
    struct rf_frame f = {.file = text("a"), .fn = text(fn), .line = 3, .named = true};
    add(p, &f, 1, 1000);
    char *svg = drawn(p, (struct rf_render){0}), expected[200];
    snprintf(expected, sizeof expected, "<text x=\"3\" y=\"13\">%s (a:3)</text>", in_text);
    assert_int_equal(count(svg, expected), 1);
    snprintf(expected, sizeof expected, ",\n[\"%s\",\"a:3\",\"", in_json);
    assert_int_equal(count(svg, expected), 1);
    assert_int_equal(count(svg, "]]>"), 2); /* behind our style and our script */
    free(svg);
    rf_profile_free(p);
}

static void names_stay_text(void **state)
{
    (void)state;
    name_is("]]></script>&amp;", "]]&gt;&lt;/script&gt;&amp;amp;", "]]&gt;&lt;/script&gt;&amp;amp;");
    name_is("say \"no\\\"", "say \"no\\\"", "say \\\"no\\\\\\\"");
    name_is("a\n\x01\x7f\xc2\x85", "a\\x0a\\x01\\x7f\\xc2\\x85", "a\\\\x0a\\\\x01\\\\x7f\\\\xc2\\\\x85");
    name_is("\xff\xed\xa0\x80", "\\xff\\xed\\xa0\\x80", "\\\\xff\\\\xed\\\\xa0\\\\x80");
    name_is("\xef\xbf\xbe\xef\xbf\xbf", "\\xef\\xbf\\xbe\\xef\\xbf\\xbf", "\\\\xef\\\\xbf\\\\xbe\\\\xef\\\\xbf\\\\xbf");
    name_is("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
}

/* Siblings stand by price; a text takes no more columns than its box has; what takes no pixel is in the data only. */
static void boxes(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    struct rf_frame cheap = {.file = text("a"), .fn = text("cheap"), .named = true},
                    dear = {.file = text("a"), .fn = text("dear-dear-dear"), .named = true},
                    least = {.file = text("a"), .fn = text("least"), .named = true},
                    wide = {.file = text("a"), .fn = text("\xe6\x96\x87\xe6\x96\x87\xe6\x96\x87"), .named = true};
    add(p, &cheap, 1, 50 * 1000);
    add(p, &dear, 1, 890 * 1000);
    add(p, &least, 1, 500);
    add(p, &wide, 1, 59500);
    char *svg = drawn(p, (struct rf_render){0});
    assert_non_null(strstr(svg, "x=\"0.0000%\" y=\"18\" width=\"89.0000%\" height=\"17\"><title>dear-dear-dear (a)\n"
                                "0.890 ms of CPU time, 89.00 %\n1 sample</title>"));
    assert_non_null(strstr(svg, "x=\"94.9500%\" y=\"18\" width=\"5.0000%\" height=\"17\"><title>cheap (a)\n"));
    assert_non_null(strstr(svg, ">cheap \xe2\x80\xa6</text>"));                                /* 53 pixels */
    assert_non_null(strstr(svg, ">\xe6\x96\x87\xe6\x96\x87\xe6\x96\x87 \xe2\x80\xa6</text>")); /* 64 */
    assert_null(strstr(svg, "<title>least"));
    assert_non_null(strstr(svg, "[\"least\",\"a\","));
    assert_non_null(strstr(svg, "[0,0,1000000,4,\n1,2,890000,1,\n1,4,59500,1,\n1,1,50000,1,\n1,3,500,1]}"));
    free(svg);
    rf_profile_free(p);
}

static void deep_stacks(void **state)
{
    (void)state;
    enum { DEPTH = 20000 };
    struct rf_profile *p = rf_profile_new();
    struct rf_frame *f = calloc(DEPTH, sizeof *f);
    for (size_t i = 0; i < DEPTH; i++)
        f[i] = (struct rf_frame){.file = text("a"), .fn = text("f"), .line = 1 + (uint32_t)(i % 7), .named = true};
    add(p, f, DEPTH, 1000);
    add(p, f, DEPTH / 2, 2000);
    char *svg = drawn(p, (struct rf_render){0});
    assert_int_equal(count(svg, "<svg class=\"frame"), DEPTH + 1);
    assert_non_null(strstr(svg, "height=\"360106\">")); /* of the page: head, rows, foot */
    free(svg);
    free(f);
    rf_profile_free(p);
}

static void what_is_not_known_is_not_said(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    char *svg = drawn(p, (struct rf_render){0});
    assert_non_null(strstr(svg, ">rfprof</text>"));
    assert_non_null(strstr(svg, "<text class=\"facts\" x=\"8\" y=\"38\">0 samples, by line</text>"));
    free(svg);
    struct rf_about about = {.pid = 7,
                             .command = "ray <1>\nx",
                             .release = "2.4.0",
                             .rate_hz = 99.5,
                             .began_ns = UINT64_C(1796002403999999999),
                             .wall_ns = 2500000000,
                             .charged_ns = 1234567890,
                             .idle = true};
    svg = drawn(p, (struct rf_render){.about = &about, .view = RF_VIEW_FN});
    assert_non_null(strstr(svg, "<title>ray &lt;1&gt;\\x0ax, pid 7, rayforce 2.4.0; 2.5 s at 99.5 Hz from "
                                "2026-11-30 01:33:23 UTC; 1.235 s of CPU time charged; 0 samples, by fn</title>"));
    assert_non_null(strstr(svg, "\"unit\":\"wall-clock time\""));
    free(svg);
    rf_profile_free(p);
}

/* More than a browser takes: the cheapest are left out, and what was there is said. */
static void too_many_frames(void **state)
{
    (void)state;
    enum { EACH = 501 };
    struct rf_profile *p = rf_profile_new();
    for (uint32_t i = 0; i < EACH * EACH; i++) {
        struct rf_frame f[] = {{.file = text("a"), .fn = text("f"), .line = 1 + i / EACH, .named = true},
                               {.file = text("b"), .fn = text("g"), .line = 1 + i % EACH, .named = true}};
        add(p, f, 2, i % EACH ? 3000 : 4000);
    }
    char *svg = drawn(p, (struct rf_render){0});
    assert_non_null(strstr(svg, "251001 samples, by line; the cheapest 1503 of 251503 frames are left out</text>"));
    const char *nodes = strstr(svg, "\"nodes\":[");
    assert_non_null(nodes);
    assert_int_equal(count(nodes, ",4000,1"), EACH);
    assert_int_equal(count(nodes, ",3000,1"), 250000 - 1 - EACH - EACH);
    assert_int_equal(count(nodes, ",1504000,501"), EACH);
    free(svg);
    rf_profile_free(p);
}

/* Kinds have their hues, and where there are several, a key. */
static void hues(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    struct rf_frame ours = {.file = text("a"), .fn = text("f"), .named = true},
                    c = {.kind = RF_KIND_NATIVE, .file = text("x.so"), .fn = text("g")},
                    none = {.file = text("<unknown>"), .fn = text("<torn>"), .named = true};
    struct rf_frame stack[] = {ours, c};
    add(p, stack, 2, 1000);
    char *svg = drawn(p, (struct rf_render){0});
    assert_int_equal(count(svg, ">Rayfall</text>"), 0); /* without -n there is one hue */
    assert_int_equal(count(svg, "class=\"frame c"), 0);
    free(svg);
    add(p, &none, 1, 1000);
    svg = drawn(p, (struct rf_render){.native = true});
    assert_int_equal(count(svg, "class=\"frame c"), 1);
    assert_int_equal(count(svg, "class=\"frame r"), 1);
    assert_int_equal(count(svg, "class=\"frame g"), 2); /* the root is another */
    assert_int_equal(count(svg, ">Rayfall</text>") + count(svg, ">C</text>") + count(svg, ">runtime</text>"), 3);
    free(svg);
    rf_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_stay_text),
        cmocka_unit_test(boxes),
        cmocka_unit_test(deep_stacks),
        cmocka_unit_test(what_is_not_known_is_not_said),
        cmocka_unit_test(hues),
        cmocka_unit_test(too_many_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
