/* ip.c: which instructions an interpreter frame may be at, from what is in memory and what is in the machine. */
#include "fake_memory.h"

#include "rayfall/ip.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define CODE_AT UINT64_C(0x7f5512345020)
enum { F = 0xf000, G = 0xa000, OTHER_OBJECT = 0xbad00 };

struct fixture {
    struct fake *f;
    struct rf_names *names;
    struct rf_lambda fn;
    uint64_t consts[4];
    int64_t symbols[4];
    struct rf_ip_view v;
    const struct rf_instruction *found[IP_CANDIDATES];
};

static int open_fixture(void **state)
{
    struct fixture *x = calloc(1, sizeof *x);
    *state = x;
    if (!x)
        return -1;
    x->f = fake_new();
    x->names = x->f ? rf_names_new(&x->f->rt) : NULL;
    if (!x->names)
        return -1;
    /* constants: the object F, the name of F, the name of G, a number */
    x->consts[0] = F;
    x->symbols[0] = x->symbols[3] = -1;
    x->symbols[1] = fake_global(x->f, "f", F, true);
    x->symbols[2] = fake_global(x->f, "g", G, true);
    rf_names_refresh(x->names, &x->f->memory, 1);
    x->fn = (struct rf_lambda){.code_addr = CODE_AT, .consts = x->consts, .symbols = x->symbols, .n_consts = 4};
    x->v = (struct rf_ip_view){.fn = &x->fn, .names = x->names, .below = "ray_sum_fn"};
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *x = *state;
    rf_code_free(&x->fn.code);
    rf_names_free(x->names);
    free(x->f);
    free(x);
    return 0;
}

static void code(struct fixture *x, const unsigned char *bytes, size_t n)
{
    rf_code_free(&x->fn.code);
    assert_true(rf_code_decode(&x->fn.code, bytes, n, OP_COUNT));
    assert_true(x->fn.code.sound);
}

#define CODE(x, ...) code(x, (const unsigned char[]){__VA_ARGS__}, sizeof((const unsigned char[]){__VA_ARGS__}))

/* Just this number in a callee-saved register. */
static void saved(struct fixture *x, uint64_t word)
{
    x->v.n_saved = 2;
    x->v.saved[0] = UINT64_C(0x7ffc00000123);
    x->v.saved[1] = word;
    x->v.n_words = 0;
}

static size_t find(struct fixture *x)
{
    memset(x->found, 0, sizeof x->found);
    return rf_ip_candidates(&x->v, x->found);
}

static void assert_only(struct fixture *x, uint32_t start)
{
    size_t n = find(x);
    if (n != 1 || x->found[0]->start != start)
        fail_msg("%zu candidates, the first at %u, not at %u", n, n ? x->found[0]->start : 0, start);
}

/* (f x) twice, then once more with the result below it: depth 0, 0, 1 */
enum { FIRST = 4, SECOND = 10, THIRD = 15 };
static void three_calls(struct fixture *x)
{
    CODE(x, OP_LOADCONST, 0, OP_LOADENV, 0, OP_CALL1, OP_POP, OP_LOADCONST, 0, OP_LOADENV, 0, OP_CALL1, OP_LOADCONST, 0,
         OP_LOADENV, 0, OP_CALL1, OP_POP, OP_RET);
}

static void a_number_and_a_depth(void **state)
{
    struct fixture *x = *state;
    three_calls(x);
    saved(x, FIRST + 1);
    assert_only(x, FIRST);
    saved(x, SECOND + 1);
    assert_only(x, SECOND);
    /* only the low half counts: an int in a register or a stack slot may have anything above it */
    saved(x, UINT64_C(0xdeadbeef00000000) + SECOND + 1);
    assert_only(x, SECOND);
    x->v.n_saved = 0;
    x->v.word[2] = SECOND + 1;
    x->v.n_words = 3;
    assert_only(x, SECOND);
    /* the depth agrees with one only */
    saved(x, FIRST + 1);
    x->v.saved[0] = THIRD + 1;
    assert_only(x, FIRST);
    x->v.depth = 1;
    assert_only(x, THIRD);
}

