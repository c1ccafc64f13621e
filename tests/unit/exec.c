/* exec.c: execution blocks, and the functions that are in progress on one frame of the bytecode interpreter. */
#include "fake_memory.h"

#include "rayfall/interpreter.h"
#include "rayfall/stack.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define INTERPRETER UINT64_C(0x400000)
#define HANDLERS (INTERPRETER + 0x100)
#define STACK UINT64_C(0x7ffc00000000)

enum { STACK_BYTES = RF_PAGE, EMITTED_MAX = 2048 };

struct fixture {
    struct fake *f;
    struct rf_names *names;
    struct rf_sources *sources;
    struct rf_lambdas *lambdas;
    struct rf_snapshot *s;
    unsigned char stack[STACK_BYTES];
    struct rf_native frame[3]; /* innermost first: a C function, the interpreter, its caller */
    struct rf_native_stack native;
    struct rf_interpreter in;
    const struct rf_lambda *fn[EMITTED_MAX];
    uint32_t line[EMITTED_MAX];
    size_t n;
    uint64_t outer, inner; /* two functions */
};

/* (self (g x)) on lines 11 and 12, so that both kinds of call and a builtin's are there; line 10 is its first form. */
static const unsigned char code[] = {OP_LOADCONST, 0, OP_LOADENV, 0, OP_CALL1, OP_LOADENV, 0,
                                     OP_CALLS,     1, OP_CALLF,   1, OP_RET};
enum { BEHIND_CALL1 = 5, BEHIND_CALLS = 9, BEHIND_CALLF = 11 };

static uint64_t make_function(struct fake *f, const char *name, unsigned line)
{
    static const uint64_t body[] = {0x1000};
    uint64_t keys[] = {0x1000}, spans[] = {fake_span(line - 1, 0, line + 9, 0)};
    uint64_t dbg[] = {0, fake_span(line, 0, line, 1),         4, fake_span(line, 4, line, 9),
                      5, fake_span(line + 1, 0, line + 1, 1), 9, fake_span(line + 2, 0, line + 2, 1)};
    uint64_t consts[] = {fake_longs(f, NULL, 0)};
    struct fake_function fn = {.code = code,
                               .code_len = sizeof code,
                               .consts = consts,
                               .n_consts = 1,
                               .body = body,
                               .n_body = 1,
                               .dbg = dbg,
                               .n_dbg = 8,
                               .n_locals = 2,
                               .nfo = fake_nfo(f, "f.rfl", "text", keys, spans, 1)};
    uint64_t at = fake_lambda(f, &fn);
    fake_global(f, name, at, true);
    return at;
}

static int open_fixture(void **state)
{
    struct fixture *x = calloc(1, sizeof *x);
    *state = x;
    if (!x)
        return -1;
    x->f = fake_new();
    x->s = calloc(1, sizeof *x->s);
    x->sources = rf_sources_new();
    if (!x->f || !x->s || !x->sources)
        return -1;
    x->names = rf_names_new(&x->f->rt);
    x->lambdas = x->names ? rf_lambdas_new(&x->f->rt, &x->f->memory, x->names, x->sources) : NULL;
    if (!x->lambdas)
        return -1;
    x->f->rt.interpreter = INTERPRETER;
    x->f->rt.interpreter_size = 0x1000;
    x->outer = make_function(x->f, "outer", 100);
    x->inner = make_function(x->f, "inner", 10);
    rf_names_refresh(x->names, &x->f->memory, 1);
    /* The whole arena is one copied block. */
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
        .pc = HANDLERS + 0x10, .sp = STACK + 0x40, .fn = {.name = "vm_exec_rows", .addr = INTERPRETER}};
    x->frame[2] = (struct rf_native){.pc = 0x600000, .sp = STACK + 0x200, .fn = {.name = "ray_eval", .addr = 0x5ffff0}};
    x->native = (struct rf_native_stack){x->frame, 3, RF_UNWIND_ROOT};
    x->in = (struct rf_interpreter){.rt = &x->f->rt,
                                    .lambdas = x->lambdas,
                                    .names = x->names,
                                    .m = &x->f->memory,
                                    .s = x->s,
                                    .epoch = 1,
                                    .handlers = HANDLERS};
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *x = *state;
    rf_lambdas_free(x->lambdas);
    rf_names_free(x->names);
    rf_sources_free(x->sources);
    free(x->s);
    free(x->f);
    free(x);
    return 0;
}

