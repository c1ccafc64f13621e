/* calibrate.c: what running frames say for and against a derived layout. The process is made up and has release 2.4.0's
 * shapes; a test asks for other ones first and sees what is believed in the end. */
#include "fake_memory.h"

#include "calibrate.h"
#include "rayfall/code.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define INTERPRETER UINT64_C(0x400000)
#define STACK UINT64_C(0x7ffc00000000)

enum { ENOUGH = 20, STACK_BYTES = RF_PAGE, TRUE_PS = 32, TRUE_RS = 9248, WRONG_PS = 160, WRONG_RS = 9376 };

struct fixture {
    struct fake *f;
    struct rf_snapshot *s;
    unsigned char stack[STACK_BYTES];
    struct rf_native frame[3]; /* innermost first: a C function, the interpreter, its caller */
    struct rf_native_stack native;
    struct rf_image *image; /* this program's own: what errors name */
    struct rf_calibration *c;
    struct rf_error err;
    uint64_t exec;
};

/* (self 1): a call, and what it leaves is returned. */
static const unsigned char code[] = {OP_LOADCONST, 0, OP_CALLS, 1, OP_RET};
enum { BEHIND_CALL = 4 };

static uint64_t make_function(struct fake *f, const unsigned char *bytes, size_t n, const char *text)
{
    static const uint64_t body[] = {0x1000};
    uint64_t keys[] = {0x1000}, spans[] = {fake_span(0, 0, 0, 8)}, dbg[] = {0, fake_span(0, 0, 0, 8)};
    uint64_t consts[] = {fake_longs(f, NULL, 0)};
    struct fake_function fn = {.code = bytes,
                               .code_len = n,
                               .consts = consts,
                               .n_consts = 1,
                               .body = body,
                               .n_body = 1,
                               .dbg = dbg,
                               .n_dbg = 2,
                               .nfo = fake_nfo(f, "f.rfl", text, keys, spans, 1)};
    return fake_lambda(f, &fn);
}

static int open_fixture(void **state)
{
    struct fixture *x = calloc(1, sizeof *x);
    *state = x;
    if (!x)
        return -1;
    x->f = fake_new();
    x->s = calloc(1, sizeof *x->s);
    if (!x->f || !x->s || rf_image_open_file(&x->image, "/proc/self/exe", &x->err) != RF_OK)
        return -1;
    struct rf_runtime *rt = &x->f->rt;
    rt->layout.origin = RF_ORIGIN_DERIVED;
    rt->stacks[0] = (struct rf_stacks){TRUE_PS, TRUE_RS};
    rt->n_stacks = 1;
    rt->image = x->image;
    rt->interpreter = INTERPRETER;
    rt->interpreter_size = 0x1000;
    x->s->memory.read = rf_snapshot_read;
    x->s->stack_addr = STACK;
    x->s->stack_size = sizeof x->stack;
    x->s->stack = x->stack;
    x->s->block[0] = (struct rf_block){FAKE_BASE, FAKE_SIZE, 0};
    x->s->n_blocks = 1;
    x->s->bytes = x->f->bytes;
    x->s->n_bytes = FAKE_SIZE;
    x->frame[0] = (struct rf_native){.pc = 0x500010, .sp = STACK, .fn = {.name = "ray_sum_fn", .addr = 0x500000}};
    x->frame[1] = (struct rf_native){
        .pc = INTERPRETER + 0x110, .sp = STACK + 0x40, .fn = {.name = "vm_exec_rows", .addr = INTERPRETER}};
    x->frame[2] = (struct rf_native){.pc = 0x600000, .sp = STACK + 0x200, .fn = {.name = "ray_eval", .addr = 0x5ffff0}};
    x->native = (struct rf_native_stack){x->frame, 3, RF_UNWIND_ROOT};
    x->c = rf_calibration_new(rt, &x->f->memory);
    return x->c ? 0 : -1;
}

