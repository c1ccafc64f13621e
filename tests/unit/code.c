/* code.c: bytecode to instructions, the depth of the operand stack before each, and what each call calls. */
#include "rayfall/code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RELEASE_2_4_0 = 33, RELEASE_2_1_0 = 23 };

static struct rf_code decoded(const unsigned char *b, size_t n)
{
    struct rf_code c;
    assert_true(rf_code_decode(&c, b, n, RELEASE_2_4_0));
    return c;
}

#define DECODE(...) decoded((const unsigned char[]){__VA_ARGS__}, sizeof((const unsigned char[]){__VA_ARGS__}))

static int32_t depth_at(const struct rf_code *c, uint32_t start)
{
    const struct rf_instruction *i = rf_code_starting(c, start);
    assert_non_null(i);
    return i->depth;
}

static const struct rf_instruction *at(const struct rf_code *c, uint32_t start)
{
    const struct rf_instruction *i = rf_code_starting(c, start);
    assert_non_null(i);
    return i;
}

static void straight_line(void **state)
{
    (void)state;
    /* (f a b): constant 3 is f */
    struct rf_code c = DECODE(OP_LOADCONST, 3, OP_LOADENV, 0, OP_LOADENV, 1, OP_CALLF, 2, OP_RET);
    assert_true(c.sound);
    assert_int_equal(c.n, 5);
    assert_int_equal(c.len, 9);
    assert_int_equal(depth_at(&c, 0), 0);
    assert_int_equal(depth_at(&c, 2), 1);
    assert_int_equal(depth_at(&c, 6), 3);
    assert_int_equal(at(&c, 6)->pops, 3);
    assert_int_equal(at(&c, 6)->end, 8);
    assert_int_equal(depth_at(&c, 8), 1);
    assert_ptr_equal(rf_code_ending(&c, 8), at(&c, 6));
    assert_ptr_equal(rf_code_ending(&c, 9), at(&c, 8));
    assert_null(rf_code_starting(&c, 1));
    assert_null(rf_code_starting(&c, 9));
    assert_null(rf_code_ending(&c, 0));
    assert_null(rf_code_ending(&c, 7));
    rf_code_free(&c);
}

static void operands_are_big_endian(void **state)
{
    (void)state;
    struct rf_code c = DECODE(OP_LOADCONST_W, 0x12, 0x34, OP_POP, OP_LOADENVG, 7, 0x01, 0x02, OP_RET);
    assert_true(c.sound);
    assert_int_equal(at(&c, 0)->arg, 0x1234);
    assert_int_equal(at(&c, 4)->arg, 0x070102);
    rf_code_free(&c);
}

/* The table of effects against what releases §1.6 and internals §3.4 say: pops, pushes, bytes of operand. */
static void effects_of_each_opcode(void **state)
{
    static const struct {
        enum rf_op op;
        int operand, pops, pushes; /* with the operand bytes all 1 */
    } want[] = {
        {OP_LOADCONST, 1, 0, 1},     {OP_LOADENV, 1, 0, 1},       {OP_STOREENV, 1, 1, 0},  {OP_POP, 0, 1, 0},
        {OP_RESOLVE, 1, 0, 1},       {OP_CALL1, 0, 2, 1},         {OP_CALL2, 0, 3, 1},     {OP_CALLN, 1, 2, 1},
        {OP_CALLF, 1, 2, 1},         {OP_CALLS, 1, 1, 1},         {OP_CALLD, 1, 2, 1},     {OP_DUP, 0, 0, 1},
        {OP_LOADCONST_W, 2, 0, 1},   {OP_RESOLVE_W, 2, 0, 1},     {OP_TRAP_END, 0, 0, 0},  {OP_STOREGLOBAL, 1, 1, 1},
        {OP_STOREGLOBAL_W, 2, 1, 1}, {OP_SCOPE_BEGIN, 0, 1, 0},   {OP_SCOPE_END, 0, 1, 0}, {OP_TRYH, 0, 2, 1},
        {OP_FORCE, 0, 1, 1},         {OP_BINDCAPS, 1, 0, 0},      {OP_LOADSELF, 0, 0, 1},  {OP_MKCLOSURE, 0, 3, 1},
        {OP_LOADENVG, 3, 0, 1},      {OP_SCOPE_BEGIN_E, 0, 1, 0}, {OP_CALLG1, 1, 2, 1},    {OP_CALLG2, 1, 2, 1},
        {OP_CALLGN, 1, 2, 1},
    };
    (void)state;
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        unsigned char b[16];
        memset(b, OP_LOADSELF, 4); /* enough to pop */
        b[4] = (unsigned char)want[k].op;
        memset(b + 5, 1, 3);
        size_t n = 5 + (size_t)want[k].operand;
        memset(b + n, OP_POP, 4);
        struct rf_code c = decoded(b, n + 4);
        const struct rf_instruction *i = at(&c, 4);
        if (i->end - i->start - 1 != (unsigned)want[k].operand || rf_op_operands(i->op) != (unsigned)want[k].operand ||
            i->depth != 4 || i->pops != want[k].pops || depth_at(&c, i->end) != 4 - want[k].pops + want[k].pushes)
            fail_msg("%s", rf_op_name(want[k].op));
        rf_code_free(&c);
    }
}