static void set_reg(struct fixture *x, unsigned r, uint64_t v)
{
    x->frame[1].reg[r] = v;
    x->frame[1].known |= 1u << r;
}

static void collect(void *ctx, const struct rf_activation *a)
{
    struct fixture *x = ctx;
    assert_true(x->n < EMITTED_MAX);
    x->fn[x->n] = a->fn;
    x->line[x->n++] = a->line;
}

static enum rf_ip_found walk(struct fixture *x)
{
    x->n = 0;
    return rf_interpreter_frame(&x->in, &x->native, 1, collect, x);
}

static void assert_frame(const struct fixture *x, size_t i, const char *name, uint32_t line)
{
    assert_true(i < x->n);
    assert_string_equal(x->fn[i]->name.s, name);
    assert_int_equal(x->line[i], line);
}

/* --- blocks ------------------------------------------------------------------------------------ */

static void a_block_is_read(void **state)
{
    struct fixture *x = *state;
    struct rf_exec e;
    uint64_t at = fake_exec(x->f, x->inner, 7, 4, 3);
    assert_true(rf_exec_read(&x->f->memory, &x->f->rt.layout, at, &e));
    assert_int_equal(e.addr, at);
    assert_int_equal(e.sp, 7);
    assert_int_equal(e.fp, 4);
    assert_int_equal(e.rp, 3);
    assert_int_equal(e.fn, x->inner);
}

static void words_that_are_no_block(void **state)
{
    const struct rf_layout *l = &((struct fixture *)*state)->f->rt.layout;
    assert_true(rf_exec_word(l, FAKE_BASE + 0x8020));
    assert_false(rf_exec_word(l, FAKE_BASE + 0x8000));
    assert_false(rf_exec_word(l, FAKE_BASE + 0x8040));
    assert_false(rf_exec_word(l, FAKE_BASE + 0x4020));
    assert_false(rf_exec_word(l, 0x20));
    assert_false(rf_exec_word(l, 0));
    assert_false(rf_exec_word(l, UINT64_C(0xffffffffffff8020)));
    assert_false(rf_exec_word(l, (UINT64_C(1) << 47) + 0x20));
}

static void each_field_out_of_range(void **state)
{
    struct fixture *x = *state;
    struct fake *f = x->f;
    const struct rf_layout *l = &f->rt.layout;
    const struct {
        int32_t offset, value;
    } bad[] = {
        {l->exec_sp, 1025},      {l->exec_sp, -1},        {l->exec_sp, 3},  {l->exec_fp, -1},
        {l->exec_fp, 8},         {l->exec_fp, INT32_MIN}, {l->exec_rp, -1}, {l->exec_rp, 1025},
        {l->exec_rp, INT32_MIN}, {l->exec_tp, -1},        {l->exec_tp, 17},
    };
    struct rf_exec e;
    uint64_t at = fake_exec(f, x->inner, 7, 4, 3);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int32_t old;
        uint64_t place = at + (uint64_t)bad[i].offset;
        memcpy(&old, fake_at(f, place, 4), 4);
        fake_i32(f, place, bad[i].value);
        if (rf_exec_read(&f->memory, l, at, &e))
            fail_msg("offset %d, value %d", bad[i].offset, bad[i].value);
        fake_i32(f, place, old);
    }
    static const uint64_t no_object[] = {0, 32, FAKE_BASE + 16, UINT64_C(0xffff800000000000)};
    for (size_t i = 0; i < sizeof no_object / sizeof *no_object; i++) {
        fake_u64(f, at + (uint64_t)l->exec_fn, no_object[i]);
        assert_false(rf_exec_read(&f->memory, l, at, &e));
    }
    fake_u64(f, at + (uint64_t)l->exec_fn, x->inner);
    static const struct {
        int32_t sp, fp, rp, tp;
    } fine[] = {{0, 0, 0, 0}, {1024, 1024, 1024, 16}};
    for (size_t i = 0; i < 2; i++) {
        fake_i32(f, at + (uint64_t)l->exec_sp, fine[i].sp);
        fake_i32(f, at + (uint64_t)l->exec_fp, fine[i].fp);
        fake_i32(f, at + (uint64_t)l->exec_rp, fine[i].rp);
        fake_i32(f, at + (uint64_t)l->exec_tp, fine[i].tp);
        assert_true(rf_exec_read(&f->memory, l, at, &e));
    }
    fake_u8(f, at - RAY_HEADER + RAY_ORDER, 14);
    assert_false(rf_exec_read(&f->memory, l, at, &e));
    assert_false(rf_exec_read(&f->memory, l, FAKE_BASE + 2 * FAKE_SIZE + RAY_HEADER, &e)); /* unreadable */
}

