/* layout.c: catalog entries as text, and whether one fits a process: a made-up one, which fits release 2.4.0 in
 * everything until a test changes one thing. The functions of this program stand in for the engine's. */
#include "fake_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { VM_BYTES = 256, BUILTINS = 120, LOOKED_AT = 512 };

/* Looked for by name in this program's own file. The interpreter asks for one block of 26272 bytes. */
extern const unsigned char layout_test_interpreter[LOOKED_AT];
const unsigned char layout_test_interpreter[LOOKED_AT] = {0x55, 0x53, 0xbf, 0xa0, 0x66, 0x00, 0x00, 0xe8};
int layout_test_native(int x);

__attribute__((noinline)) int layout_test_native(int x)
{
    return x * 3 + layout_test_interpreter[x & 7];
}

/* --- text ------------------------------------------------------------------------------------------- */

static const char *const whole =
    "release 9.9.9\ncore 9.9\ncompiler cc 1\ninterpreter vm_exec\nopcodes 33\n"
    "size.interpreter 1\nsize.g_env 2\nsize.g_sym 3\nsize.g_pool 4\n"
    "exec.size 5\nexec.order 15\nexec.sp 6\nexec.fp 7\nexec.rp 8\nexec.fn 9\nexec.tp 10\n"
    "exec.ps 11\nexec.rs 0x10\nvm.via runtime\nvm.eval_depth 13\nvm.scope_depth 14\nvm.nfo 15\nvm.ipc_handle 16\n"
    "lambda.slots 7\nenv.vals 18\nenv.user 19\nenv.count 20\nenv.max 21\n"
    "pool.n_workers 22\npool.task_claim 23\npool.task_limit 24\n";

static void text_is_parsed(void **state)
{
    struct rf_layout l;
    unsigned line = 99;
    char text[4096];
    (void)state;
    snprintf(text, sizeof text, "# comment\n\n  \t\n%sbuild-id \t aa11  # the executable's\n\tbuild-id bb22 \t", whole);
    assert_true(rf_layout_parse(&l, text, &line));
    assert_int_equal(line, 0);
    assert_string_equal(l.release, "9.9.9");
    assert_string_equal(l.compiler, "cc 1");
    assert_string_equal(l.build_id[0], "aa11");
    assert_string_equal(l.build_id[1], "bb22");
    assert_string_equal(l.build_id[2], "");
    assert_int_equal(l.exec_rs, 16);
    assert_int_equal(l.exec_size, 5);
    assert_int_equal(l.pool_task_limit, 24);
    assert_int_equal(l.origin, RF_ORIGIN_NONE);
}

static void mistakes_are_found_in_their_line(void **state)
{
    static const char *const wrong[] = {
        "opcode 33", /* no such name */
        "opcodes",   /* no value */
        "opcodes ",
        "release",
        "opcodes 33", /* for the second time */
        "release 9.9.8",
        "zz 33 # comment",
        "build-id",
        "build-id 0123456789012345678901234567890123456789012345678901234567890123", /* too long by its end */
        "33",
        "vm.nfo\t15",
    };
    struct rf_layout l;
    unsigned line, where = 2; /* behind the whole and a comment */
    char text[4096];
    (void)state;
    for (const char *c = whole; *c; c++)
        where += *c == '\n';
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "%s# comment\n%s\n# more\n", whole, wrong[i]);
        line = 0;
        if (rf_layout_parse(&l, text, &line) || line != where)
            fail_msg("'%s': line %u", wrong[i], line);
    }
}

