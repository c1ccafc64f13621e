/* Names may hold any byte; what is printed is one field of valid UTF-8. */
#include "report/escape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *bytes, size_t n, const char *shown)
{
    char *got = rf_escape((struct rf_text){bytes, n});
    assert_non_null(got);
    assert_string_equal(got, shown);
    free(got);
}

#define EXPECT(bytes, shown) expect(bytes, sizeof(bytes) - 1, shown)

static void plain_text_stays(void **state)
{
    (void)state;
    EXPECT("", "");
    EXPECT("join-all", "join-all");
    EXPECT("<fn:55>; ' $", "<fn:55>; ' $");
    EXPECT("caf\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80");
}

static void characters_with_a_letter(void **state)
{
    (void)state;
    EXPECT("a\tb\nc\rd\\e\"f", "a\\tb\\nc\\rd\\\\e\\\"f");
    EXPECT("\"first", "\\\"first");
}

static void control_characters(void **state)
{
    (void)state;
    EXPECT("\0\x01\x1f\x7f", "\\x00\\x01\\x1f\\x7f");
    EXPECT("\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "\\x80\\x9b\\x9f\xc2\xa0");
}

static void bytes_that_are_not_utf8(void **state)
{
    (void)state;
    EXPECT("\xff", "\\xff");
    EXPECT("\x80", "\\x80");
    EXPECT("\xc3", "\\xc3"); /* ends early */
    EXPECT("\xe4\xb8", "\\xe4\\xb8");
    EXPECT("\xc3(", "\\xc3(");        /* no continuation */
    EXPECT("\xc0\xaf", "\\xc0\\xaf"); /* overlong '/' */
    EXPECT("\xe0\x80\xaf", "\\xe0\\x80\\xaf");
    EXPECT("\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf");
    EXPECT("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* surrogate */
    EXPECT("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* above U+10FFFF */
    EXPECT("\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf");
    EXPECT("\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_stays),
        cmocka_unit_test(characters_with_a_letter),
        cmocka_unit_test(control_characters),
        cmocka_unit_test(bytes_that_are_not_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