static void entries_of_the_return_stack(void **state)
{
    struct fixture *x = *state;
    struct rf_exec e;
    struct rf_return r[4];
    const struct rf_memory *m = &x->f->memory;
    const struct rf_layout *l = &x->f->rt.layout;
    uint64_t at = fake_exec(x->f, x->inner, 7, 4, 3);
    fake_return(x->f, at, 1, x->outer, 3, 9);
    fake_return(x->f, at, 2, 0, 1, 5);
    assert_true(rf_exec_read(m, l, at, &e));
    assert_true(rf_exec_returns(m, l, &e, 1, 2, r));
    assert_int_equal(r[0].fn, x->outer);
    assert_int_equal(r[0].fp, 3);
    assert_int_equal(r[0].ip, 9);
    assert_int_equal(r[1].fn, 0);
    assert_int_equal(r[1].ip, 5);
    assert_true(rf_exec_returns(m, l, &e, 0, 3, r));
    assert_true(rf_exec_returns(m, l, &e, 3, 0, r));
    /* only what is in use */
    assert_false(rf_exec_returns(m, l, &e, 0, 4, r));
    assert_false(rf_exec_returns(m, l, &e, 3, 1, r));
    assert_false(rf_exec_returns(m, l, &e, -1, 1, r));
    assert_false(rf_exec_returns(m, l, &e, 0, -1, r));
}

/* --- frames --------------------------------------------------------------------------------------- */

/* At the builtin's call: two locals, and nothing below what the handler has popped. */
static uint64_t at_call1(struct fixture *x, int32_t rp)
{
    uint64_t g, consts, at = fake_exec(x->f, x->inner, 2, 0, rp);
    memcpy(&consts, fake_at(x->f, fake_slot(x->inner, LAMBDA_CONSTS), 8), 8);
    memcpy(&g, fake_at(x->f, consts + RAY_DATA, 8), 8);
    fake_u64(x->f, at + (uint64_t)x->f->rt.layout.exec_ps + 8 * 2, g);
    set_reg(x, RF_R15, at);
    set_reg(x, RF_R13, BEHIND_CALL1);
    return at;
}

static void the_function_that_runs(void **state)
{
    struct fixture *x = *state;
    at_call1(x, 0);
    assert_int_equal(walk(x), RF_IP_UNIQUE);
    assert_int_equal(x->n, 1);
    assert_frame(x, 0, "inner", 11);
    /* the block may be on the frame instead, and the number too */
    x->in.n_used = 0;
    uint64_t block = x->frame[1].reg[RF_R15];
    uint32_t ip = BEHIND_CALL1;
    x->frame[1].known = 0;
    memcpy(x->stack + 0x40 + 0x58, &block, 8);
    memcpy(x->stack + 0x40 + 0x10, &ip, 4);
    assert_int_equal(walk(x), RF_IP_UNIQUE);
    assert_frame(x, 0, "inner", 11);
    /* above the frame's end it belongs to another */
    x->in.n_used = 0;
    set_reg(x, RF_RBX, x->outer); /* a value that the program handles: it counts in entry code only */
    x->frame[2].sp = STACK + 0x40 + 0x50;
    assert_int_equal(walk(x), RF_IP_NONE);
    assert_int_equal(x->n, 0);
}

static void one_block_one_frame(void **state)
{
    struct fixture *x = *state;
    at_call1(x, 0);
    assert_int_equal(walk(x), RF_IP_UNIQUE);
    assert_int_equal(walk(x), RF_IP_NONE); /* as if a younger frame still had it in a register */
}

static void the_callers_are_on_the_return_stack(void **state)
{
    struct fixture *x = *state;
    uint64_t at = at_call1(x, 4);
    /* outer called itself, then inner, which called itself twice. Without a function: a call to itself. */
    fake_return(x->f, at, 0, 0, 0, BEHIND_CALLS);
    fake_return(x->f, at, 1, x->outer, 0, BEHIND_CALLF);
    fake_return(x->f, at, 2, 0, 1, BEHIND_CALLS);
    fake_return(x->f, at, 3, 0, 2, BEHIND_CALLS);
    assert_int_equal(walk(x), RF_IP_UNIQUE);
    assert_int_equal(x->n, 5);
    assert_frame(x, 0, "outer", 102);
    assert_frame(x, 1, "outer", 103);
    assert_frame(x, 2, "inner", 12);
    assert_frame(x, 3, "inner", 12);
    assert_frame(x, 4, "inner", 11);
}

