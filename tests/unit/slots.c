/* slots.c: following machine code to a bytecode fetch, and slot maps as text. The code is assembled by hand. */
#include "slots/slotmap.h"
#include "slots/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { BASE = 0x1000, TABLE = 0x2000, BUDGET = 1000, EXEC_RP = 8, EXEC_FN = 16, FIRST = 0x1020, SECOND = 0x1040 };

/* Pieces of a handler. The table of handlers is at 0x2000. */
#define CALL "\xe8\x00\x00\x00\x00"             /* call */
#define INDEX_R13 "\x49\x63\xcd"                /* movslq %r13d,%rcx */
#define INDEX_R12 "\x49\x63\xcc"                /* movslq %r12d,%rcx */
#define CODE_BASE "\x4c\x8b\x44\x24\x38"        /* mov 0x38(%rsp),%r8 */
#define FETCH "\x41\x0f\xb6\x04\x08"            /* movzbl (%r8,%rcx,1),%eax */
#define DISPATCH "\xff\x24\xc5\x00\x20\x00\x00" /* jmp *0x2000(,%rax,8) */
#define TEST_AL "\x84\xc0"                      /* test %al,%al */
#define NEXT CODE_BASE FETCH DISPATCH

struct fixture {
    struct rf_machine m;
    struct rf_follower *f;
    uint64_t handler[2];
};

static struct fixture load(const char *code, size_t size)
{
    struct fixture x = {.handler = {FIRST, SECOND}};
    if (!rf_machine_decode(&x.m, (const unsigned char *)code, size, BASE))
        skip(); /* built without the disassembler */
    return x;
}

static void start(struct fixture *x)
{
    x->f = rf_follower_new(&x->m, (struct rf_dispatch){TABLE, x->handler, 2, EXEC_RP, EXEC_FN, 0});
    assert_non_null(x->f);
}

static void end(struct fixture *x)
{
    rf_follower_free(x->f);
    rf_machine_free(&x->m);
}

/* What is concluded for the call at the beginning of the code. */
static struct rf_slot site(const char *code, size_t size)
{
    struct fixture x = load(code, size);
    struct rf_ends ends;
    struct rf_slot s = {.at = 5};
    start(&x);
    rf_follow(x.f, &(struct rf_entry){.pc = BASE + 5}, BUDGET, &ends);
    rf_slot_conclude(&s, &ends);
    end(&x);
    return s;
}
#define SITE(code) site(code, sizeof code - 1)

static void assert_place(const struct rf_place *p, bool address, uint16_t sym, bool narrow, int add)
{
    assert_int_equal(p->address, address);
    assert_int_equal(p->n, 1);
    assert_int_equal(p->t[0].sym, sym);
    assert_int_equal(p->t[0].narrow, narrow);
    assert_int_equal(p->add, add);
}

static void an_index_in_a_preserved_register(void **state)
{
    (void)state;
    struct rf_slot s = SITE(CALL INDEX_R13 NEXT);
    assert_int_equal(s.kind, RF_SLOT_PLACE);
    assert_int_equal(s.n, 1);
    assert_place(&s.place[0], false, RF_R13, true, 0);
}

static void an_index_on_the_frame_counted_on(void **state)
{
    (void)state;
    /* mov 0x10(%rsp),%eax; inc %eax; movslq %eax,%rcx; the base is the object, whose bytes begin 32 behind it:
     * movzbl 0x20(%r8,%rcx,1),%eax */
    struct rf_slot s = SITE(CALL "\x8b\x44\x24\x10\xff\xc0\x48\x63\xc8" CODE_BASE "\x41\x0f\xb6\x44\x08\x20" DISPATCH);
    assert_int_equal(s.kind, RF_SLOT_PLACE);
    assert_place(&s.place[0], false, RF_SYM_STACK + 0x10, true, 1);
}

static void a_pointer_into_the_bytecode(void **state)
{
    (void)state;
    struct rf_slot s = SITE(CALL "\x0f\xb6\x43\x01" DISPATCH); /* movzbl 0x1(%rbx),%eax */
    assert_int_equal(s.kind, RF_SLOT_PLACE);
    assert_place(&s.place[0], true, RF_RBX, false, 1);
}

static void paths_that_differ_keep_both_places(void **state)
{
    (void)state;
    struct rf_slot s = SITE(CALL TEST_AL "\x74\x14" INDEX_R13 NEXT INDEX_R12 NEXT); /* je to the second half */
    assert_int_equal(s.kind, RF_SLOT_PLACE);
    assert_int_equal(s.n, 2);
}