static int close_fixture(void **state)
{
    struct fixture *x = *state;
    rf_calibration_free(x->c);
    rf_image_close_file(x->image);
    free(x->s);
    free(x->f);
    free(x);
    return 0;
}

/* The interpreter's frame runs a block of this function, which has called itself so many times. */
static void run(struct fixture *x, uint64_t fn, int32_t calls)
{
    x->exec = fake_exec(x->f, fn, 1, 0, calls);
    for (int32_t i = 0; i < calls; i++)
        fake_return(x->f, x->exec, (unsigned)i, 0, 0, BEHIND_CALL);
    x->frame[1].reg[RF_R15] = x->exec;
    x->frame[1].known = 1u << RF_R15;
}

static enum rf_verdict observe(struct fixture *x, unsigned times)
{
    enum rf_verdict v = RF_WAITING;
    while (times-- && v == RF_WAITING)
        v = rf_calibration_observe(x->c, x->s, &x->native, &x->err);
    return v;
}

static void it_takes_some_to_believe(void **state)
{
    struct fixture *x = *state;
    run(x, make_function(x->f, code, sizeof code, "(self 1)"), 2);
    assert_int_equal(observe(x, ENOUGH - 1), RF_WAITING);
    assert_int_equal(x->f->rt.agreed, 0);
    assert_int_equal(observe(x, 1), RF_BELIEVED);
    assert_int_equal(x->f->rt.off, 0);
    /* 20 blocks, 20 return stacks, one function's bytecode, one call's text */
    assert_int_equal(x->f->rt.agreed, 2 * ENOUGH + 2);
}

static void nothing_is_said_while_nothing_runs(void **state)
{
    struct fixture *x = *state;
    x->frame[1].fn.addr = 0x700000; /* no interpreter on the stack */
    assert_int_equal(observe(x, 100), RF_WAITING);
    assert_false(rf_runs_bytecode(&x->f->rt, &x->native));
}

static void frames_without_a_block_refute(void **state)
{
    struct fixture *x = *state;
    assert_true(rf_runs_bytecode(&x->f->rt, &x->native));
    assert_int_equal(observe(x, ENOUGH), RF_REFUTED);
    assert_int_equal(x->err.status, RF_TARGET);
    assert_non_null(strstr(x->err.what, "20 of 20"));
}

static void frames_with_two_blocks_refute(void **state)
{
    struct fixture *x = *state;
    uint64_t fn = make_function(x->f, code, sizeof code, "(self 1)");
    run(x, fn, 2);
    x->frame[1].reg[RF_RBX] = fake_exec(x->f, fn, 1, 0, 0);
    x->frame[1].known |= 1u << RF_RBX;
    assert_int_equal(observe(x, ENOUGH), RF_REFUTED);
}

/* The size of the block allowed two shapes; its return stack is sound in one of them. */
static void return_stacks_decide(void **state)
{
    struct fixture *x = *state;
    struct rf_runtime *rt = &x->f->rt;
    run(x, make_function(x->f, code, sizeof code, "(self 1)"), 2);
    rt->stacks[0] = (struct rf_stacks){WRONG_PS, WRONG_RS};
    rt->stacks[1] = (struct rf_stacks){TRUE_PS, TRUE_RS};
    rt->n_stacks = 2;
    rt->layout.exec_ps = WRONG_PS;
    rt->layout.exec_rs = WRONG_RS;
    assert_int_equal(observe(x, ENOUGH), RF_BELIEVED);
    assert_int_equal(rt->layout.exec_ps, TRUE_PS);
    assert_int_equal(rt->layout.exec_rs, TRUE_RS);
    assert_int_equal(rt->layout.exec_tp, TRUE_PS - 8);
    assert_int_equal(rt->off, 0);
}

