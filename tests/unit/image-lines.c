/* image-lines.c: source lines of this very program, and where functions without a symbol begin. */
#include "image/debug.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

int image_lines_test_function(int x, volatile int *to);

static inline __attribute__((always_inline)) void inlined(int x, volatile int *to)
{
    for (int i = 0; i < x; i++)
        *to += i;
}

enum { FIRST = __LINE__ + 2 };
__attribute__((noinline)) int image_lines_test_function(int x, volatile int *to)
{
    *to = x;
    inlined(x, to);
    return *to + x;
}
enum { LAST = __LINE__ - 1, CALL = LAST - 2 };

static struct rf_image *open_self(void)
{
    struct rf_image *image;
    struct rf_error err;
    assert_int_equal(rf_image_open_file(&image, "/proc/self/exe", &err), RF_OK);
    return image;
}

/* The first place is the function's own, where it calls what was inlined; that is the second. */
static void inlined_calls_are_places_of_their_own(void **state)
{
    (void)state;
    struct rf_image *image = open_self();
    struct rf_symbol fn;
    struct rf_place_in_source place[RF_INLINED_MAX];
    bool call = false;
    if (!rf_image_has_dwarf(image)) {
        rf_image_close_file(image);
        skip();
    }
    assert_true(rf_image_find(image, "image_lines_test_function", &fn));
    for (uint64_t at = fn.addr; at < fn.addr + fn.size; at++) {
        size_t n = rf_image_places(image, at, place);
        assert_in_range(n, 1, 2);
        assert_null(place[0].inlined);
        assert_non_null(strstr(place[0].file, "image-lines.c"));
        assert_in_range(place[0].line, FIRST - 1, LAST);
        if (n == 1)
            continue;
        assert_int_equal(place[0].line, CALL);
        assert_string_equal(place[1].inlined, "inlined");
        assert_in_range(place[1].line, FIRST - 8, FIRST - 3);
        call = true;
    }
    assert_true(call);
    assert_int_equal(rf_image_places(image, 0, place), 0);
    rf_image_close_file(image);
}

static void functions_begin_where_their_frame_information_does(void **state)
{
    (void)state;
    struct rf_image *image = open_self();
    struct rf_symbol fn;
    uint64_t start = 0;
    assert_true(rf_image_find(image, "image_lines_test_function", &fn));
    assert_true(rf_image_function_start(image, fn.addr, &start));
    assert_int_equal(start, fn.addr);
    assert_true(rf_image_function_start(image, fn.addr + fn.size - 1, &start));
    assert_int_equal(start, fn.addr);
    assert_false(rf_image_function_start(image, 0, &start));
    rf_image_close_file(image);
}

static void files_without_debug_information_have_no_lines(void **state)
{
    (void)state;
    Dl_info info;
    struct rf_image *image;
    struct rf_error err;
    struct rf_symbol fn;
    struct rf_place_in_source place[RF_INLINED_MAX];
    assert_true(dladdr((void *)strlen, &info));
    assert_int_equal(rf_image_open_file(&image, info.dli_fname, &err), RF_OK);
    assert_true(rf_image_find(image, "qsort", &fn));
    if (rf_image_separate_at(image, fn.addr, &fn)) /* where libc's symbols are installed */
        assert_string_equal(fn.name, "qsort");
    if (!rf_image_dwarf(image)) { /* nor has what may be installed beside it */
        assert_null(rf_image_dwarf_path(image));
        assert_int_equal(rf_image_places(image, fn.addr, place), 0);
    }
    rf_image_close_file(image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inlined_calls_are_places_of_their_own),
        cmocka_unit_test(functions_begin_where_their_frame_information_does),
        cmocka_unit_test(files_without_debug_information_have_no_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