static void what_a_call_clobbers_is_no_place(void **state)
{
    (void)state;
    struct rf_slot s = SITE(CALL "\x48\x63\xce" NEXT); /* movslq %esi,%rcx */
    assert_int_equal(s.kind, RF_SLOT_NONE);
}

static void another_table_is_no_dispatch(void **state)
{
    (void)state;
    struct rf_slot s = SITE(CALL INDEX_R13 CODE_BASE FETCH "\xff\x24\xc5\x00\x30\x00\x00"); /* jmp *0x3000(,%rax,8) */
    assert_int_equal(s.kind, RF_SLOT_NONE);
}

static void storing_the_return_index_is_a_move(void **state)
{
    (void)state;
    struct rf_slot s = SITE(CALL "\x41\x89\x47\x08" INDEX_R13 NEXT); /* mov %eax,0x8(%r15) */
    assert_int_equal(s.kind, RF_SLOT_MOVING);
}

static void a_word_that_was_overwritten_is_another(void **state)
{
    (void)state;
    /* mov %r12d,0x10(%rsp); movslq 0x10(%rsp),%rcx */
    struct rf_slot s = SITE(CALL "\x44\x89\x64\x24\x10\x48\x63\x4c\x24\x10" NEXT);
    assert_int_equal(s.kind, RF_SLOT_PLACE);
    assert_place(&s.place[0], false, RF_R12, true, 0);
}

/* cmp $5,%edi; je to the second half */
static const char decided[] = "\x83\xff\x05\x74\x14" INDEX_R13 NEXT INDEX_R12 NEXT;

static void known_numbers_decide_conditions(void **state)
{
    (void)state;
    struct fixture x = load(decided, sizeof decided - 1);
    uint64_t reg[RF_REGS] = {[RF_RDI] = 5, [RF_R12] = 7, [RF_R13] = 9};
    struct rf_entry from = {.pc = BASE, .leaf = true, .reg = reg};
    struct rf_ends ends;
    start(&x);
    rf_follow(x.f, &from, BUDGET, &ends);
    assert_int_equal(ends.n, 2);
    from.known = 1u << RF_RDI;
    rf_follow(x.f, &from, BUDGET, &ends);
    assert_int_equal(ends.n, 1);
    from.pc = BASE + 3; /* between the comparison and the jump */
    rf_follow(x.f, &from, BUDGET, &ends);
    assert_int_equal(ends.n, 1);
    struct rf_place p;
    assert_int_equal(rf_slot_read(&ends.v[0], &p), RF_SLOT_PLACE);
    assert_place(&p, false, RF_R12, true, 0);
    end(&x);
}

static bool table_only(void *ctx, uint64_t addr, void *to, size_t n)
{
    const struct fixture *x = ctx;
    if (addr < TABLE || n > sizeof x->handler || addr - TABLE > sizeof x->handler - n)
        return false;
    memcpy(to, (const char *)x->handler + (addr - TABLE), n);
    return true;
}

static void a_fetch_before_the_start_enters_its_handler(void **state)
{
    (void)state;
    /* The dispatch at the beginning, 0x19 bytes of traps, and at 0x1020 a handler that is one fetch. */
    static const char code[] = DISPATCH "\x0f\x0b\x0f\x0b\x0f\x0b\x0f\x0b\x0f\x0b\x0f\x0b\x0f\x0b\x0f\x0b\x0f\x0b"
                                        "\x0f\x0b\x0f\x0b\x0f\x0b\x90" INDEX_R13 NEXT;
    struct fixture x = load(code, sizeof code - 1);
    uint64_t reg[RF_REGS] = {0};
    struct rf_entry from = {.pc = BASE, .leaf = true, .known = 1u << RF_RAX, .reg = reg, .read = table_only, .ctx = &x};
    struct rf_ends ends;
    start(&x);
    rf_follow(x.f, &from, BUDGET, &ends);
    assert_int_equal(ends.n_entered, 1);
    assert_int_equal(ends.entered[0], FIRST);
    assert_false(ends.stayed);
    assert_int_equal(ends.n, 1);
    end(&x);
}

static void what_was_pushed_last_is_popped(void **state)
{
    (void)state;
    /* push %r12; pop %rax; push %r13; pop %rcx; movslq %ecx,%rcx: the same place below the frame, twice */
    struct rf_slot s = SITE(CALL "\x41\x54\x58\x41\x55\x59\x48\x63\xc9" NEXT);
    assert_int_equal(s.kind, RF_SLOT_PLACE);
    assert_int_equal(s.n, 1);
    assert_place(&s.place[0], false, RF_R13, true, 0);
}