/* Without calls the running builtin decides: it is still above the top of the operand stack. */
static void running_builtins_decide(void **state)
{
    struct fixture *x = *state;
    struct rf_runtime *rt = &x->f->rt;
    run(x, make_function(x->f, code, sizeof code, "(self 1)"), 0);
    fake_u64(x->f, x->exec + TRUE_PS + 8, fake_builtin(x->f, RAY_UNARY, "sum", 0x500000));
    rt->stacks[0] = (struct rf_stacks){WRONG_PS, WRONG_RS};
    rt->stacks[1] = (struct rf_stacks){TRUE_PS, TRUE_RS};
    rt->n_stacks = 2;
    assert_int_equal(observe(x, ENOUGH), RF_BELIEVED);
    assert_int_equal(rt->layout.exec_ps, TRUE_PS);
}

/* When nothing decides for long, what depends on it is off. */
static void what_stays_open_is_off(void **state)
{
    struct fixture *x = *state;
    char text[200];
    run(x, make_function(x->f, code, sizeof code, "(self 1)"), 0);
    assert_int_equal(observe(x, 10 * ENOUGH - 1), RF_WAITING);
    assert_int_equal(observe(x, 1), RF_BELIEVED);
    assert_int_equal(x->f->rt.off, RF_OFF_CALLERS | RF_OFF_LINES);
    rf_calibration_describe(&x->f->rt, text, sizeof text);
    assert_non_null(strstr(text, "calibrated, 20"));
    assert_non_null(strstr(text, "not established: lines of compiled code, callers"));
}

/* Opcodes that mean something else: paths do not end with one value. */
static void bytecode_that_makes_no_sense(void **state)
{
    static const unsigned char odd[3][4] = {
        {OP_LOADCONST, 0, OP_POP, OP_RET}, {OP_POP, OP_LOADCONST, 0, OP_RET}, {OP_DUP, OP_POP, OP_POP, OP_RET}};
    struct fixture *x = *state;
    for (unsigned i = 0; i < 3; i++) {
        run(x, make_function(x->f, odd[i], sizeof odd[i], "(self 1)"), 0);
        assert_int_equal(observe(x, 4), RF_WAITING);
    }
    run(x, make_function(x->f, code, sizeof code, "(self 1)"), 2);
    assert_int_equal(observe(x, ENOUGH), RF_BELIEVED);
    assert_int_equal(x->f->rt.off, RF_OFF_LINES);
}

static void calls_that_come_from_no_form(void **state)
{
    struct fixture *x = *state;
    for (unsigned i = 0; i < 3; i++) {
        run(x, make_function(x->f, code, sizeof code, "text that begins in another way"), 2);
        observe(x, 4);
    }
    assert_int_equal(observe(x, ENOUGH), RF_BELIEVED);
    assert_int_equal(x->f->rt.off, RF_OFF_LINES);
}

/* A newer release may have opcodes that are not known: that is no evidence against the others. */
static void new_opcodes_are_no_contradiction(void **state)
{
    static const unsigned char newer[] = {OP_LOADCONST, 0, OP_COUNT, OP_RET};
    struct fixture *x = *state;
    x->f->rt.opcodes = OP_COUNT + 1;
    for (unsigned i = 0; i < 4; i++) {
        run(x, make_function(x->f, newer, sizeof newer, "(self 1)"), 0);
        observe(x, 1);
    }
    run(x, make_function(x->f, code, sizeof code, "(self 1)"), 2);
    assert_int_equal(observe(x, ENOUGH), RF_BELIEVED);
    assert_int_equal(x->f->rt.off, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(it_takes_some_to_believe),      TEST(nothing_is_said_while_nothing_runs),
        TEST(frames_without_a_block_refute), TEST(frames_with_two_blocks_refute),
        TEST(return_stacks_decide),          TEST(running_builtins_decide),
        TEST(what_stays_open_is_off),        TEST(bytecode_that_makes_no_sense),
        TEST(calls_that_come_from_no_form),  TEST(new_opcodes_are_no_contradiction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
