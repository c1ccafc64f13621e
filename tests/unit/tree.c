/* tree.c: at which forms the evaluator's frames are: by what they hold, what runs below them, each other, and by what
 * was learned about their callers. */
#include "fake_memory.h"

#include "rayfall/tree.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* The text, and its forms in the order of their "(". */
static const char *const text = "(do\n"
                                "  (f (g 1)\n"
                                "     (g 2))\n"
                                "  (h (g 3) (g 4)))\n";
enum { DO, F, G1, G2, H, G3, G4, FORMS };
static const uint64_t place[FORMS][4] = {{0, 0, 3, 17}, {1, 2, 2, 10}, {1, 5, 1, 9},  {2, 5, 2, 9},
                                         {3, 2, 3, 17}, {3, 5, 3, 9},  {3, 11, 3, 15}};

enum { FRAMES = 4, FRAME_WORDS = 8, PC = 0x401000 };
static const uint64_t sp = 0x7ff000000000;

struct fixture {
    struct fake *f;
    struct rf_image *image;
    struct rf_sources *sources;
    struct rf_names *names;
    struct rf_builtins *builtins;
    struct rf_sites sites;
    struct rf_snapshot s;
    struct rf_tree tree;
    const struct rf_source *source;
    uint64_t node[FORMS], stack[FRAMES * FRAME_WORDS];
    struct rf_native frame[FRAMES]; /* innermost first: a builtin, and three of the evaluator */
    struct rf_native_stack native;
    struct rf_form out[FRAMES];
};

/* The C functions of the builtins f, g and h: found by their symbols in this program. */
int ray_f_fn(void), ray_g_fn(void), ray_h_fn(void);
int ray_f_fn(void)
{
    return 1;
}
int ray_g_fn(void)
{
    return 2;
}
int ray_h_fn(void)
{
    return 3;
}

static uint64_t head(struct fixture *x, const char *name, const char *function)
{
    struct rf_symbol s;
    assert_true(rf_image_find(x->image, function, &s));
    uint64_t builtin = fake_builtin(x->f, RAY_VARY, name, s.addr);
    return fake_symbol_atom(x->f, fake_global(x->f, name, builtin, false));
}

static uint64_t form(struct fixture *x, uint64_t first, uint64_t a, uint64_t b)
{
    const uint64_t element[] = {first, a, b};
    return fake_list(x->f, element, b ? 3 : 2);
}

static void make_forms(struct fixture *x)
{
    uint64_t spans[FORMS], f = head(x, "f", "ray_f_fn"), g = head(x, "g", "ray_g_fn"), h = head(x, "h", "ray_h_fn");
    uint64_t one = fake_object(x->f, -RAY_I64, 0, 1, NULL, 0);
    uint64_t do_ = fake_symbol_atom(x->f, fake_symbol(x->f, "do"));
    x->node[G1] = form(x, g, one, 0);
    x->node[G2] = form(x, g, one, 0);
    x->node[G3] = form(x, g, one, 0);
    x->node[G4] = form(x, g, one, 0);
    x->node[F] = form(x, f, x->node[G1], x->node[G2]);
    x->node[H] = form(x, h, x->node[G3], x->node[G4]);
    x->node[DO] = form(x, do_, x->node[F], x->node[H]);
    for (int i = 0; i < FORMS; i++)
        spans[i] =
            fake_span((unsigned)place[i][0], (unsigned)place[i][1], (unsigned)place[i][2], (unsigned)place[i][3]);
    x->source = rf_sources_get(x->sources, &x->f->memory, fake_nfo(x->f, "t.rfl", text, x->node, spans, FORMS), 1);
}

static int open_fixture(void **state)
{
    static struct fixture x;
    struct rf_error err;
    x = (struct fixture){.f = fake_new(), .sources = rf_sources_new()};
    *state = &x;
    if (!x.f || !x.sources || rf_image_open_file(&x.image, "/proc/self/exe", &err))
        return -1;
    x.f->rt.image = x.image;
    x.names = rf_names_new(&x.f->rt);
    make_forms(&x);
    x.builtins = rf_builtins_new(&x.f->rt, &x.f->memory);
    if (!x.source || !x.names || !x.builtins)
        return -1;
    rf_names_refresh(x.names, &x.f->memory, 1);
    x.s = (struct rf_snapshot){.memory = {.read = rf_snapshot_read}, .stack_addr = sp, .stack_size = sizeof x.stack};
    x.s.stack = (unsigned char *)x.stack;
    for (size_t i = 0; i < FRAMES; i++)
        x.frame[i] = (struct rf_native){.pc = PC + 16 * i, .sp = sp + 8 * FRAME_WORDS * i, .fn = {.name = "ray_eval"}};
    x.frame[0].fn.name = "ray_g_fn";
    x.native = (struct rf_native_stack){x.frame, FRAMES, RF_UNWIND_ROOT};
    x.tree =
        (struct rf_tree){.names = x.names, .builtins = x.builtins, .m = &x.f->memory, .s = &x.s, .sites = &x.sites};
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *x = *state;
    rf_builtins_free(x->builtins);
    rf_names_free(x->names);
    rf_sources_free(x->sources);
    rf_image_close_file(x->image);
    free(x->f);
    return 0;
}