static void both_arms_of_a_branch(void **state)
{
    (void)state;
    /* (if a 1 2) */
    struct rf_code c = DECODE(OP_LOADENV, 0, OP_JMPF, 0, 5, OP_LOADCONST, 0, OP_JMP, 0, 2, OP_LOADCONST, 1, OP_RET);
    assert_true(c.sound);
    assert_int_equal(depth_at(&c, 2), 1);
    assert_int_equal(depth_at(&c, 5), 0);
    assert_int_equal(depth_at(&c, 7), 1);
    assert_int_equal(depth_at(&c, 10), 0);
    assert_int_equal(depth_at(&c, 12), 1);
    rf_code_free(&c);
}

static void a_loop_jumps_back(void **state)
{
    (void)state;
    /* while a: a's value is dropped; the loop's own is a constant */
    struct rf_code c =
        DECODE(OP_LOADENV, 0, OP_JMPF, 0, 6, OP_LOADENV, 1, OP_POP, OP_JMP, 0xff, 0xf5, OP_LOADCONST, 0, OP_RET);
    assert_true(c.sound);
    assert_int_equal(at(&c, 8)->arg, 0xfff5);
    assert_int_equal(depth_at(&c, 5), 0);
    assert_int_equal(depth_at(&c, 8), 0);
    assert_int_equal(depth_at(&c, 11), 0);
    assert_int_equal(depth_at(&c, 13), 1);
    rf_code_free(&c);
    /* the same, but each turn leaves a value behind */
    c = DECODE(OP_LOADENV, 0, OP_JMPF, 0, 5, OP_LOADENV, 1, OP_JMP, 0xff, 0xf6, OP_LOADCONST, 0, OP_RET);
    assert_false(c.sound);
    rf_code_free(&c);
}

static void a_handler_finds_the_error_on_the_stack(void **state)
{
    (void)state;
    /* something is on the stack already; the body is trapped; the handler is the constant 2 */
    struct rf_code c = DECODE(OP_LOADSELF, OP_TRAP, 0, 6, OP_LOADCONST, 0, OP_TRAP_END, OP_JMP, 0, 3, OP_LOADCONST, 2,
                              OP_TRYH, OP_POP, OP_RET);
    assert_true(c.sound);
    assert_int_equal(depth_at(&c, 4), 1);  /* in the body as before the trap */
    assert_int_equal(depth_at(&c, 10), 2); /* in the handler one more */
    assert_int_equal(depth_at(&c, 12), 3);
    assert_int_equal(depth_at(&c, 13), 2); /* joined */
    rf_code_free(&c);
}

