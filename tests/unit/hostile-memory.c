/* hostile-memory.c: a process whose memory is damaged, at random, must not make the decoders crash, leak, read for ever
 * or contradict themselves. Meant to be run under the sanitizers; the seed is fixed, so that a failure comes again. */
#include "fake_memory.h"

#include "rayfall/interpreter.h"
#include "rayfall/probe.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define INTERPRETER UINT64_C(0x400000)
#define STACK UINT64_C(0x7ffc00000000)

enum {
    ROUNDS = 20000,
    CODE_ROUNDS = 20000,
    STACK_BYTES = RF_PAGE,
    FUNCTIONS = 6,
    BLOCKS = 2,
    FRAME = 0x40,
    FRAME_BYTES = 0x200
};
enum { READS_MAX = 1 << 20 }; /* one list of constants may have 2^16 elements, each of which is looked at */

struct world {
    struct fake *f;
    unsigned char *pristine;
    uint64_t objects, seed, epoch;
    uint64_t nfo[2], function[FUNCTIONS], exec[BLOCKS];
    struct rf_names *names;
    struct rf_sources *sources;
    struct rf_lambdas *lambdas;
    struct rf_snapshot *s;      /* the whole arena */
    struct rf_snapshot *probed; /* what the probe asks for */
    unsigned char stack[STACK_BYTES];
    struct rf_native frame[3];
    size_t sound_rounds, emitted, copied; /* the damage must not be so great that nothing is tested */
};

/* xorshift64 (Marsaglia 2003) */
static uint64_t any(struct world *w)
{
    w->seed ^= w->seed << 13;
    w->seed ^= w->seed >> 7;
    w->seed ^= w->seed << 17;
    return w->seed;
}

static uint64_t below(struct world *w, uint64_t n)
{
    return any(w) % n;
}

static const unsigned char code[] = {OP_RESOLVE,  1,       OP_LOADENV, 0,          OP_LOADCONST,
                                     0,           OP_DUP,  OP_CALL1,   OP_CALLF,   1,
                                     OP_JMPF,     0,       6,          OP_LOADENV, 0,
                                     OP_CALLS,    1,       OP_JMP,     0xff,       0xec,
                                     OP_LOADSELF, OP_TRAP, 0,          4,          OP_TRAP_END,
                                     OP_JMP,      0,       1,          OP_POP,     OP_RET};

static void build(struct world *w)
{
    struct fake *f = w->f;
    static const char *const text = "(set f (fn [x]\n  (g x)\n  (h (fn [y] (k y)))\n))\n";
    const uint64_t spans[] = {fake_span(0, 12, 0, 12), fake_span(0, 7, 3, 0), fake_span(1, 2, 1, 6),
                              fake_span(2, 2, 2, 20), fake_span(2, 5, 2, 18)};
    const uint64_t dbg[] = {0, spans[0], 4, spans[2], 8, spans[3], 13, spans[4], 13, spans[1], 20, spans[3]};
    w->objects = FAKE_BASE + f->used;
    /* the nodes of (g x), (k y) and (h (k y)); one was something else before */
    const uint64_t x = fake_symbol_atom(f, 1), g_x = fake_list(f, (const uint64_t[]){fake_symbol_atom(f, 2), x}, 2);
    const uint64_t k_y = fake_list(f, (const uint64_t[]){fake_symbol_atom(f, 3), x}, 2);
    const uint64_t h = fake_list(f, (const uint64_t[]){fake_symbol_atom(f, 4), k_y}, 2);
    const uint64_t keys[] = {g_x, 0x2000, g_x, h, k_y}, body[] = {g_x, h};
    w->nfo[0] = fake_nfo(f, "f.rfl", text, keys, spans, 5);
    w->nfo[1] = fake_nfo(f, "repl", "(f 1)", keys, spans, 5);
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        uint64_t consts[] = {fake_longs(f, NULL, 0), fake_symbol_atom(f, (int64_t)i),
                             fake_string(f, "a string of some length")};
        struct fake_function fn = {.code = code,
                                   .code_len = sizeof code,
                                   .consts = consts,
                                   .n_consts = 3,
                                   .body = body,
                                   .n_body = 2,
                                   .dbg = dbg,
                                   .n_dbg = i < 3 ? 12 : 0,
                                   .n_locals = 1,
                                   .nfo = i < 5 ? w->nfo[i % 2] : 0}; /* made at run time: no places, no source */
        w->function[i] = fake_lambda(f, &fn);
        fake_global(f, i % 2 ? "n" : "a-longer-name", w->function[i], i % 3 == 0);
    }
    for (unsigned i = 0; i < BLOCKS; i++) {
        w->exec[i] = fake_exec(f, w->function[i], 2, 0, 3);
        for (unsigned k = 0; k < 3; k++)
            fake_return(f, w->exec[i], k, k == 1 ? 0 : w->function[2 + k], 0, k == 1 ? 17 : 10);
    }
}

