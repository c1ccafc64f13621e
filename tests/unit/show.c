/* show.c: what values of the target look like, and that values which lie about themselves are bounded. */
#include "fake_memory.h"

#include "rayfall/locals.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { ROUNDS = 200000, READS_MAX = 200 };

static struct rf_shown show(struct fake *f, uint64_t addr)
{
    struct rf_shown v;
    rf_show(&f->memory, &f->rt, NULL, addr, &v);
    assert_true(v.n <= sizeof v.text);
    return v;
}

static void expect(struct fake *f, uint64_t addr, const char *type, int64_t length, const char *text, bool cut)
{
    struct rf_shown v = show(f, addr);
    assert_string_equal(v.type, type);
    assert_int_equal(v.length, length);
    assert_int_equal(v.n, strlen(text));
    assert_memory_equal(v.text, text, v.n);
    assert_int_equal(v.cut, cut);
}

static uint64_t atom(struct fake *f, int type, int64_t value)
{
    return fake_object(f, -type, 0, value, NULL, 0);
}

static uint64_t bits(double v)
{
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}

static void test_atoms(void **state)
{
    struct fake *f = *state;
    expect(f, atom(f, 1, 1), "b8", -1, "true", false);
    expect(f, atom(f, 2, 0xfe), "u8", -1, "0xfe", false);
    expect(f, atom(f, 3, -2), "i16", -1, "-2", false);
    expect(f, atom(f, 4, INT32_MIN), "i32", -1, "0Ni", false);
    expect(f, atom(f, 5, -17), "i64", -1, "-17", false);
    expect(f, atom(f, 5, INT64_MIN), "i64", -1, "0Nl", false);
    expect(f, atom(f, 6, (int64_t)bits(0.5)), "f32", -1, "0.5", false);
    expect(f, atom(f, 7, (int64_t)bits(-1.25)), "f64", -1, "-1.25", false);
    expect(f, atom(f, 8, 0), "date", -1, "2000.01.01", false);
    expect(f, atom(f, 8, 59), "date", -1, "2000.02.29", false);
    expect(f, atom(f, 8, -1), "date", -1, "1999.12.31", false);
    expect(f, atom(f, 8, 9829), "date", -1, "2026.11.29", false);
    expect(f, atom(f, 9, 86399999), "time", -1, "23:59:59.999", false);
    expect(f, atom(f, 9, INT32_MIN), "time", -1, "0Nt", false);
    expect(f, atom(f, 10, -1), "timestamp", -1, "1999.12.31D23:59:59.999999999", false);
    expect(f, fake_string(f, ""), "str", -1, "\"\"", false);
    expect(f, fake_string(f, "short"), "str", -1, "\"short\"", false);
    expect(f, fake_string(f, "not so short"), "str", -1, "\"not so short\"", false);
    expect(f, fake_symbol_atom(f, fake_symbol(f, "price")), "sym", -1, "price", false);
    expect(f, fake_symbol_atom(f, 400), "sym", -1, "#400", false);
    const unsigned char guid[16] = {0x12, 0x34, 0xff};
    expect(f, atom(f, 11, (int64_t)fake_byte_vector(f, guid, 16)), "guid", -1, "1234ff00-0000-0000-0000-000000000000",
           false);
}