static void conflicting_depths_are_not_sound(void **state)
{
    (void)state;
    /* one arm pushes two values, the other one */
    struct rf_code c =
        DECODE(OP_LOADENV, 0, OP_JMPF, 0, 6, OP_LOADCONST, 0, OP_DUP, OP_JMP, 0, 2, OP_LOADCONST, 1, OP_RET);
    assert_false(c.sound);
    rf_code_free(&c);
    c = DECODE(OP_LOADSELF, OP_LOADENV, 0, OP_JMPF, 0xff, 0xfa, OP_RET); /* back to where there was nothing yet */
    assert_false(c.sound);
    rf_code_free(&c);
    c = DECODE(OP_LOADSELF, OP_LOADSELF, OP_RET); /* a value is left behind */
    assert_false(c.sound);
    rf_code_free(&c);
    c = DECODE(OP_POP, OP_LOADSELF, OP_RET); /* pops what is not there */
    assert_false(c.sound);
    rf_code_free(&c);
    c = DECODE(OP_LOADSELF); /* runs off its end */
    assert_false(c.sound);
    rf_code_free(&c);
    c = DECODE(OP_LOADSELF, OP_JMP, 0x7f, 0xff, OP_RET); /* jumps out, forwards */
    assert_false(c.sound);
    rf_code_free(&c);
    c = DECODE(OP_LOADSELF, OP_JMP, 0x80, 0x00, OP_RET); /* and backwards */
    assert_false(c.sound);
    rf_code_free(&c);
    c = DECODE(OP_LOADENV, 0, OP_JMPF, 0xff, 0xfc, OP_LOADSELF, OP_RET); /* into the middle of an instruction */
    assert_false(c.sound);
    rf_code_free(&c);
    assert_true(rf_code_decode(&c, NULL, 0, RELEASE_2_4_0)); /* nothing at all */
    assert_false(c.sound);
    rf_code_free(&c);
}

static void a_truncated_operand_ends_the_code(void **state)
{
    (void)state;
    struct rf_code c = DECODE(OP_LOADSELF, OP_LOADENVG, 1, 2);
    assert_int_equal(c.n, 1);
    assert_false(c.sound);
    rf_code_free(&c);
}

static void an_unknown_opcode_ends_the_code(void **state)
{
    static const unsigned char force[] = {OP_LOADSELF, OP_FORCE, OP_RET};
    struct rf_code c = DECODE(OP_LOADSELF, OP_COUNT, OP_RET);
    (void)state;
    assert_int_equal(c.n, 1);
    assert_false(c.sound);
    rf_code_free(&c);
    /* known to a later release only */
    assert_true(rf_code_decode(&c, force, sizeof force, RELEASE_2_1_0));
    assert_int_equal(c.n, 0);
    assert_false(c.sound);
    rf_code_free(&c);
}

static void too_long_is_not_decoded(void **state)
{
    unsigned char *b = calloc(RF_CODE_MAX + 1, 1);
    struct rf_code c;
    (void)state;
    assert_non_null(b);
    memset(b, OP_TRAP_END, RF_CODE_MAX);
    assert_true(rf_code_decode(&c, b, RF_CODE_MAX + 1, RELEASE_2_4_0));
    assert_int_equal(c.n, 0);
    assert_false(c.sound);
    rf_code_free(&c);
    assert_true(rf_code_decode(&c, b, RF_CODE_MAX, RELEASE_2_4_0));
    assert_int_equal(c.n, RF_CODE_MAX);
    rf_code_free(&c);
    free(b);
}

/* More on the stack than the analysis follows: refused, not overrun. */
static void a_deep_stack(void **state)
{
    unsigned char b[2000];
    (void)state;
    memset(b, OP_LOADSELF, sizeof b);
    struct rf_code c = decoded(b, sizeof b);
    assert_false(c.sound);
    assert_int_equal(depth_at(&c, 200), 200);
    rf_code_free(&c);
    memset(b, OP_LOADSELF, 256); /* a trap at the deepest point: its handler would be one deeper */
    b[256] = OP_TRAP;
    b[257] = b[258] = 0;
    c = decoded(b, sizeof b);
    assert_false(c.sound);
    rf_code_free(&c);
}