static int open_world(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    *state = w;
    if (!w)
        return -1;
    w->seed = 0x9e3779b97f4a7c15;
    w->f = fake_new();
    w->s = calloc(1, sizeof *w->s);
    w->probed = calloc(1, sizeof *w->probed);
    w->pristine = malloc(FAKE_SIZE);
    w->sources = rf_sources_new();
    if (!w->f || !w->s || !w->probed || !w->pristine || !w->sources)
        return -1;
    w->probed->bytes = malloc(RF_BYTES_MAX);
    if (!w->probed->bytes)
        return -1;
    w->names = rf_names_new(&w->f->rt);
    w->lambdas = w->names ? rf_lambdas_new(&w->f->rt, &w->f->memory, w->names, w->sources) : NULL;
    if (!w->lambdas)
        return -1;
    build(w);
    memcpy(w->pristine, w->f->bytes, FAKE_SIZE);
    w->f->rt.interpreter = INTERPRETER;
    w->f->rt.interpreter_size = 0x1000;
    w->s->memory.read = rf_snapshot_read;
    w->s->stack_addr = STACK;
    w->s->stack_size = sizeof w->stack;
    w->s->stack = w->stack;
    w->s->block[0] = (struct rf_block){FAKE_BASE, FAKE_SIZE, 0};
    w->s->n_blocks = 1;
    w->s->bytes = w->f->bytes;
    w->s->n_bytes = FAKE_SIZE;
    w->probed->memory.read = rf_snapshot_read;
    w->probed->stack_addr = STACK;
    w->probed->stack_size = sizeof w->stack;
    w->probed->stack = w->stack;
    return 0;
}

static int close_world(void **state)
{
    struct world *w = *state;
    rf_lambdas_free(w->lambdas);
    rf_names_free(w->names);
    rf_sources_free(w->sources);
    free(w->pristine);
    free(w->s);
    free(w->probed->bytes);
    free(w->probed);
    free(w->f);
    free(w);
    return 0;
}

/* Numbers that go wrong more often than others. */
static uint64_t bad_word(struct world *w)
{
    static const uint64_t edge[] = {0,
                                    1,
                                    4,
                                    UINT64_MAX,
                                    INT64_MAX,
                                    (uint64_t)INT64_MIN,
                                    INT32_MAX,
                                    (uint32_t)INT32_MIN,
                                    1 << 16,
                                    (1 << 16) + 1,
                                    1 << 18,
                                    FAKE_BASE,
                                    FAKE_BASE + FAKE_SIZE - 32};
    switch (below(w, 4)) {
    case 0:
        return edge[below(w, sizeof edge / sizeof *edge)];
    case 1:
        return w->objects + 32 * below(w, (FAKE_BASE + w->f->used - w->objects) / 32);
    case 2:
        return below(w, 300);
    default:
        return any(w);
    }
}

static void damage_word(struct world *w, uint64_t addr, size_t n)
{
    uint64_t v = bad_word(w);
    fake_put(w->f, addr, &v, n);
}

/* A few fields of objects or of an execution block, or of the globals. */
static void damage(struct world *w)
{
    static const unsigned char size[] = {1, 4, 8, 8};
    for (uint64_t i = 1 + below(w, 6); i > 0; i--) {
        uint64_t span = FAKE_BASE + w->f->used - w->objects - 8, exec = w->exec[below(w, BLOCKS)];
        size_t n = size[below(w, sizeof size)];
        switch (below(w, 4)) {
        case 0:
            damage_word(w, exec - RAY_HEADER + 4 * below(w, 16), n);
            break;
        case 1:
            damage_word(w, exec + (uint64_t)w->f->rt.layout.exec_rs + 4 * below(w, 12), n);
            break;
        case 2: {
            uint64_t at = w->function[below(w, FUNCTIONS)] + 8 * below(w, RAY_HEADER / 8 + LAMBDA_SLOTS);
            damage_word(w, at, n);
            break;
        }
        default: /* the objects before the blocks, which are large and mostly empty */
            span = w->exec[0] - RAY_HEADER - w->objects;
            damage_word(w, w->objects + 4 * below(w, span / 4 - 1), n);
        }
    }
    if (below(w, 8) == 0)
        damage_word(w, w->f->rt.g_env + (uint64_t)w->f->rt.layout.env_count, 4);
    if (below(w, 8) == 0)
        damage_word(w, w->f->rt.g_sym + 16 + 4 * below(w, 3), 4);
}