/* push %rbp; mov %rsp,%rbp; push %rbx; sub $0x38,%rsp: rbp is rsp + 0x40 */
#define PROLOGUE "\x55\x48\x89\xe5\x53\x48\x83\xec\x38"
/* movslq -0x14(%rbp),%rcx; mov -0x20(%rbp),%r8; movzbl (%r8,%rcx,1),%eax */
#define FETCH_BY_RBP "\x48\x63\x4d\xec\x4c\x8b\x45\xe0" FETCH
/* shl $0x3,%rax; lea 0x2000,%rdx; mov (%rdx,%rax,1),%rax; jmp *%rax */
#define DISPATCH_IN_STEPS "\x48\xc1\xe0\x03\x48\x8d\x14\x25\x00\x20\x00\x00\x48\x8b\x04\x02\xff\xe0"

static struct rf_slot framed(const char *code, size_t size)
{
    struct fixture x = load(code, size);
    struct rf_ends ends;
    struct rf_slot s = {.at = sizeof PROLOGUE CALL - 1};
    start(&x);
    rf_follow(x.f, &(struct rf_entry){.pc = BASE + sizeof PROLOGUE CALL - 1}, BUDGET, &ends);
    rf_slot_conclude(&s, &ends);
    end(&x);
    return s;
}

static void without_optimisation_it_is_found_by_the_frame_pointer(void **state)
{
    (void)state;
    static const char code[] = PROLOGUE CALL FETCH_BY_RBP DISPATCH_IN_STEPS;
    struct rf_slot s = framed(code, sizeof code - 1);
    assert_int_equal(s.kind, RF_SLOT_PLACE);
    assert_place(&s.place[0], false, RF_SYM_STACK + 0x40 - 0x14, true, 0);
}

static void a_frame_that_moves_is_not_followed(void **state)
{
    (void)state;
    static const char code[] =
        PROLOGUE CALL FETCH_BY_RBP DISPATCH_IN_STEPS "\x50"; /* somewhere it pushes an argument */
    struct rf_slot s = framed(code, sizeof code - 1);
    assert_int_equal(s.kind, RF_SLOT_NONE);
}

static void what_a_call_returns_can_be_the_base(void **state)
{
    (void)state;
    /* xor %ecx,%ecx; movzbl (%rax,%rcx,1),%eax: the function that was switched to begins */
    struct rf_slot s = SITE(CALL "\x31\xc9\x0f\xb6\x04\x08" DISPATCH);
    assert_int_equal(s.kind, RF_SLOT_ENTERING);
}

/* An execution block at 0x8000 whose return stack is at 0x40 and has one entry. */
static bool block_only(void *ctx, uint64_t addr, void *to, size_t n)
{
    static const int32_t rp = 1;
    (void)ctx;
    if (addr != 0x8000 + EXEC_RP || n != sizeof rp)
        return false;
    memcpy(to, &rp, n);
    return true;
}

static void a_call_says_where_it_goes_on(void **state)
{
    (void)state;
    /* mov %r13d,0x5c(%r15); incl 0x8(%r15); and a fetch at the beginning of what rbx is */
    static const char code[] = "\x45\x89\x6f\x5c\x41\xff\x47\x08\x0f\xb6\x03" DISPATCH;
    struct fixture x = load(code, sizeof code - 1);
    uint64_t reg[RF_REGS] = {[RF_R13] = 28, [RF_R15] = 0x8000};
    struct rf_entry from = {
        .pc = BASE, .leaf = true, .known = 1u << RF_R13 | 1u << RF_R15, .reg = reg, .exec = 0x8000, .read = block_only};
    struct rf_ends ends;
    x.f = rf_follower_new(&x.m, (struct rf_dispatch){TABLE, x.handler, 2, EXEC_RP, EXEC_FN, 0x40});
    assert_non_null(x.f);
    rf_follow(x.f, &from, BUDGET, &ends);
    assert_int_equal(ends.n, 1);
    assert_true(ends.v[0].moved);
    assert_int_equal(ends.v[0].back, 28);
    from.exec = 0x9000; /* of another block nothing is told by address */
    rf_follow(x.f, &from, BUDGET, &ends);
    assert_int_equal(ends.n, 1);
    assert_false(ends.v[0].moved);
    assert_int_equal(ends.v[0].back, 0);
    end(&x);
}