static void callees(void **state)
{
    (void)state;
    /* a constant, one index wide, one two */
    struct rf_code c =
        DECODE(OP_LOADCONST, 5, OP_LOADENV, 0, OP_CALL1, OP_POP, OP_LOADCONST_W, 1, 2, OP_LOADENV, 0, OP_CALL1, OP_RET);
    assert_true(c.sound);
    assert_int_equal(at(&c, 4)->callee, 5);
    assert_false(at(&c, 4)->by_name);
    assert_int_equal(at(&c, 11)->callee, 0x102);
    rf_code_free(&c);
    /* a name, resolved here or when no local has a value */
    c = DECODE(OP_RESOLVE, 5, OP_LOADENV, 0, OP_CALLF, 1, OP_POP, OP_LOADENVG, 9, 1, 2, OP_LOADENV, 0, OP_CALLG1, 1,
               OP_RET);
    assert_true(c.sound);
    assert_int_equal(at(&c, 4)->callee, 5);
    assert_true(at(&c, 4)->by_name);
    assert_int_equal(at(&c, 13)->callee, 0x102);
    assert_true(at(&c, 13)->by_name);
    rf_code_free(&c);
    /* a value that was computed or is a local: not known. A special form's operand is no callee. */
    c = DECODE(OP_LOADENV, 5, OP_LOADENV, 0, OP_CALLF, 1, OP_LOADCONST, 1, OP_CALLS, 1, OP_LOADCONST, 2, OP_CALLD, 1,
               OP_CALL1, OP_RET);
    assert_true(c.sound);
    assert_int_equal(at(&c, 4)->callee, -1);
    assert_int_equal(at(&c, 8)->callee, -1);
    assert_int_equal(at(&c, 12)->callee, -1);
    rf_code_free(&c);
    /* DUP: the copy is what the original is, and that stays */
    c = DECODE(OP_LOADCONST, 5, OP_DUP, OP_DUP, OP_CALL1, OP_CALL1, OP_RET);
    assert_true(c.sound);
    assert_int_equal(at(&c, 4)->callee, 5);
    assert_int_equal(at(&c, 5)->callee, 5);
    rf_code_free(&c);
}

/* ((if a f g) x): what is called depends on the way that was taken. Below that, (h (if a 1 2)) is still known. */
static void callee_after_a_join(void **state)
{
    (void)state;
    struct rf_code c = DECODE(OP_LOADENV, 0, OP_JMPF, 0, 5, OP_LOADCONST, 0, OP_JMP, 0, 2, OP_LOADCONST, 1, OP_LOADENV,
                              1, OP_CALL1, OP_RET);
    assert_true(c.sound);
    assert_int_equal(at(&c, 14)->callee, -1);
    rf_code_free(&c);
    c = DECODE(OP_LOADCONST, 7, OP_LOADENV, 0, OP_JMPF, 0, 5, OP_LOADCONST, 0, OP_JMP, 0, 2, OP_LOADCONST, 1, OP_CALL1,
               OP_RET);
    assert_true(c.sound);
    assert_int_equal(at(&c, 14)->callee, 7);
    rf_code_free(&c);
}

static void code_that_no_path_reaches(void **state)
{
    (void)state;
    struct rf_code c = DECODE(OP_LOADSELF, OP_RET, OP_POP, OP_RET);
    assert_true(c.sound);
    assert_int_equal(depth_at(&c, 2), RF_DEPTH_UNKNOWN);
    rf_code_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(straight_line),
        cmocka_unit_test(operands_are_big_endian),
        cmocka_unit_test(effects_of_each_opcode),
        cmocka_unit_test(both_arms_of_a_branch),
        cmocka_unit_test(a_loop_jumps_back),
        cmocka_unit_test(a_handler_finds_the_error_on_the_stack),
        cmocka_unit_test(conflicting_depths_are_not_sound),
        cmocka_unit_test(a_truncated_operand_ends_the_code),
        cmocka_unit_test(an_unknown_opcode_ends_the_code),
        cmocka_unit_test(too_long_is_not_decoded),
        cmocka_unit_test(a_deep_stack),
        cmocka_unit_test(callees),
        cmocka_unit_test(callee_after_a_join),
        cmocka_unit_test(code_that_no_path_reaches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