static void use_source(struct world *w, uint64_t at)
{
    const struct rf_source *s = rf_sources_get(w->sources, &w->f->memory, at, w->epoch);
    if (!s)
        return;
    for (unsigned i = 0; i < 4; i++) {
        struct rf_span span, fn;
        uint64_t id = below(w, 2) ? any(w) : fake_span((unsigned)below(w, 5), (unsigned)below(w, 20), 3, 3);
        (void)rf_source_repair(s, id, &span);
        struct rf_text t = rf_source_at(s, span);
        assert_true(t.n == 0 || (t.s >= s->text.s && t.s + t.n == s->text.s + s->text.n));
        if (rf_source_function(s, span, &fn))
            assert_true(rf_source_at(s, fn).n >= 4);
        rf_source_node(s, id, &span);
    }
}

static void check_code(const struct rf_code *c)
{
    uint32_t at = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct rf_instruction *in = &c->v[i];
        assert_true(in->start == at && in->end > at && in->end <= c->len && in->op < OP_COUNT);
        assert_true(in->depth >= RF_DEPTH_UNKNOWN && in->callee >= -1 && in->callee <= UINT16_MAX);
        assert_ptr_equal(rf_code_starting(c, in->start), in);
        assert_ptr_equal(rf_code_ending(c, in->end), in);
        at = in->end;
    }
    assert_true(!c->sound || at == c->len);
}

static void use_function(struct world *w, uint64_t at)
{
    const struct rf_lambda *l = rf_lambdas_get(w->lambdas, &w->f->memory, at, w->epoch);
    struct rf_span span;
    if (!l)
        return;
    check_code(&l->code);
    assert_int_equal(l->addr, at);
    assert_non_null(l->name.s);
    assert_true(l->n_locals >= 0);
    for (unsigned i = 0; i < 4; i++)
        rf_lambda_span(l, (uint32_t)any(w), &span);
    for (uint32_t ip = 0; ip < 40; ip++)
        rf_lambda_span(l, ip, &span);
}

static void count(void *ctx, const struct rf_activation *a)
{
    struct world *w = ctx;
    assert_true(!a->fn || (a->fn->name.n && a->fn->name.s[a->fn->name.n] == 0));
    w->emitted++;
}

static uint64_t register_word(struct world *w)
{
    switch (below(w, 5)) {
    case 0:
        return w->exec[below(w, BLOCKS)];
    case 1:
        return w->function[below(w, FUNCTIONS)];
    case 2:
        return w->objects + 32 * below(w, (FAKE_BASE + w->f->used - w->objects) / 32);
    case 3:
        return below(w, 32);
    default:
        return bad_word(w);
    }
}

/* Two interpreter frames, the younger one perhaps a leaf, with a stack that is as it may be. */
static void use_frames(struct world *w)
{
    for (size_t i = 0; i < STACK_BYTES; i += 64) {
        uint64_t v = register_word(w);
        memcpy(w->stack + i, &v, sizeof v);
    }
    for (unsigned k = 0; k < 3; k++) {
        struct rf_native *f = &w->frame[k];
        *f = (struct rf_native){.pc = INTERPRETER + below(w, 0x400),
                                .sp = STACK + FRAME + k * FRAME_BYTES,
                                .known = (uint32_t)any(w),
                                .fn = {.name = "vm_exec_rows", .addr = INTERPRETER}};
        for (unsigned r = 0; r < RF_REGS; r++)
            f->reg[r] = register_word(w);
    }
    if (below(w, 16) == 0)
        w->frame[2].sp = any(w);
    w->frame[1].reg[RF_R15] = w->exec[0];
    struct rf_native_stack native = {w->frame, 3, RF_UNWIND_ROOT};
    struct rf_interpreter in = {.rt = &w->f->rt,
                                .lambdas = w->lambdas,
                                .names = w->names,
                                .m = &w->f->memory,
                                .s = w->s,
                                .epoch = w->epoch,
                                .handlers = INTERPRETER + 0x100};
    size_t before = w->emitted;
    for (size_t k = 3; k-- > 0;)
        rf_interpreter_frame(&in, &native, k, count, w);
    w->sound_rounds += w->emitted > before;
}