static void a_return_that_is_not_behind_a_call(void **state)
{
    struct fixture *x = *state;
    static const struct {
        int32_t fp, ip;
    } bad[] = {{0, 4},
               {0, 0},
               {0, -9},
               {0, 5000},
               {0, BEHIND_CALL1},
               {0, BEHIND_CALLS - 1},
               {-1, BEHIND_CALLS},
               {3, BEHIND_CALLS},
               {0, INT32_MIN}};
    uint64_t at = at_call1(x, 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fake_return(x->f, at, 0, x->outer, bad[i].fp, bad[i].ip);
        x->in.n_used = 0;
        assert_int_equal(walk(x), RF_IP_UNIQUE);
        assert_int_equal(x->n, 2);
        assert_frame(x, 0, "outer", 0);
    }
    /* a caller that is no function has a frame without one, the rest stays */
    fake_return(x->f, at, 0, at, 0, BEHIND_CALLS);
    x->in.n_used = 0;
    assert_int_equal(walk(x), RF_IP_UNIQUE);
    assert_int_equal(x->n, 2);
    assert_null(x->fn[0]);
    assert_frame(x, 1, "inner", 11);
}

/* Where the return stack was not copied, what is there later tells nothing of a call that may be under way. */
static void a_return_stack_that_was_not_copied(void **state)
{
    struct fixture *x = *state;
    uint64_t at = at_call1(x, 1), rs = at + (uint64_t)x->f->rt.layout.exec_rs;
    x->native = (struct rf_native_stack){x->frame + 1, 2, RF_UNWIND_ROOT}; /* nothing runs below it */
    fake_i32(x->f, at + (uint64_t)x->f->rt.layout.exec_sp, 3);
    set_reg(x, RF_R13, BEHIND_CALLS);
    fake_return(x->f, at, 0, 0, 0, BEHIND_CALLS);
    assert_int_equal(rf_interpreter_frame(&x->in, &x->native, 0, collect, x), RF_IP_OPEN);
    x->s->block[0].size = (uint32_t)(rs - FAKE_BASE);
    x->in.n_used = x->n = 0;
    assert_int_equal(rf_interpreter_frame(&x->in, &x->native, 0, collect, x), RF_IP_UNIQUE);
    assert_frame(x, 1, "inner", 12);
}

static void a_return_stack_that_is_full(void **state)
{
    struct fixture *x = *state;
    uint64_t at = at_call1(x, 1024);
    for (unsigned i = 0; i < 1024; i++)
        fake_return(x->f, at, i, i == 0 ? x->outer : 0, 0, BEHIND_CALLS);
    assert_int_equal(walk(x), RF_IP_UNIQUE);
    assert_int_equal(x->n, 1025);
    assert_frame(x, 0, "outer", 102);
    assert_frame(x, 1, "inner", 12);
    assert_frame(x, 1024, "inner", 11);
}

static void several_candidates(void **state)
{
    struct fixture *x = *state;
    at_call1(x, 0);
    /* The function object is not copied, so CALLF, at the same depth with what is below it, is as good; on another
     * line. */
    x->s->n_blocks = 0;
    set_reg(x, RF_RBX, BEHIND_CALLF);
    assert_int_equal(walk(x), RF_IP_OPEN);
    assert_int_equal(x->n, 1);
    assert_frame(x, 0, "inner", 0);
    x->s->n_blocks = 1;
    x->in.n_used = 0;
    assert_int_equal(walk(x), RF_IP_OPEN); /* CALLF's callee is computed: it could be any object */
    /* both on one line */
    uint64_t dbg;
    memcpy(&dbg, fake_at(x->f, fake_slot(x->inner, LAMBDA_DBG), 8), 8);
    fake_u64(x->f, dbg + RAY_DATA + 7 * 8, fake_span(10, 2, 10, 3));
    fake_u64(x->f, fake_slot(x->inner, LAMBDA_PARAMS), 1); /* a new identity: decode it again */
    x->in.n_used = 0;
    x->in.epoch++;
    assert_int_equal(walk(x), RF_IP_SAME_LINE);
    assert_frame(x, 0, "inner", 11);
}