static void the_form_with_a_pointer(void **state)
{
    struct fixture *x = *state;
    three_calls(x);
    saved(x, CODE_AT + SECOND + 1);
    assert_only(x, SECOND);
    saved(x, CODE_AT + SECOND + 1 + 5000); /* a pointer to something else: only memory is left to go by */
    assert_int_equal(find(x), 2);
}

static void two_are_both_told(void **state)
{
    struct fixture *x = *state;
    three_calls(x);
    saved(x, FIRST + 1);
    x->v.saved[0] = SECOND + 1;
    assert_int_equal(find(x), 2);
    assert_int_equal(x->found[0]->start, FIRST);
    assert_int_equal(x->found[1]->start, SECOND);
    x->v.saved[0] = x->v.saved[1]; /* seen twice: none is told twice */
    assert_int_equal(find(x), 1);
}

/* With an operand the number may be that behind the opcode; without one it may not. */
static void behind_the_opcode_or_the_operand(void **state)
{
    struct fixture *x = *state;
    CODE(x, OP_LOADCONST, 0, OP_LOADENV, 0, OP_CALLN, 1, OP_POP, OP_LOADCONST, 0, OP_LOADENV, 0, OP_CALL1, OP_RET);
    saved(x, 6);
    assert_only(x, 4);
    saved(x, 5);
    assert_only(x, 4);
    saved(x, CODE_AT + 5);
    assert_only(x, 4);
    saved(x, 12);
    assert_only(x, 11);
    saved(x, 11); /* the start of CALL1 is no number of it, but of what is before, which does not fit */
    assert_int_equal(find(x), 2);
    /* three bytes of operand: neither of the bytes inside counts */
    CODE(x, OP_LOADENVG, 0, 0, 1, OP_POP, OP_RESOLVE, 1, OP_RET);
    x->v.below = "ray_env_resolve";
    saved(x, 4);
    assert_only(x, 0);
    saved(x, 1);
    assert_only(x, 0);
    saved(x, 2);
    assert_int_equal(find(x), 2);
}

/* What is directly below the interpreter tells which opcodes it can be. */
static void what_is_below(void **state)
{
    struct fixture *x = *state;
    static const struct {
        const char *below;
        uint32_t start;
    } want[] = {
        {"ray_eval", 14},        {"ray_eval.part.0", 14}, {"vm_call_binary", 9},
        {"ray_env_resolve", 17}, {"ray_env_set", 20},     {"ray_sum_fn", 4},
    };
    /* CALL1 at 4 (depth 0), CALL2 at 9, CALLD at 14, RESOLVE at 17, STOREGLOBAL at 20 */
    CODE(x, OP_LOADCONST, 0, OP_LOADENV, 0, OP_CALL1, OP_LOADSELF, OP_LOADSELF, OP_POP, OP_LOADSELF, OP_CALL2,
         OP_LOADENV, 0, OP_LOADENV, 0, OP_CALLD, 2, OP_POP, OP_RESOLVE, 1, OP_FORCE, OP_STOREGLOBAL, 2, OP_RET);
    /* every instruction's number is seen; depth 0 is what each leaves below itself */
    x->v.n_words = 0;
    x->v.n_saved = 5;
    x->v.saved[0] = 5;
    x->v.saved[1] = 10;
    x->v.saved[2] = 16;
    x->v.saved[3] = 19;
    x->v.saved[4] = 22;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        bool among = false;
        x->v.below = want[i].below;
        size_t n = find(x);
        for (size_t k = 0; k < n; k++)
            among = among || x->found[k]->start == want[i].start;
        /* anything may be a builtin: then all that call */
        if (!among || (n != 1 && strcmp(want[i].below, "ray_sum_fn") != 0))
            fail_msg("%s: %zu candidates", want[i].below, n);
    }
}

static void release_and_retain(void **state)
{
    struct fixture *x = *state;
    /* LOADENV at 0, STOREENV at 2, POP at 6 */
    CODE(x, OP_LOADENV, 0, OP_STOREENV, 0, OP_LOADENV, 1, OP_POP, OP_LOADENV, 0, OP_RET);
    x->v.n_saved = 4;
    x->v.saved[0] = 2;
    x->v.saved[1] = 4;
    x->v.saved[2] = 7;
    x->v.saved[3] = 0x999;
    static const char *const frees[] = {"ray_release", "ray_free", "ray_free_last_ref", "ray_free.isra.0",
                                        "ray_release.part.0"};
    for (size_t i = 0; i < sizeof frees / sizeof *frees; i++) {
        x->v.below = frees[i];
        if (find(x) != 2 || x->found[0]->op != OP_STOREENV || x->found[1]->op != OP_POP)
            fail_msg("%s", frees[i]);
    }
    x->v.below = "ray_retain";
    assert_only(x, 0);
}