static void hold(struct fixture *x, size_t frame, unsigned reg, uint64_t word)
{
    x->frame[frame].reg[reg] = word;
    x->frame[frame].known |= 1u << reg;
}

/* Decodes the chain from native frame `first` inwards, as far as frame `last`. */
static void decode(struct fixture *x, size_t first, size_t last)
{
    size_t chain[FRAMES], n = 0;
    for (size_t i = first; i + 1 > last; i--)
        chain[n++] = i;
    rf_tree_chain(&x->tree, &x->native, chain, n, &x->source, 1, x->out);
}

static void is_at(const struct fixture *x, size_t k, int which)
{
    assert_ptr_equal(x->out[k].source, x->source);
    assert_int_equal(x->out[k].node, x->node[which]);
    assert_int_equal(x->out[k].span.line, place[which][0]);
    assert_int_equal(x->out[k].span.col, place[which][1]);
}

static void registers_and_slots_hold_forms_or_their_elements(void **state)
{
    struct fixture *x = *state;
    hold(x, 3, RF_RBX, x->node[DO]);
    hold(x, 2, RF_R12, x->node[F] + RAY_DATA);
    x->stack[FRAME_WORDS + 5] = x->node[G2];
    decode(x, 3, 1);
    is_at(x, 0, DO);
    is_at(x, 1, F);
    is_at(x, 2, G2);
}

static void what_the_builtin_below_did_not_come_from_is_stale(void **state)
{
    struct fixture *x = *state;
    hold(x, 1, RF_RBX, x->node[F]);
    decode(x, 1, 1);
    assert_null(x->out[0].source);
    x->frame[0].fn.name = "ray_f_fn.part.0";
    decode(x, 1, 1);
    is_at(x, 0, F);
}

static void a_form_is_evaluated_by_the_one_directly_around_it(void **state)
{
    struct fixture *x = *state;
    hold(x, 2, RF_RBX, x->node[F]);
    hold(x, 1, RF_RBX, x->node[G3]); /* of another form, in a better place */
    x->stack[FRAME_WORDS + 5] = x->node[G1];
    decode(x, 2, 1);
    is_at(x, 0, F);
    is_at(x, 1, G1);
}

static void no_frame_is_passed_over(void **state)
{
    struct fixture *x = *state;
    hold(x, 3, RF_RBX, x->node[DO]);
    hold(x, 1, RF_RBX, x->node[F]); /* its own frame is the one before */
    x->frame[0].fn.name = "ray_release";
    decode(x, 3, 1);
    is_at(x, 0, DO);
    assert_null(x->out[1].source);
    assert_null(x->out[2].source);
}

static void gaps_are_filled_from_the_inside(void **state)
{
    struct fixture *x = *state;
    hold(x, 1, RF_RBX, x->node[G4]);
    decode(x, 3, 1);
    is_at(x, 0, DO);
    is_at(x, 1, H);
    is_at(x, 2, G4);
}

static void equal_builtins_have_a_line_only_when_it_is_one(void **state)
{
    struct fixture *x = *state;
    hold(x, 2, RF_RBX, x->node[F]);
    decode(x, 2, 1);
    is_at(x, 0, F);
    assert_null(x->out[1].source); /* (g 1) or (g 2) */
    hold(x, 2, RF_RBX, x->node[H]);
    decode(x, 2, 1);
    is_at(x, 0, H);
    assert_ptr_equal(x->out[1].source, x->source);
    assert_int_equal(x->out[1].node, 0); /* (g 3) or (g 4) */
    assert_int_equal(x->out[1].span.line, 3);
}

static void forms_lie_inside_the_one_that_code_handed_over(void **state)
{
    struct fixture *x = *state;
    x->tree.within = x->source;
    assert_true(rf_source_node(x->source, x->node[F], &x->tree.span));
    hold(x, 1, RF_RBX, x->node[G3]);
    decode(x, 1, 1);
    assert_null(x->out[0].source);
    hold(x, 1, RF_RBX, x->node[G1]);
    decode(x, 3, 1);
    is_at(x, 2, G1);
    is_at(x, 1, F);
    assert_null(x->out[0].source); /* would be around it */
}