static void entry_code(void **state)
{
    struct fixture *x = *state;
    /* the block is there already, its instruction not yet */
    at_call1(x, 0);
    x->frame[1].pc = HANDLERS - 1;
    assert_int_equal(walk(x), RF_IP_PROLOGUE);
    assert_int_equal(x->n, 1);
    assert_frame(x, 0, "inner", 10);
    /* only the argument is */
    x->in.n_used = 0;
    set_reg(x, RF_R15, 0);
    set_reg(x, RF_RBX, x->outer);
    assert_int_equal(walk(x), RF_IP_PROLOGUE);
    assert_frame(x, 0, "outer", 100);
    /* at the very beginning, in the register it was passed in */
    x->frame[1].known = 0;
    x->frame[1].reg[RF_RDI] = x->outer;
    x->frame[1].pc = INTERPRETER + 4;
    x->native = (struct rf_native_stack){x->frame + 1, 2, RF_UNWIND_ROOT};
    x->n = 0;
    assert_int_equal(rf_interpreter_frame(&x->in, &x->native, 0, collect, x), RF_IP_PROLOGUE);
    assert_frame(x, 0, "outer", 100);
    x->frame[1].reg[RF_RDI] = 0;
    x->n = 0;
    assert_int_equal(rf_interpreter_frame(&x->in, &x->native, 0, collect, x), RF_IP_NONE);
    assert_int_equal(x->n, 0);
}

/* Stack indexes at their limits: what lies behind the operand stack is not taken for the callee. */
static void a_full_operand_stack(void **state)
{
    struct fixture *x = *state;
    uint64_t at = fake_exec(x->f, x->inner, 1024, 1022, 0);
    set_reg(x, RF_R15, at);
    set_reg(x, RF_R13, BEHIND_CALL1);
    fake_u64(x->f, at + (uint64_t)x->f->rt.layout.exec_ps + 8 * 1024, 4711);
    set_reg(x, RF_RBX, 2); /* of LOADCONST, which is considered when no call fits */
    assert_int_equal(walk(x), RF_IP_UNIQUE);
    assert_frame(x, 0, "inner", 11);
}

/* The text of a line whose number does not fit into the 16 bits that a span has for it. */
static void the_text_of_a_line_beyond_16_bits(void **state)
{
    enum { LINE = 70000 };
    static const uint64_t body[] = {0x2000};
    static char text[LINE + 16];
    static struct rf_stack out;
    struct fixture *x = *state;
    uint64_t key = 0x2000, span = fake_span(LINE & 0xffff, 0, LINE & 0xffff, 4), dbg[] = {0, span};
    uint64_t consts[] = {fake_longs(x->f, NULL, 0)};
    struct rf_decode_stats stats = {0};
    struct rf_expressions none = {.wanted = false};
    memset(text, '\n', LINE);
    strcpy(text + LINE, "(g x)\n");
    x->inner = fake_lambda(x->f, &(struct fake_function){.code = code,
                                                         .code_len = sizeof code,
                                                         .consts = consts,
                                                         .n_consts = 1,
                                                         .body = body,
                                                         .n_body = 1,
                                                         .dbg = dbg,
                                                         .n_dbg = 2,
                                                         .n_locals = 2,
                                                         .nfo = fake_nfo(x->f, "long.rfl", text, &key, &span, 1)});
    at_call1(x, 0);
    struct rf_walk w = {.rt = &x->f->rt,
                        .m = &x->f->memory,
                        .sources = x->sources,
                        .interpreter = x->in,
                        .stats = &stats,
                        .expressions = &none,
                        .want_source = true,
                        .out = &out};
    rf_walk(&w, x->s, &x->native);
    const struct rf_frame *f = rf_stack_first(&out);
    assert_non_null(f);
    assert_int_equal(f->line, LINE + 1);
    assert_int_equal(f->source.n, 5);
    assert_memory_equal(f->source.s, "(g x)", 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_block_is_read, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(words_that_are_no_block, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(each_field_out_of_range, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(entries_of_the_return_stack, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(the_function_that_runs, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(one_block_one_frame, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(the_callers_are_on_the_return_stack, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(a_return_that_is_not_behind_a_call, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(a_return_stack_that_was_not_copied, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(a_return_stack_that_is_full, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(several_candidates, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(entry_code, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(a_full_operand_stack, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(the_text_of_a_line_beyond_16_bits, open_fixture, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