/* What was loaded twice is one symbol as often as it is there, and no register. */
static void sums_are_the_same_term_by_term(void **state)
{
    (void)state;
    enum { LOAD8 = 0x5000, LOAD4 = 0x4000 };
    struct rf_value a = {.summed = true, .n = 2, .t = {{LOAD8, 1, false}, {LOAD8 + 1, 1, false}}}, b = a;
    b.t[0].sym = LOAD8 + 2;
    assert_true(rf_value_same(&a, &b));
    b.t[1].sym = RF_R13;
    assert_false(rf_value_same(&a, &b));
    assert_false(rf_value_same(&b, &a));
    a.t[0].sym = RF_R13;
    assert_true(rf_value_same(&a, &b)); /* in another order */
    b.t[0].sym = LOAD4;
    assert_false(rf_value_same(&a, &b));
    b.n = 1;
    assert_false(rf_value_same(&a, &b));
}

static void owners_follow_direct_jumps(void **state)
{
    (void)state;
    struct fixture x = load(decided, sizeof decided - 1);
    struct rf_owners o;
    const uint64_t handlers[] = {BASE, BASE + 5};
    assert_true(rf_owners_find(&o, &x.m, handlers, 2));
    assert_int_equal(o.ops[0], RF_OP(0));
    assert_int_equal(o.ops[rf_machine_at(&x.m, BASE + 5) - x.m.v], RF_OP(0) | RF_OP(1));
    assert_int_equal(o.ops[rf_machine_at(&x.m, BASE + 25) - x.m.v], RF_OP(0));
    rf_owners_free(&o);
    rf_machine_free(&x.m);
}

static const char text[] = "0x5 0x300 index r13d +1\n"
                           "0x10 0x1 none\n"
                           "0x20 0x800 address rbx +1\n"
                           "0x30 0x800 index [0x20]d +0 index r12d -1\n"
                           "0x40 0x0 entry\n"
                           "0x50 0x1000 entering\n"
                           "0x60 0x1 moving\n";

static void a_map_survives_its_text(void **state)
{
    (void)state;
    struct rf_slotmap map;
    unsigned line;
    char *printed = NULL;
    size_t n = 0;
    assert_true(rf_slotmap_parse(&map, text, sizeof text - 1, &line));
    assert_int_equal(map.n, 7);
    FILE *to = open_memstream(&printed, &n);
    rf_slotmap_print(&map, to);
    fclose(to);
    assert_string_equal(printed, text);
    assert_int_equal(rf_slotmap_at(&map, 0x30)->n, 2);
    assert_null(rf_slotmap_at(&map, 0x31));
    free(printed);
    rf_slotmap_free(&map);
}

static void nonsense_is_refused_with_its_line(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "0x5",
        "0x5 0x1 where",
        "0x5 0x1 index",
        "0x5 0x1 index r13d",
        "0x5 0x1 index r16 +1",
        "0x5 0x1 index [0x10",
        "0x5 0x1 index [0x2000] +0",
        "0x5 0x1 index r13d +65",
        "0x5 0x1 index rax rbx rcx +0",
        "0x5 0x1 none +1",
        "0x5 0xffffffffffffffff none",
        "0x100000 0x1 none",
        "-0x5 0x1 none",
        "0x5 0x1 index d +0",
        "0x5 0x1 index ] +0",
        "0x5 0x1 none\n0x5 0x1 none",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char two[128];
        struct rf_slotmap map;
        unsigned line = 0;
        int n = snprintf(two, sizeof two, "0x1 0x1 none\n%s\n", bad[i]);
        assert_false(rf_slotmap_parse(&map, two, (size_t)n, &line));
        assert_in_range(line, 2, 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_in_a_preserved_register),
        cmocka_unit_test(an_index_on_the_frame_counted_on),
        cmocka_unit_test(a_pointer_into_the_bytecode),
        cmocka_unit_test(paths_that_differ_keep_both_places),
        cmocka_unit_test(what_a_call_clobbers_is_no_place),
        cmocka_unit_test(another_table_is_no_dispatch),
        cmocka_unit_test(storing_the_return_index_is_a_move),
        cmocka_unit_test(a_word_that_was_overwritten_is_another),
        cmocka_unit_test(known_numbers_decide_conditions),
        cmocka_unit_test(a_fetch_before_the_start_enters_its_handler),
        cmocka_unit_test(what_was_pushed_last_is_popped),
        cmocka_unit_test(without_optimisation_it_is_found_by_the_frame_pointer),
        cmocka_unit_test(a_frame_that_moves_is_not_followed),
        cmocka_unit_test(what_a_call_returns_can_be_the_base),
        cmocka_unit_test(a_call_says_where_it_goes_on),
        cmocka_unit_test(sums_are_the_same_term_by_term),
        cmocka_unit_test(owners_follow_direct_jumps),
        cmocka_unit_test(a_map_survives_its_text),
        cmocka_unit_test(nonsense_is_refused_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