static void callers_show_which_argument_they_wait_for(void **state)
{
    struct fixture *x = *state;
    /* The `do` counts its arguments, without its head, in r15. */
    hold(x, 3, RF_RBX, x->node[DO]);
    for (unsigned i = 0; i < 40; i++) {
        hold(x, 3, RF_R15, i & 1);
        hold(x, 2, RF_RBX, x->node[i & 1 ? H : F]);
        hold(x, 1, RF_RBX, x->node[i & 1 ? G3 : G1]);
        decode(x, 3, 1);
    }
    x->frame[1].fn.name = "ray_release";
    x->frame[2].known = 0;
    x->stack[2 * FRAME_WORDS + 5] = x->node[F]; /* from before */
    decode(x, 3, 2);
    is_at(x, 1, H);
    x->frame[3].pc++; /* a call that was never seen: nothing speaks for it */
    decode(x, 3, 2);
    is_at(x, 0, DO);
    assert_null(x->out[1].source);
}

static void a_supposition_that_failed_is_not_used(void **state)
{
    struct fixture *x = *state;
    hold(x, 3, RF_RBX, x->node[DO]);
    for (unsigned i = 0; i < 40; i++) { /* nothing counts what is evaluated */
        hold(x, 2, RF_RBX, x->node[i % 4 ? H : F]);
        hold(x, 1, RF_RBX, x->node[i % 4 ? G3 : G1]);
        decode(x, 3, 1);
    }
    x->frame[1].fn.name = "ray_release";
    x->frame[2].known = 0;
    decode(x, 3, 2);
    is_at(x, 0, DO);
    assert_null(x->out[1].source);
}

static void two_words_from_before_do_not_outdo_a_register(void **state)
{
    struct fixture *x = *state;
    hold(x, 2, RF_RBX, x->node[H] + RAY_DATA);
    x->stack[2 * FRAME_WORDS] = x->node[F] + RAY_DATA;
    x->stack[FRAME_WORDS] = x->node[G1] + RAY_DATA;
    x->frame[0].fn.name = "ray_env_resolve"; /* of a name that is evaluated: it has no form */
    decode(x, 2, 1);
    is_at(x, 0, H);
}

static void what_the_caller_has_in_a_register_is_the_callers(void **state)
{
    struct fixture *x = *state;
    hold(x, 3, RF_RBX, x->node[F]);
    hold(x, 2, RF_RBX, x->node[F]);
    x->stack[2 * FRAME_WORDS] = x->node[H] + RAY_DATA;
    x->frame[0].fn.name = "ray_env_resolve";
    decode(x, 2, 1);
    is_at(x, 0, H);
}

static void what_was_right_by_chance_does_not_speak(void **state)
{
    struct fixture *x = *state;
    /* A call for the first argument only; a register happened to say so, too. */
    hold(x, 3, RF_RBX, x->node[DO]);
    hold(x, 3, RF_R14, 0);
    for (unsigned i = 0; i < 40; i++) {
        hold(x, 2, RF_RBX, x->node[F]);
        hold(x, 1, RF_RBX, x->node[G1]);
        decode(x, 3, 1);
    }
    hold(x, 3, RF_R14, 4711);
    x->frame[1].fn.name = "ray_release";
    x->frame[2].known = 0;
    decode(x, 3, 2);
    is_at(x, 1, F);
    hold(x, 3, RF_R14, 1); /* but here it may be right */
    decode(x, 3, 2);
    assert_null(x->out[1].source);
}

static void of_two_that_are_as_likely_it_is_neither(void **state)
{
    struct fixture *x = *state;
    hold(x, 2, RF_RBX, x->node[F]);
    x->stack[FRAME_WORDS + 5] = x->node[G2];
    x->stack[FRAME_WORDS + 6] = x->node[G1];
    decode(x, 2, 1);
    is_at(x, 0, F);
    assert_null(x->out[1].source);
    x->stack[FRAME_WORDS + 1] = x->node[G1]; /* a better place */
    decode(x, 2, 1);
    is_at(x, 1, G1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(registers_and_slots_hold_forms_or_their_elements, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(what_the_builtin_below_did_not_come_from_is_stale, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(a_form_is_evaluated_by_the_one_directly_around_it, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(no_frame_is_passed_over, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(gaps_are_filled_from_the_inside, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(equal_builtins_have_a_line_only_when_it_is_one, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(forms_lie_inside_the_one_that_code_handed_over, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(callers_show_which_argument_they_wait_for, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(a_supposition_that_failed_is_not_used, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(two_words_from_before_do_not_outdo_a_register, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(what_the_caller_has_in_a_register_is_the_callers, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(what_was_right_by_chance_does_not_speak, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(of_two_that_are_as_likely_it_is_neither, open_fixture, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