static void test_vectors(void **state)
{
    struct fake *f = *state;
    const uint64_t nine[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    expect(f, fake_longs(f, nine, 0), "I64", 0, "", false);
    expect(f, fake_longs(f, nine, 8), "I64", 8, "1 2 3 4 5 6 7 8", false);
    expect(f, fake_longs(f, nine, 9), "I64", 9, "1 2 3 4 5 6 7 8", true);
    uint64_t symbols[] = {(uint64_t)fake_symbol(f, "a"), (uint64_t)fake_symbol(f, "b")};
    expect(f, fake_object(f, RAY_SYMBOLS, 3, 2, symbols, sizeof symbols), "SYM", 2, "a b", false);
    uint64_t of_its_own = fake_object(f, RAY_SYMBOLS, 3, 2, symbols, sizeof symbols);
    fake_u64(f, of_its_own + 8, FAKE_BASE);
    assert_memory_equal(show(f, of_its_own).text, "#", 1);
    uint64_t parent = fake_longs(f, nine, 9), slice = fake_object(f, RAY_I64, RAY_ATTR_SLICE, 2, NULL, 0);
    fake_u64(f, slice, parent);
    fake_u64(f, slice + 8, 6);
    expect(f, slice, "I64", 2, "7 8", false);
    /* {u32 length, char[12]}, or {u32 length, char[4], u32 offset, u32} */
    unsigned char strings[32] = "\3\0\0\0abc";
    memcpy(strings + 16, "\15\0\0\0abcd\1\0\0\0\0\0\0", 16);
    uint64_t v = fake_object(f, 13, 0, 2, strings, sizeof strings);
    fake_u64(f, v + 8, fake_byte_vector(f, "?abcdefghijklm", 14));
    expect(f, v, "STR", 2, "\"abc\" \"abcdefghijklm\"", false);
}

static void test_nested(void **state)
{
    struct fake *f = *state;
    const uint64_t three[] = {1, 2, 3};
    uint64_t longs = fake_longs(f, three, 3), list[] = {atom(f, 5, 4), longs, 0, fake_string(f, "x")};
    expect(f, fake_list(f, list, 4), "LIST", 4, "4 I64[3] null \"x\"", false);
    uint64_t names[] = {(uint64_t)fake_symbol(f, "sym"), (uint64_t)fake_symbol(f, "px")};
    uint64_t columns[] = {longs, longs}, parts[] = {fake_longs(f, names, 2), fake_list(f, columns, 2)};
    expect(f, fake_object(f, RAY_TABLE, 0, 2, parts, sizeof parts), "TABLE", 3, "sym:I64 px:I64", false);
    parts[0] = fake_object(f, RAY_SYMBOLS, 3, 2, names, sizeof names);
    expect(f, fake_object(f, RAY_DICT, 0, 2, parts, sizeof parts), "DICT", 2, "sym:I64[3] px:I64[3]", false);
    uint64_t cycle = fake_list(f, list, 4);
    fake_u64(f, cycle + RAY_DATA, cycle);
    expect(f, cycle, "LIST", 4, "LIST[4] I64[3] null \"x\"", false);
}

static void test_lies(void **state)
{
    struct fake *f = *state;
    const uint64_t one[] = {1};
    uint64_t longs = fake_longs(f, one, 1);
    expect(f, 0, "?", -1, "", false);
    expect(f, 0x7f0000000000, "?", -1, "", false);
    expect(f, longs + 8, "?", -1, "", false);
    int64_t huge = INT64_MAX, negative = -1;
    fake_put(f, longs + RAY_LEN, &huge, 8);
    assert_true(show(f, longs).cut);
    fake_put(f, longs + RAY_LEN, &negative, 8);
    expect(f, longs, "I64", -1, "", false);
    uint64_t slice = fake_object(f, RAY_I64, RAY_ATTR_SLICE, 2, NULL, 0);
    fake_u64(f, slice, slice); /* a slice of itself */
    expect(f, slice, "I64", -1, "", false);
    fake_u64(f, slice, fake_longs(f, one, 1)); /* of more than there is */
    expect(f, slice, "I64", -1, "", false);
    fake_u64(f, slice + 8, UINT64_MAX);
    expect(f, slice, "I64", -1, "", false);
    unsigned char string[16] = "\377\377\377\377abcd\377\377\377\377";
    expect(f, fake_object(f, 13, 0, 1, string, sizeof string), "STR", 1, "?", false);
    expect(f, atom(f, 13, (int64_t)FAKE_BASE + FAKE_SIZE), "str", -1, "?", false);
    for (int type = -128; type < 128; type++)
        show(f, fake_object(f, type, 0, (int64_t)longs, one, 8));
}

/* Objects of all kinds, damaged at random: never more than some reads for one. */
static void test_damage(void **state)
{
    struct fake *f = *state;
    uint64_t object[64], seed = 0x9e3779b97f4a7c15;
    size_t n = 0;
    for (int type = 0; type < 14; type++)
        object[n] = fake_object(f, type, 3, 3, object, 8 * n), n++;
    for (int type = 98; type < 105; type++)
        object[n++] = fake_object(f, type, 0, 2, object, 16);
    for (int type = 1; type < 14; type++)
        object[n++] = atom(f, type, (int64_t)object[2]);
    for (unsigned round = 0; round < ROUNDS; round++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        uint64_t at = FAKE_BASE + seed % f->used;
        fake_u8(f, at, (unsigned char)(seed >> 40));
        f->reads = 0;
        show(f, object[round % n]);
        assert_true(f->reads < READS_MAX);
    }
}

/* (fn [n v] (let half n) (f half)) with its bytecode: names of slots come out of parameters and body. */
static void test_locals(void **state)
{
    struct fake *f = *state;
    static const unsigned char code[] = {OP_LOADENV, 0,          OP_DUP, OP_STOREENV, 2, OP_POP, OP_RESOLVE,
                                         0,          OP_LOADENV, 2,      OP_CALLF,    1, OP_RET};
    int64_t n = fake_symbol(f, "n"), v = fake_symbol(f, "v"), half = fake_symbol(f, "half");
    uint64_t let[] = {fake_symbol_atom(f, fake_symbol(f, "let")), fake_symbol_atom(f, half), fake_symbol_atom(f, n)};
    uint64_t call[] = {fake_symbol_atom(f, fake_symbol(f, "f")), fake_symbol_atom(f, half)};
    uint64_t body[] = {fake_list(f, let, 3), fake_list(f, call, 2)};
    const int64_t params[] = {n, v};
    struct fake_function fn = {
        .code = code, .code_len = sizeof code, .consts = call, .n_consts = 1, .body = body, .n_body = 2, .n_locals = 4};
    uint64_t lambda = fake_lambda(f, &fn);
    fake_u64(f, lambda + RAY_DATA, fake_object(f, RAY_SYMBOLS, 3, 2, params, sizeof params));
    uint64_t values[] = {atom(f, 5, 7), atom(f, 5, 8), 0, atom(f, 5, 9)};
    uint64_t slots = fake_list(f, values, 4) + RAY_DATA;
    struct rf_names *names = rf_names_new(&f->rt);
    struct rf_sources *sources = rf_sources_new();
    struct rf_lambdas *lambdas = rf_lambdas_new(&f->rt, &f->memory, names, sources);
    struct rf_snapshot nothing = {.memory = {.read = rf_snapshot_read}};
    struct rf_locals_view view = {.s = &nothing, .m = &f->memory, .live = &f->memory, .rt = &f->rt};
    struct rf_locals at = {rf_lambdas_get(lambdas, &f->memory, lambda, 1), slots};
    struct rf_local local[4];
    assert_non_null(at.fn);
    assert_int_equal(rf_locals_read(&view, &at, local, 4), 4);
    static const char *const name[] = {"n", "v", "half", ""};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(local[i].name.n, strlen(name[i]));
        assert_memory_equal(local[i].name.n ? local[i].name.s : "", name[i], strlen(name[i]));
        assert_int_equal(local[i].argument, i < 2);
        assert_int_equal(local[i].state, i == 2 ? RF_LOCAL_UNSET : RF_LOCAL_SET);
        free((char *)local[i].name.s);
    }
    assert_memory_equal(local[3].value.text, "9", 1);
    assert_int_equal(rf_locals_read(&view, &at, local, 0), 4);
    rf_lambdas_free(lambdas);
    rf_sources_free(sources);
    rf_names_free(names);
}

static int set_up(void **state)
{
    *state = fake_new();
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_atoms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_vectors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nested, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_locals, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
