/* slots-store.c: slot maps kept on disk: what was saved is found again, and a file that somebody else could have
 * written is not read. Works in the user's own cache folder, with a build-id that no build has. */
#include "slots/store.h"

#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char id[48], path[4096];

static bool save(void)
{
    struct rf_slotmap map;
    unsigned line;
    static const char text[] = "0x5 0x300 index r13d +1\n0x10 0x1 none\n";
    assert_true(rf_slotmap_parse(&map, text, sizeof text - 1, &line));
    rf_store_save(&map, id, 4711);
    rf_slotmap_free(&map);
    return access(path, R_OK) == 0;
}

static bool loads(uint64_t size)
{
    struct rf_slotmap map = {NULL, 0};
    bool ok = rf_store_load(&map, id, size);
    if (ok)
        assert_int_equal(map.n, 2);
    rf_slotmap_free(&map);
    return ok;
}

static int set_up(void **state)
{
    (void)state;
    const struct passwd *p = getpwuid(geteuid());
    snprintf(id, sizeof id, "0000000000000000000000000000feed%08x", (unsigned)getpid());
    snprintf(path, sizeof path, "%s/.cache/rfprof/%s.slots", p ? p->pw_dir : "", id);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static void what_was_saved_is_found_again(void **state)
{
    (void)state;
    struct stat st;
    assert_false(loads(4711));
    if (!save())
        skip(); /* a user without a home */
    assert_true(loads(4711));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_false(loads(4712)); /* the function has another size: not this build */
}

static void the_environment_has_no_say(void **state)
{
    (void)state;
    if (!save())
        skip();
    setenv("HOME", "/nonexistent", 1);
    setenv("XDG_CACHE_HOME", "/nonexistent", 1);
    assert_true(loads(4711));
}

static void what_others_may_write_is_not_read(void **state)
{
    (void)state;
    char target[sizeof path + 8];
    if (!save())
        skip();
    assert_int_equal(chmod(path, 0666), 0);
    assert_false(loads(4711));
    assert_int_equal(chmod(path, 0600), 0);
    assert_true(loads(4711));
    snprintf(target, sizeof target, "%s.real", path);
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(symlink(target, path), 0);
    bool followed = loads(4711);
    unlink(target);
    assert_false(followed);
}

static void a_damaged_file_is_not_read(void **state)
{
    (void)state;
    if (!save())
        skip();
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    fputs("0x20 0x1 index\n", f);
    fclose(f);
    assert_false(loads(4711));
}

/* An rfprof that is killed while it saves leaves its temporary file; the next one with its pid is not kept from saving.
 */
static void what_a_killed_one_left_is_no_hindrance(void **state)
{
    (void)state;
    char left[sizeof path + 16];
    if (!save())
        skip();
    assert_int_equal(unlink(path), 0);
    snprintf(left, sizeof left, "%s.%d", path, (int)getpid());
    FILE *f = fopen(left, "w");
    assert_non_null(f);
    fclose(f);
    bool saved = save();
    bool cleared = unlink(left) != 0;
    assert_true(saved && cleared);
    assert_true(loads(4711));
}

static void names_that_are_no_build_id_name_no_file(void **state)
{
    (void)state;
    struct rf_slotmap map = {NULL, 0};
    assert_false(rf_store_load(&map, "", 1));
    assert_false(rf_store_load(&map, "../x", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_a_killed_one_left_is_no_hindrance, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_saved_is_found_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_environment_has_no_say, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_others_may_write_is_not_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_not_read, set_up, tear_down),
        cmocka_unit_test(names_that_are_no_build_id_name_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