/* Two calls of constants at the same depth: the object that is being called tells them apart. */
static void the_object_that_is_called(void **state)
{
    struct fixture *x = *state;
    x->consts[3] = G;
    CODE(x, OP_LOADCONST, 0, OP_LOADENV, 0, OP_CALL1, OP_POP, OP_LOADCONST, 3, OP_LOADENV, 0, OP_CALL1, OP_RET);
    saved(x, 5);
    x->v.saved[0] = 11;
    assert_int_equal(find(x), 2);
    x->v.called = F;
    assert_only(x, 4);
    x->v.called = G;
    assert_only(x, 10);
    /* also without a number */
    x->v.n_saved = 0;
    assert_only(x, 10);
    /* a constant's index outside the constants fits nothing that is called */
    x->fn.n_consts = 3;
    saved(x, 11);
    x->v.called = F;
    assert_int_equal(find(x), 1);
    assert_int_equal(x->found[0]->start, 10); /* by its number alone */
}

/* Two calls by name. The name's value tells, unless nothing else is left: the name may stand for something else by now.
 */
static void the_name_that_is_called(void **state)
{
    struct fixture *x = *state;
    CODE(x, OP_RESOLVE, 1, OP_LOADENV, 0, OP_CALLF, 1, OP_POP, OP_RESOLVE, 2, OP_LOADENV, 0, OP_CALLF, 1, OP_RET);
    saved(x, 6);
    x->v.saved[0] = 13;
    x->v.called = F;
    assert_only(x, 4);
    x->v.called = G;
    assert_only(x, 11);
    x->v.called = OTHER_OBJECT;
    assert_int_equal(find(x), 2);
    x->v.called = F;
    x->v.names = NULL;
    assert_int_equal(find(x), 2);
    x->v.names = x->names;
    x->symbols[2] = 400; /* a name that stands for nothing: a local one, for all that is known */
    assert_int_equal(find(x), 2);
}

/* Nothing below: the sample fell into the interpreter itself, between or within handlers. */
static void a_leaf_frame(void **state)
{
    struct fixture *x = *state;
    three_calls(x);
    x->v.below = NULL;
    x->v.depth = 1;
    saved(x, 4); /* LOADENV at 2 ends there */
    assert_only(x, 2);
    /* another register counts when no callee-saved one shows anything */
    saved(x, 0x999);
    x->v.n_other = 1;
    x->v.other[0] = 4;
    assert_only(x, 2);
    saved(x, 8); /* LOADCONST at 6 */
    assert_only(x, 6);
    /* nothing at all is seen: no candidate, instead of every one */
    saved(x, 0x999);
    x->v.other[0] = 0x999;
    assert_int_equal(find(x), 0);
    /* a depth that no instruction has */
    saved(x, 4);
    x->v.depth = -7;
    assert_int_equal(find(x), 0);
}

/* A function of which all instructions fit: cut at the array's end. */
static void more_candidates_than_are_told(void **state)
{
    struct fixture *x = *state;
    unsigned char b[3 * 200 + 2];
    for (size_t i = 0; i < 200; i++) {
        b[3 * i] = OP_LOADSELF;
        b[3 * i + 1] = OP_FORCE;
        b[3 * i + 2] = OP_POP;
    }
    b[600] = OP_LOADSELF;
    b[601] = OP_RET;
    code(x, b, sizeof b);
    x->v.n_saved = 0;
    assert_int_equal(find(x), IP_CANDIDATES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_number_and_a_depth, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(the_form_with_a_pointer, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(two_are_both_told, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(behind_the_opcode_or_the_operand, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(what_is_below, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(release_and_retain, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(the_object_that_is_called, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(the_name_that_is_called, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(a_leaf_frame, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(more_candidates_than_are_told, open_fixture, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