static void values_that_are_none(void **state)
{
    static const char *const wrong[] = {"x", "12x", "-1", "2147483648", "99999999999999999999", "1 2", "0x", "1.5"};
    static const char *const fine[] = {"0", "2147483647", "0x7fffffff", "\t 12 "};
    struct rf_layout l;
    unsigned line;
    char text[256];
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "core 1\nexec.sp %s\ncompiler c\n", wrong[i]);
        if (rf_layout_parse(&l, text, &line) || line != 2)
            fail_msg("'%s': line %u", wrong[i], line);
    }
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) { /* what is wrong then is that fields are missing */
        snprintf(text, sizeof text, "core 1\nexec.sp %s\ncompiler c\n", fine[i]);
        if (rf_layout_parse(&l, text, &line) || line != 0)
            fail_msg("'%s': line %u", fine[i], line);
    }
    assert_false(rf_layout_parse(&l, "core 1\nrelease 0123456789abcdef\n", &line)); /* a text one too long */
    assert_int_equal(line, 2);
    assert_false(rf_layout_parse(&l, "core 1\nrelease 0123456789abcde\n", &line));
    assert_int_equal(line, 0);
    assert_false(rf_layout_parse(&l, "build-id a\nbuild-id b\nbuild-id c\nbuild-id d\nbuild-id e\n", &line));
    assert_int_equal(line, 5);
    memset(text, ' ', sizeof text);
    text[255] = 0;
    assert_false(rf_layout_parse(&l, text, &line)); /* 255 blanks: a line */
    assert_int_equal(line, 0);
    char longer[258];
    memset(longer, ' ', sizeof longer);
    longer[257] = 0;
    assert_false(rf_layout_parse(&l, longer, &line)); /* 257: none */
    assert_int_equal(line, 1);
}

/* Each field by itself left out. */
static void a_field_is_missing(void **state)
{
    (void)state;
    for (const char *at = whole; *at;) {
        struct rf_layout l;
        unsigned line = 99;
        char text[2048];
        size_t n = strcspn(at, "\n") + 1, before = (size_t)(at - whole);
        memcpy(text, whole, before);
        strcpy(text + before, at + n);
        if (rf_layout_parse(&l, text, &line) || line != 0)
            fail_msg("without '%.*s'", (int)n - 1, at);
        at += n;
    }
}

static void the_catalog_is_sound(void **state)
{
    static const char *const releases[] = {"2.1.0", "2.3.0", "2.3.1", "2.4.0"};
    struct rf_layout l;
    unsigned line;
    (void)state;
    for (const char *const *text = rf_catalog; *text; text++) {
        if (!rf_layout_parse(&l, *text, &line))
            fail_msg("entry '%s', line %u", l.release, line);
        /* What decoders rely on: stacks inside the block, indexes before them, room in a buddy block. */
        assert_true(l.exec_ps + 8 * EXEC_INDEX_MAX <= l.exec_rs);
        assert_true(l.exec_rs + 16 * EXEC_INDEX_MAX <= l.exec_size);
        assert_true(l.exec_tp + 4 <= l.exec_ps && l.exec_fn + 8 <= l.exec_ps);
        assert_true(RAY_HEADER + l.exec_size <= 1 << l.exec_order &&
                    RAY_HEADER + l.exec_size > 1 << (l.exec_order - 1));
        assert_true(l.env_vals == 8 * l.env_max && l.env_user == 16 * l.env_max && l.env_count == 17 * l.env_max);
        assert_true(l.env_count + 4 <= l.size_g_env);
        assert_true(l.lambda_slots >= LAMBDA_SLOTS);
        assert_int_equal(strlen(l.build_id[0]), 40);
    }
    for (size_t i = 0; i < sizeof releases / sizeof *releases; i++)
        assert_true(fake_layout(&l, releases[i]));
}

/* --- a process ------------------------------------------------------------------------------------------ */

struct fixture {
    struct fake *f;
    struct rf_image *image;
    uint64_t runtime, vms, vm, list, builtin[BUILTINS];
    uint64_t native;
    struct rf_error err;
    unsigned builtins;
};

static int open_fixture(void **state)
{
    struct fixture *x = calloc(1, sizeof *x);
    struct rf_symbol s;
    *state = x;
    if (!x)
        return -1;
    x->f = fake_new();
    if (!x->f || rf_image_open_file(&x->image, "/proc/self/exe", &x->err) != RF_OK)
        return -1;
    struct rf_runtime *rt = &x->f->rt;
    rt->image = x->image;
    rt->layout.origin = RF_ORIGIN_BUILD_ID;
    if (!rf_image_find(x->image, "layout_test_interpreter", &s))
        return -1;
    rt->interpreter = s.addr;
    if (!rf_image_find(x->image, "layout_test_native", &s) || layout_test_native(1) != 3 + 0x53)
        return -1;
    x->native = s.addr;
    x->vm = fake_alloc(x->f, VM_BYTES, 64);
    x->vms = fake_alloc(x->f, 8, 8);
    x->runtime = fake_alloc(x->f, 64, 64);
    rt->runtime = fake_alloc(x->f, 8, 8);
    fake_u64(x->f, rt->runtime, x->runtime);
    fake_u64(x->f, x->runtime, x->vms);
    fake_i32(x->f, x->runtime + 8, 1);
    fake_u64(x->f, x->vms, x->vm);
    fake_u64(x->f, x->vm + (uint64_t)rt->layout.vm_ipc_handle, UINT64_MAX);
    for (unsigned i = 0; i < BUILTINS; i++) {
        char name[32];
        snprintf(name, sizeof name, i % 2 ? "b%u" : "a-long-name-of-%u", i);
        x->builtin[i] = fake_builtin(x->f, RAY_UNARY + (int)(i % 3), name, x->native);
        fake_global(x->f, name, x->builtin[i], false);
    }
    x->list = fake_list(x->f, NULL, 0);
    fake_global(x->f, "trades", x->list, true);
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *x = *state;
    rf_image_close_file(x->image);
    free(x->f);
    free(x);
    return 0;
}