/* As an engine does it: copies what the probe asks for, as far as it can be read and there is room. */
static void use_probe(struct world *w)
{
    struct rf_probe probe = {.rt = &w->f->rt, .lambdas = w->lambdas};
    struct rf_snapshot *s = w->probed;
    struct rf_range want[RF_BLOCKS_MAX];
    s->n_blocks = s->n_bytes = 0;
    memcpy(s->reg, w->frame[1].reg, sizeof s->reg);
    s->reg[RF_RSP] = below(w, 8) ? STACK + FRAME : any(w);
    for (unsigned round = 0; round < RF_ROUNDS_MAX; round++) {
        size_t max = RF_BLOCKS_MAX - s->n_blocks, n = rf_probe_select(&probe, s, round, want, max);
        assert_true(n <= max);
        for (size_t i = 0; i < n; i++) {
            assert_true(want[i].size > 0);
            if (want[i].size > RF_BYTES_MAX - s->n_bytes ||
                !rf_read(&w->f->memory, want[i].addr, s->bytes + s->n_bytes, want[i].size))
                continue;
            s->block[s->n_blocks++] = (struct rf_block){want[i].addr, want[i].size, (uint32_t)s->n_bytes};
            s->n_bytes += want[i].size;
        }
    }
    w->copied += s->n_blocks > 3;
}

static void damaged_memory(void **state)
{
    struct world *w = *state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct rf_exec e;
        memcpy(w->f->bytes, w->pristine, w->f->used);
        damage(w);
        w->f->reads = 0;
        w->epoch++;
        rf_names_refresh(w->names, &w->f->memory, w->epoch * 1000000000);
        for (unsigned i = 0; i < 2; i++)
            use_source(w, w->nfo[i]);
        for (unsigned i = 0; i < FUNCTIONS; i++)
            use_function(w, w->function[i]);
        use_function(w, bad_word(w));
        use_source(w, bad_word(w));
        for (unsigned i = 0; i < BLOCKS; i++)
            if (rf_exec_read(&w->f->memory, &w->f->rt.layout, w->exec[i], &e))
                assert_true(e.fp >= 0 && e.fp <= e.sp && e.sp <= EXEC_INDEX_MAX && e.rp >= 0 && e.rp <= EXEC_INDEX_MAX);
        use_frames(w);
        use_probe(w);
        if (w->f->reads > READS_MAX)
            fail_msg("round %u: %zu reads", round, w->f->reads);
    }
    assert_true(w->sound_rounds > ROUNDS / 4 && w->copied > ROUNDS / 4);
}

/* Memory in which every word is a pointer to some other, or anything: chains without end, circles. */
static void random_memory(void **state)
{
    struct world *w = *state;
    for (unsigned round = 0; round < 50; round++) {
        for (uint64_t at = w->objects; at < FAKE_BASE + w->f->used; at += 8)
            fake_u64(w->f, at, bad_word(w));
        for (uint64_t at = w->objects; at < FAKE_BASE + w->f->used; at += 64) { /* headers of types that are used */
            static const int8_t type[] = {RAY_LIST, RAY_U8, RAY_I64, RAY_LAMBDA, RAY_STRING_ATOM, RAY_SYMBOL_ATOM};
            fake_u8(w->f, at + RAY_TYPE, (unsigned char)type[below(w, sizeof type)]);
            fake_u8(w->f, at + RAY_ATTRS, below(w, 2) ? RAY_ATTR_COMPILED : 0);
            fake_u64(w->f, at + RAY_LEN, below(w, 4) ? below(w, 9) : bad_word(w));
        }
        w->f->reads = 0;
        w->epoch++;
        rf_names_refresh(w->names, &w->f->memory, w->epoch * 1000000000);
        for (uint64_t at = w->objects; at < FAKE_BASE + w->f->used; at += 32) {
            use_source(w, at);
            use_function(w, at);
        }
        use_frames(w);
    }
}

static void random_bytecode(void **state)
{
    struct world *w = *state;
    size_t sound = 0;
    for (unsigned round = 0; round < CODE_ROUNDS; round++) {
        unsigned char b[300];
        struct rf_code c;
        size_t n = below(w, below(w, 8) ? 24 : sizeof b);
        /* mostly opcodes, so that it gets somewhere, and small jumps */
        for (size_t i = 0; i < n; i++)
            b[i] = (unsigned char)(below(w, 8) ? below(w, OP_COUNT) : any(w));
        if (n && below(w, 2))
            b[n - 1] = OP_RET;
        assert_true(rf_code_decode(&c, b, n, (int32_t)below(w, OP_COUNT + 4)));
        check_code(&c);
        sound += c.sound;
        rf_code_free(&c);
    }
    assert_true(sound > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(damaged_memory, open_world, close_world),
        cmocka_unit_test_setup_teardown(random_memory, open_world, close_world),
        cmocka_unit_test_setup_teardown(random_bytecode, open_world, close_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
