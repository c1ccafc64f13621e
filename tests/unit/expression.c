/* expression.c: what location expressions say about a frame: as compilers write them, and what is not done. */
#include "variables/expression.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <dwarf.h>

#define STACK ((uint64_t)0x7f0000001000)
#define BIAS ((uint64_t)0x550000000000)

/* One word of memory, and registers: rbx, rbp, rsp and r12 are known. */
struct fake_memory {
    struct rf_memory memory;
    uint64_t at, word;
};

static bool read_word(const struct rf_memory *m, uint64_t addr, void *to, size_t n)
{
    const struct fake_memory *f = (const struct fake_memory *)m;
    if (addr != f->at || n > sizeof f->word)
        return false;
    memcpy(to, &f->word, n);
    return true;
}

static const struct fake_memory memory = {{.read = read_word}, STACK + 8, 0x1122334455667788};
static const struct rf_native caller = {.sp = STACK + 0x100};
static const struct rf_native frame = {.sp = STACK,
                                       .known = 1 << RF_RBX | 1 << RF_RBP | 1 << RF_RSP | 1 << RF_R12,
                                       .reg = {[RF_RBX] = 40, [RF_RBP] = STACK + 0xf0, [RF_RSP] = STACK, [RF_R12] = 7}};
static const Dwarf_Op cfa[] = {{.atom = DW_OP_call_frame_cfa}};
static const Dwarf_Op rbp[] = {{.atom = DW_OP_reg6}};
static struct rf_expression base = {.op = cfa, .n = 1};
static struct rf_expression_frame view = {
    .frame = &frame, .caller = &caller, .memory = &memory.memory, .base = &base, .bias = BIAS};

static bool evaluate(const Dwarf_Op *op, size_t n, struct rf_location *out)
{
    struct rf_expression x = {.op = op, .n = n};
    return rf_expression_evaluate(&x, &view, out);
}

static void is_value(const Dwarf_Op *op, size_t n, uint64_t expected)
{
    struct rf_location at;
    assert_true(evaluate(op, n, &at));
    assert_false(at.in_memory);
    assert_int_equal(at.value, expected);
}

static void is_at(const Dwarf_Op *op, size_t n, uint64_t expected)
{
    struct rf_location at;
    assert_true(evaluate(op, n, &at));
    assert_true(at.in_memory);
    assert_int_equal(at.value, expected);
}

static void is_none(const Dwarf_Op *op, size_t n)
{
    struct rf_location at;
    assert_false(evaluate(op, n, &at));
}

#define OPS(...) (const Dwarf_Op[]){__VA_ARGS__}, sizeof((Dwarf_Op[]){__VA_ARGS__}) / sizeof(Dwarf_Op)
#define OP(...)                                                                                                        \
    {                                                                                                                  \
        .atom = __VA_ARGS__                                                                                            \
    }

static void registers_hold_values(void **state)
{
    (void)state;
    is_value(OPS(OP(DW_OP_reg3)), 40);
    is_value(OPS(OP(DW_OP_regx, .number = RF_R12)), 7);
    is_none(OPS(OP(DW_OP_reg0))); /* a callee may have changed rax */
    is_none(OPS(OP(DW_OP_regx, .number = 60)));
    is_none(OPS(OP(DW_OP_reg3), OP(DW_OP_piece, .number = 4)));
}

static void memory_is_counted_from_the_frame_base(void **state)
{
    (void)state;
    is_at(OPS(OP(DW_OP_fbreg, .number = (Dwarf_Word)-24)), STACK + 0x100 - 24);
    base.op = rbp;
    is_at(OPS(OP(DW_OP_fbreg, .number = (Dwarf_Word)-24)), STACK + 0xf0 - 24);
    struct rf_native outside = frame; /* before rbp is set up, and when it is the caller's again */
    outside.reg[RF_RBP] = STACK + 0x130;
    view.frame = &outside;
    is_none(OPS(OP(DW_OP_fbreg, .number = (Dwarf_Word)-24)));
    view.frame = &frame;
    base.op = cfa;
    view.caller = NULL; /* the outermost frame: its CFA is not known */
    is_none(OPS(OP(DW_OP_fbreg, .number = 0)));
    view.caller = &caller;
    view.base = NULL;
    is_none(OPS(OP(DW_OP_fbreg, .number = 0)));
    view.base = &base;
    is_at(OPS(OP(DW_OP_breg7, .number = 8)), STACK + 8);
    is_at(OPS(OP(DW_OP_addr, .number = 0x4000)), BIAS + 0x4000);
}

static void values_that_are_nowhere_are_computed(void **state)
{
    (void)state;
    is_value(OPS(OP(DW_OP_breg3, .number = 2), OP(DW_OP_stack_value)), 42);
    is_value(OPS(OP(DW_OP_breg12, .number = 0), OP(DW_OP_lit1), OP(DW_OP_minus), OP(DW_OP_stack_value)), 6);
    is_value(OPS(OP(DW_OP_lit3), OP(DW_OP_lit2), OP(DW_OP_shl), OP(DW_OP_const1u, .number = 255), OP(DW_OP_and),
                 OP(DW_OP_neg), OP(DW_OP_stack_value)),
             (uint64_t)-12);
    is_value(OPS(OP(DW_OP_breg7, .number = 8), OP(DW_OP_deref), OP(DW_OP_stack_value)), 0x1122334455667788);
    is_value(OPS(OP(DW_OP_breg7, .number = 8), OP(DW_OP_deref_size, .number = 2), OP(DW_OP_stack_value)), 0x7788);
    is_value(OPS(OP(DW_OP_lit1), OP(DW_OP_lit2), OP(DW_OP_swap), OP(DW_OP_over), OP(DW_OP_drop), OP(DW_OP_minus),
                 OP(DW_OP_stack_value)),
             1);
}

static void what_cannot_be_known_has_no_answer(void **state)
{
    (void)state;
    is_none(OPS(OP(DW_OP_breg0, .number = 0), OP(DW_OP_stack_value)));
    is_none(OPS(OP(DW_OP_breg7, .number = 16), OP(DW_OP_deref)));         /* was not copied */
    is_none(OPS(OP(DW_OP_lit1), OP(DW_OP_deref_size, .number = 9)));      /* hostile */
    is_none(OPS(OP(DW_OP_lit1), OP(DW_OP_bra, .number = 0)));             /* may loop */
    is_none(OPS(OP(DW_OP_skip, .number = 0)));                            /* as well */
    is_none(OPS(OP(DW_OP_plus)));                                         /* nothing to add */
    is_none(OPS(OP(DW_OP_lit1), OP(DW_OP_stack_value), OP(DW_OP_piece))); /* one half of it */
    is_none(OPS(OP(DW_OP_lit1), OP(DW_OP_pick, .number = 1)));            /* deeper than it is */
    is_none(OPS(OP(DW_OP_form_tls_address)));
    is_none(OPS(OP(DW_OP_lit1), OP(DW_OP_drop)));
    is_none(NULL, 0);
    /* A stack that overflows. */
    Dwarf_Op many[40];
    for (size_t i = 0; i < 40; i++)
        many[i] = (Dwarf_Op){.atom = DW_OP_lit1};
    is_none(many, 40);
    /* Nobody to ask for a register at entry. */
    is_none(OPS(OP(DW_OP_entry_value, .number = 1), OP(DW_OP_stack_value)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_hold_values),
        cmocka_unit_test(memory_is_counted_from_the_frame_base),
        cmocka_unit_test(values_that_are_nowhere_are_computed),
        cmocka_unit_test(what_cannot_be_known_has_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