static enum rf_status validate(struct fixture *x)
{
    memset(&x->err, 0, sizeof x->err);
    x->f->rt.vm = 0;
    return rf_layout_validate(&x->f->rt, &x->f->memory, &x->builtins, &x->err);
}

static void accepted(struct fixture *x)
{
    if (validate(x) != RF_OK)
        fail_msg("refused: %s", x->err.what);
}

static void refused(struct fixture *x, const char *naming)
{
    enum rf_status status = validate(x);
    if (status != RF_TARGET || x->err.status != RF_TARGET || !strstr(x->err.what, naming) ||
        !strstr(x->err.what, "catalog 2.4.0") || !strstr(x->err.next, "opcodes"))
        fail_msg("status %d, '%s' does not name '%s'", status, x->err.what, naming);
}

static void it_fits(void **state)
{
    struct fixture *x = *state;
    accepted(x);
    assert_int_equal(x->builtins, BUILTINS);
    assert_int_equal(x->f->rt.vm, x->vm);
    assert_int_equal(rf_layout_validate(&x->f->rt, &x->f->memory, NULL, NULL), RF_OK);
}

static void the_interpreter_disagrees(void **state)
{
    struct fixture *x = *state;
    struct rf_runtime *rt = &x->f->rt;
    rt->opcodes++;
    refused(x, "opcodes");
    rt->opcodes--;
    rt->layout.exec_size++;
    refused(x, "exec block");
    rt->layout.exec_size--;
    rt->interpreter += 3; /* the constant is no longer in what is looked at */
    refused(x, "exec block");
    rt->interpreter = 0x7f0000000000;
    refused(x, "exec block");
}

static void a_number(struct fixture *x, uint64_t addr, int32_t wrong, const char *naming)
{
    int32_t old;
    memcpy(&old, fake_at(x->f, addr, 4), 4);
    fake_i32(x->f, addr, wrong);
    refused(x, naming);
    fake_i32(x->f, addr, old);
    accepted(x);
}

static void a_pointer(struct fixture *x, uint64_t addr, uint64_t wrong, const char *naming)
{
    uint64_t old;
    memcpy(&old, fake_at(x->f, addr, 8), 8);
    fake_u64(x->f, addr, wrong);
    refused(x, naming);
    fake_u64(x->f, addr, old);
    accepted(x);
}

static void the_vm_disagrees(void **state)
{
    struct fixture *x = *state;
    const struct rf_layout *l = &x->f->rt.layout;
    const uint64_t nowhere = FAKE_BASE + FAKE_SIZE, depth = x->vm + (uint64_t)l->vm_eval_depth,
                   scope = x->vm + (uint64_t)l->vm_scope_depth, nfo = x->vm + (uint64_t)l->vm_nfo;
    a_pointer(x, x->f->rt.runtime, 0, "__RUNTIME");
    a_pointer(x, x->f->rt.runtime, nowhere, "__RUNTIME");
    a_pointer(x, x->runtime, 0, "VM");
    a_pointer(x, x->vms, 0, "VM");
    a_pointer(x, x->vms, nowhere, "depths");
    a_number(x, x->runtime + 8, 0, "VM");
    a_number(x, x->runtime + 8, 2, "VM");
    a_number(x, depth, -1, "depths");
    a_number(x, depth, 513, "depths");
    a_number(x, scope, -1, "depths");
    a_number(x, scope, 513, "depths");
    a_pointer(x, x->vm + (uint64_t)l->vm_ipc_handle, (uint64_t)-2, "client handle");
    a_pointer(x, nfo, x->list, "source information"); /* a list of none */
    a_pointer(x, nfo, x->builtin[0], "source information");
    a_pointer(x, nfo, nowhere, "source information");
    a_pointer(x, nfo, 1, "source information");
    /* busy: all of them in use */
    fake_i32(x->f, depth, 512);
    fake_i32(x->f, scope, 1);
    fake_u64(x->f, nfo, fake_nfo(x->f, "f.rfl", "text", NULL, NULL, 0));
    fake_u64(x->f, x->vm + (uint64_t)l->vm_ipc_handle, 7);
    accepted(x);
}

static void the_environment_disagrees(void **state)
{
    struct fixture *x = *state;
    const struct rf_layout *l = &x->f->rt.layout;
    uint64_t count = x->f->rt.g_env + (uint64_t)l->env_count;
    a_number(x, count, 0, "sensible size");
    a_number(x, count, -1, "sensible size");
    a_number(x, count, 1025, "sensible size");
    a_number(x, count, 99, "builtins"); /* fewer than any release has */
    a_pointer(x, x->f->rt.g_sym + 16, 0, "builtins");
    a_number(x, x->f->rt.g_sym + 24, 3, "builtins"); /* ids of names beyond the symbols */
    x->f->rt.layout.env_vals = 1 << 30;
    refused(x, "environment cannot be read");
    x->f->rt.layout.env_vals = l->env_max * 8 + 8;
    refused(x, "builtins");
}

/* The first n builtins are not what they should be; up to four may be in the middle of a change. */
static void builtins_disagree(struct fixture *x, unsigned offset, uint64_t wrong)
{
    uint64_t old[5];
    for (unsigned i = 0; i < 5; i++) {
        memcpy(&old[i], fake_at(x->f, x->builtin[i] + offset, 8), 8);
        fake_u64(x->f, x->builtin[i] + offset, wrong);
        if (i < 4)
            accepted(x);
        else
            refused(x, "builtins");
    }
    for (unsigned i = 0; i < 5; i++)
        fake_u64(x->f, x->builtin[i] + offset, old[i]);
    accepted(x);
}

static void natives_that_are_none(void **state)
{
    struct fixture *x = *state;
    builtins_disagree(x, RAY_NATIVE, x->native + 1);        /* inside a function, not its start */
    builtins_disagree(x, RAY_NATIVE, x->f->rt.interpreter); /* data */
    builtins_disagree(x, RAY_NATIVE, 0);
    builtins_disagree(x, RAY_NATIVE, UINT64_MAX);
}

static void names_that_are_others(void **state)
{
    struct fixture *x = *state;
    builtins_disagree(x, 0, 0x2020206261626162); /* "baba" where each has its own */
    builtins_disagree(x, 0, 0);
    for (unsigned i = 0; i < 20; i++) /* what user code named itself may have any name */
        fake_global(x->f, "alias", x->builtin[i], true);
    accepted(x);
}

static void what_describes_it(void **state)
{
    struct rf_layout l;
    char text[64];
    (void)state;
    assert_true(fake_layout(&l, "2.3.1"));
    l.origin = RF_ORIGIN_FINGERPRINT;
    rf_layout_describe(&l, text, sizeof text);
    assert_non_null(strstr(text, "2.3.1"));
    assert_non_null(strstr(text, "fingerprint"));
}

/* This program is no rayforce. */
static void no_layout_for_another_program(void **state)
{
    struct fixture *x = *state;
    struct rf_runtime rt;
    assert_false(rf_image_is_rayforce(x->image));
    assert_int_equal(rf_layout_choose(&rt, x->image, NULL, &x->err), RF_TARGET);
    assert_non_null(strstr(x->err.what, "__RUNTIME"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_parsed),
        cmocka_unit_test(mistakes_are_found_in_their_line),
        cmocka_unit_test(values_that_are_none),
        cmocka_unit_test(a_field_is_missing),
        cmocka_unit_test(the_catalog_is_sound),
        cmocka_unit_test(what_describes_it),
        cmocka_unit_test_setup_teardown(it_fits, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(the_interpreter_disagrees, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(the_vm_disagrees, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(the_environment_disagrees, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(natives_that_are_none, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(names_that_are_others, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(no_layout_for_another_program, open_fixture, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
