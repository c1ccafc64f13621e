/* lambda.c: functions of the process: which they are when addresses are reused, what they are called, and which form an
 * instruction belongs to. */
#include "fake_memory.h"

#include "rayfall/lambda.h"
#include "rayfall/probe.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct fixture {
    struct fake *f;
    struct rf_names *names;
    struct rf_sources *sources;
    struct rf_lambdas *lambdas;
    uint64_t epoch;
};

static int open_fixture(void **state)
{
    static struct fixture x;
    x = (struct fixture){.f = fake_new(), .sources = rf_sources_new()};
    if (!x.f || !x.sources)
        return -1;
    x.names = rf_names_new(&x.f->rt);
    x.lambdas = x.names ? rf_lambdas_new(&x.f->rt, &x.f->memory, x.names, x.sources) : NULL;
    *state = &x;
    return x.lambdas ? 0 : -1;
}

static int close_fixture(void **state)
{
    struct fixture *x = *state;
    rf_lambdas_free(x->lambdas);
    rf_names_free(x->names);
    rf_sources_free(x->sources);
    free(x->f);
    return 0;
}

/* In a new sample, a second later: the names are read again. */
static const struct rf_lambda *get(struct fixture *x, uint64_t addr)
{
    rf_names_refresh(x->names, &x->f->memory, ++x->epoch * 1000000000);
    return rf_lambdas_get(x->lambdas, &x->f->memory, addr, x->epoch);
}

static void assert_name(const struct rf_lambda *l, const char *want)
{
    assert_non_null(l);
    if (l->name.n != strlen(want) || memcmp(l->name.s, want, l->name.n) != 0)
        fail_msg("'%.*s' instead of '%s'", (int)l->name.n, l->name.s, want);
}

static const unsigned char call_f[] = {OP_RESOLVE, 1, OP_LOADENV, 0, OP_CALLF, 1, OP_RET};

static const char *const text = "(set g\n"
                                "  (fn [x]\n"
                                "    (f x)\n"
                                "    (h\n"
                                "      x)))\n";

enum { NODE_FN = 0x1000, NODE_F = 0x2000, NODE_H = 0x3000, NODE_ARG = 0x4000 };
static const uint64_t keys[] = {NODE_F, NODE_FN, NODE_F, NODE_H, NODE_ARG};

/* Of the node F there is a dead entry: the parameter's, on the line of the fn. */
static uint64_t make_nfo(struct fake *f)
{
    uint64_t spans[] = {fake_span(1, 7, 1, 7), fake_span(1, 2, 4, 8), fake_span(2, 4, 2, 8), fake_span(3, 4, 4, 7),
                        fake_span(4, 6, 4, 6)};
    return fake_nfo(f, "dir/file.rfl", text, keys, spans, 5);
}

static struct fake_function function(void)
{
    static const uint64_t body[] = {NODE_F, NODE_H};
    return (struct fake_function){.code = call_f, .code_len = sizeof call_f, .body = body, .n_body = 2, .n_locals = 1};
}

static void a_function_is_decoded(void **state)
{
    struct fixture *x = *state;
    struct fake_function fn = function();
    int64_t symbol = fake_symbol(x->f, "f");
    uint64_t consts[] = {fake_longs(x->f, NULL, 0), fake_symbol_atom(x->f, symbol), 12345};
    fn.nfo = make_nfo(x->f);
    fn.consts = consts;
    fn.n_consts = 3;
    uint64_t addr = fake_lambda(x->f, &fn);
    const struct rf_lambda *l = get(x, addr);
    assert_non_null(l);
    assert_int_equal(l->addr, addr);
    assert_true(l->code.sound);
    assert_int_equal(l->code.n, 4);
    assert_int_equal(l->n_locals, 1);
    assert_int_equal(l->n_consts, 3);
    assert_int_equal(l->consts[2], 12345);
    assert_int_equal(l->symbols[0], -1);
    assert_int_equal(l->symbols[1], symbol);
    assert_int_equal(l->symbols[2], -1); /* not an object at all */
    assert_memory_equal(fake_at(x->f, l->code_addr, sizeof call_f), call_f, sizeof call_f);
    assert_string_equal(l->file.s, "dir/file.rfl");
    assert_int_equal(l->first_line, 3);
    assert_int_equal(l->n_debug, 0);
    assert_ptr_equal(rf_lambdas_get(x->lambdas, &x->f->memory, addr, x->epoch), l);
}

static void names(void **state)
{
    struct fixture *x = *state;
    struct fake_function fn = function();
    uint64_t no_source = fake_lambda(x->f, &fn);
    fn.nfo = make_nfo(x->f);
    uint64_t addr = fake_lambda(x->f, &fn), other = fake_lambda(x->f, &fn);
    assert_name(get(x, no_source), "<fn>");
    assert_name(get(x, addr), "<fn:2>"); /* where its "(fn" begins, not its first form */
    fake_global(x->f, "builtin-alias", addr, false);
    assert_name(get(x, addr), "builtin-alias");
    fake_global(x->f, "users;own\tname", addr, true);
    fake_global(x->f, "second", addr, true);
    assert_name(get(x, addr), "users;own\tname"); /* what user code gave comes first, and the first of that */
    fake_global(x->f, "n", other, true);
    assert_name(get(x, other), "n");
    assert_int_equal(rf_names_value(x->names, x->f->n_symbols - 1), other);
    assert_int_equal(rf_names_value(x->names, 5000), 0);
    /* read at most every 0.1 s */
    uint64_t now = x->epoch * 1000000000;
    fake_u64(x->f, x->f->rt.g_env + 8192 + 8 * 3, 0xdead00);
    rf_names_refresh(x->names, &x->f->memory, now + 99999999);
    assert_int_equal(rf_names_value(x->names, x->f->n_symbols - 1), other);
    rf_names_refresh(x->names, &x->f->memory, now + 100000000);
    assert_int_equal(rf_names_value(x->names, x->f->n_symbols - 1), 0xdead00);
}

/* What is met for the first time may have got its name, and its address, since the environment was last read. */
static void names_younger_than_the_last_look(void **state)
{
    struct fixture *x = *state;
    struct fake *f = x->f;
    struct fake_function fn = function();
    uint64_t old = fake_lambda(f, &fn), fresh = fake_lambda(f, &fn);
    fake_global(f, "work", old, true);
    assert_name(get(x, old), "work");
    fake_u64(f, f->rt.g_env + (uint64_t)f->rt.layout.env_vals, fresh);
    rf_names_refresh(x->names, &f->memory, x->epoch * 1000000000 + 1);
    assert_name(rf_lambdas_get(x->lambdas, &f->memory, fresh, ++x->epoch), "work");
    assert_name(rf_lambdas_get(x->lambdas, &f->memory, old, x->epoch), "work"); /* it was called so */
    fn.nfo = make_nfo(f);
    uint64_t other = fake_lambda(f, &fn);
    fake_put(f, old, fake_at(f, other, LAMBDA_BYTES), LAMBDA_BYTES);
    rf_names_refresh(x->names, &f->memory, x->epoch * 1000000000 - 1);
    assert_name(rf_lambdas_get(x->lambdas, &f->memory, old, ++x->epoch), "<fn:2>"); /* what stands there now is not */
}

static uint64_t dictionary(struct fake *f, const int64_t *key, const uint64_t *value, size_t n)
{
    int32_t narrow[2]; /* the engine chooses the width of symbols by how many there are */
    for (size_t i = 0; i < n; i++)
        narrow[i] = (int32_t)key[i];
    uint64_t part[] = {fake_object(f, RAY_SYMBOLS, 2, (int64_t)n, narrow, n * sizeof *narrow), fake_list(f, value, n)};
    return fake_object(f, RAY_DICT, 0, 2, part, sizeof part);
}

/* (set lib.math.mean (fn ...)) makes dictionaries. */
static void names_of_several_parts(void **state)
{
    struct fixture *x = *state;
    struct fake *f = x->f;
    struct fake_function fn = function();
    uint64_t mean = fake_lambda(f, &fn), both = fake_lambda(f, &fn), hidden = fake_lambda(f, &fn);
    int64_t key[] = {fake_symbol(f, "other"), fake_symbol(f, "mean")}, math = fake_symbol(f, "math");
    uint64_t value[] = {both, mean};
    uint64_t inner = dictionary(f, key, value, 2), outer = dictionary(f, &math, &inner, 1);
    fake_global(f, "lib", outer, true);
    fake_global(f, "own", both, true);
    fake_global(f, ".sys", dictionary(f, key, &hidden, 1), false); /* the engine's own */
    assert_name(get(x, mean), "lib.math.mean");
    assert_name(get(x, both), "own"); /* a name is better than a path */
    assert_name(get(x, hidden), "<fn>");
    /* dictionaries in themselves, and such as make no sense */
    uint64_t part[2];
    memcpy(part, fake_at(f, inner + RAY_DATA, sizeof part), sizeof part);
    fake_u64(f, part[1] + RAY_DATA, outer);
    fake_u64(f, part[1] + RAY_DATA + 8, inner);
    assert_name(get(x, fake_lambda(f, &fn)), "<fn>");
    static const int64_t length[] = {-1, 0, 1, 3, INT64_MAX};
    for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
        fake_u64(f, part[0] + RAY_LEN, (uint64_t)length[i]);
        assert_name(get(x, fake_lambda(f, &fn)), "<fn>");
    }
}

static uint64_t watched;
static unsigned reads_of_watched;

static bool read_and_count(const struct rf_memory *m, uint64_t addr, void *to, size_t n)
{
    reads_of_watched += addr == watched;
    return fake_read(m, addr, to, n);
}

/* A program that makes a function with each call: what is in dictionaries is read once in 0.1 s, not with each. */
static void functions_made_all_the_time(void **state)
{
    struct fixture *x = *state;
    struct fake *f = x->f;
    struct fake_function fn = function();
    uint64_t in_it = fake_lambda(f, &fn), late = fake_lambda(f, &fn), values[] = {in_it, in_it}, part[2];
    int64_t key[] = {fake_symbol(f, "first"), fake_symbol(f, "second")};
    uint64_t lib = dictionary(f, key, values, 2);
    fake_global(f, "lib", lib, true);
    memcpy(part, fake_at(f, lib + RAY_DATA, sizeof part), sizeof part);
    assert_name(get(x, in_it), "lib.first");
    watched = part[1] + RAY_DATA;
    f->memory.read = read_and_count;
    reads_of_watched = 0;
    uint64_t now = x->epoch * 1000000000;
    for (unsigned i = 0; i < 50; i++) {
        rf_names_refresh(x->names, &f->memory, now + i * 1000000);
        assert_name(rf_lambdas_get(x->lambdas, &f->memory, fake_lambda(f, &fn), ++x->epoch), "<fn>");
    }
    assert_in_range(reads_of_watched, 0, 1);
    /* one that is put into the dictionary meanwhile, and called at once, has its name after the next look */
    fake_u64(f, watched + 8, late);
    assert_name(rf_lambdas_get(x->lambdas, &f->memory, late, ++x->epoch), "<fn>");
    rf_names_refresh(x->names, &f->memory, now + 100000000);
    assert_name(rf_lambdas_get(x->lambdas, &f->memory, late, ++x->epoch), "lib.second");
    assert_in_range(reads_of_watched, 1, 2);
}

/* An environment that makes no sense, and names that cannot be read: the function is still a function. */
static void names_that_lie(void **state)
{
    struct fixture *x = *state;
    struct fake_function fn = function();
    uint64_t addr = fake_lambda(x->f, &fn);
    fake_global(x->f, "name", addr, true);
    fake_u64(x->f, x->f->rt.g_env, INT64_MAX); /* no such symbol */
    assert_name(get(x, addr), "<fn>");
    fake_u64(x->f, x->f->rt.g_env, (uint64_t)-1);
    assert_name(get(x, addr), "<fn>");
    fake_u64(x->f, x->f->rt.g_env, 1);
    assert_name(get(x, addr), "name");
    fake_u64(x->f, x->f->rt.g_env + 8 * 5, 5); /* left behind in a slot that is not in use */
    fake_u64(x->f, x->f->rt.g_env + 8192 + 8 * 5, addr);
    fake_i32(x->f, x->f->rt.g_env + 17408, -1); /* an absurd count: the names stay what they were */
    assert_name(get(x, addr), "name");
    fake_i32(x->f, x->f->rt.g_env + 17408, INT32_MAX);
    assert_name(get(x, addr), "name");
    assert_int_equal(rf_names_value(x->names, 5), 0);
    fake_i32(x->f, x->f->rt.g_env + 17408, 1);
    fake_u64(x->f, x->f->rt.g_env, 0); /* the empty name */
    assert_name(get(x, addr), "name");
    assert_name(get(x, fake_lambda(x->f, &fn)), "<fn>");
    x->f->n_globals = 0;
    uint64_t other = fake_lambda(x->f, &fn);
    fake_global(x->f, "", other, true);
    assert_name(get(x, other), "<fn>");
}

/* The address is what it was, the function is another one. */
static void an_address_is_reused(void **state)
{
    struct fixture *x = *state;
    struct fake *f = x->f;
    static const unsigned char code_b[] = {OP_LOADENV, 0, OP_RET};
    struct fake_function fn = function();
    fn.nfo = make_nfo(f);
    uint64_t addr = fake_lambda(f, &fn), old_code, old_body, old_nfo;
    memcpy(&old_code, fake_at(f, fake_slot(addr, LAMBDA_CODE), 8), 8);
    memcpy(&old_body, fake_at(f, fake_slot(addr, LAMBDA_BODY), 8), 8);
    memcpy(&old_nfo, fake_at(f, fake_slot(addr, LAMBDA_NFO), 8), 8);
    uint64_t slot[LAMBDA_SLOTS];
    memcpy(slot, fake_at(f, fake_slot(addr, 0), sizeof slot), sizeof slot);
    assert_false(rf_lambdas_known(x->lambdas, addr, slot));
    assert_int_equal(get(x, addr)->code.n, 4);
    assert_true(rf_lambdas_known(x->lambdas, addr, slot));
    /* other bytecode behind the same slots, then other slots */
    fake_u8(f, old_code + RAY_DATA + 1, 7);
    assert_int_equal(get(x, addr)->code.v[0].arg, 7);
    fake_u64(f, fake_slot(addr, LAMBDA_CODE), fake_byte_vector(f, code_b, sizeof code_b));
    assert_int_equal(get(x, addr)->code.n, 2);
    assert_false(rf_lambdas_known(x->lambdas, addr, slot));
    /* another first node, at the same place, with the same code */
    assert_int_equal(get(x, addr)->first_line, 3);
    fake_u64(f, old_body + RAY_DATA, NODE_H);
    assert_int_equal(get(x, addr)->first_line, 4);
    /* another source at the same place */
    static const uint64_t other_keys[] = {NODE_H};
    uint64_t other_span = fake_span(9, 0, 9, 1);
    uint64_t other = fake_nfo(f, "other.rfl", "other", other_keys, &other_span, 1);
    fake_put(f, old_nfo + RAY_DATA, fake_at(f, other + RAY_DATA, 32), 32);
    const struct rf_lambda *l = get(x, addr);
    assert_string_equal(l->file.s, "other.rfl");
    assert_int_equal(l->first_line, 10);
    /* and what is there is no compiled function any more */
    fake_u8(f, addr + RAY_ATTRS, 0);
    assert_null(get(x, addr));
    assert_false(rf_lambdas_known(x->lambdas, addr, slot));
}

static void what_is_no_function(void **state)
{
    struct fixture *x = *state;
    struct fake *f = x->f;
    struct fake_function fn = function();
    uint64_t addr = fake_lambda(f, &fn), code;
    memcpy(&code, fake_at(f, fake_slot(addr, LAMBDA_CODE), 8), 8);
    assert_null(get(x, addr + 8));
    assert_null(get(x, FAKE_BASE + FAKE_SIZE));
    assert_null(get(x, code));
    static const int64_t length[] = {-1, 0, RF_CODE_MAX + 1, INT64_MAX};
    for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
        fake_u64(f, code + RAY_LEN, (uint64_t)length[i]);
        assert_null(get(x, addr));
    }
    fake_u64(f, code + RAY_LEN, sizeof call_f);
    static const int32_t locals[] = {-1, INT32_MIN, INT32_MAX, 1025};
    for (size_t i = 0; i < sizeof locals / sizeof *locals; i++) {
        fake_i32(f, fake_slot(addr, LAMBDA_LOCALS), locals[i]);
        assert_null(get(x, addr));
    }
    fake_i32(f, fake_slot(addr, LAMBDA_LOCALS), 1);
    assert_non_null(get(x, addr));
    fake_i32(f, addr + RAY_RC, 0);
    assert_null(get(x, addr));
}

/* What the snapshot shows is not what the process has by now. */
static void freed_behind_the_snapshot(void **state)
{
    struct fixture *x = *state;
    struct fake_function fn = function();
    uint64_t addr = fake_lambda(x->f, &fn);
    struct fake *copy = malloc(sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, x->f, sizeof *copy);
    fake_u64(x->f, fake_slot(addr, LAMBDA_BODY), 0);
    assert_null(rf_lambdas_get(x->lambdas, &copy->memory, addr, ++x->epoch));
    memcpy(x->f->bytes, copy->bytes, sizeof copy->bytes);
    assert_non_null(rf_lambdas_get(x->lambdas, &copy->memory, addr, ++x->epoch));
    free(copy);
}

/* As an engine does it: copies what the probe asks for. */
static void probe(struct fixture *x, struct rf_snapshot *s)
{
    struct rf_probe p = {.rt = &x->f->rt, .lambdas = x->lambdas};
    struct rf_range want[RF_BLOCKS_MAX];
    for (unsigned round = 0; round < RF_ROUNDS_MAX; round++) {
        size_t n = rf_probe_select(&p, s, round, want, RF_BLOCKS_MAX - s->n_blocks);
        for (size_t i = 0; i < n; i++)
            if (rf_read(&x->f->memory, want[i].addr, s->bytes + s->n_bytes, want[i].size)) {
                s->block[s->n_blocks++] = (struct rf_block){want[i].addr, want[i].size, (uint32_t)s->n_bytes};
                s->n_bytes += want[i].size;
            }
    }
}

/* A function that another makes is gone a moment later, with its code and the list of its forms; the forms themselves
 * are the other's. */
static void freed_when_it_has_run(void **state)
{
    static unsigned char bytes[RF_BYTES_MAX];
    static struct rf_snapshot s;
    struct fixture *x = *state;
    struct fake *f = x->f;
    struct fake_function fn = function();
    fn.nfo = make_nfo(f);
    for (unsigned i = 0; i < 2; i++) { /* the second time it is known */
        uint64_t begin = f->used, addr = fake_lambda(f, &fn), end = f->used;
        s = (struct rf_snapshot){.memory = {.read = rf_snapshot_read}, .bytes = bytes};
        s.reg[RF_R15] = fake_exec(f, addr, 2, 0, 0);
        probe(x, &s);
        memset(f->bytes + begin, 0x55, end - begin);
        struct rf_overlay view = rf_overlay(&s, &f->memory);
        rf_lambdas_hold(x->lambdas, &s.memory);
        const struct rf_lambda *l = rf_lambdas_get(x->lambdas, &view.memory, addr, ++x->epoch);
        rf_lambdas_hold(x->lambdas, NULL);
        assert_name(l, "<fn:2>");
        assert_int_equal(l->first_line, 3);
        f->used = begin;
    }
}

static uint32_t line_at(const struct rf_lambda *l, uint32_t ip)
{
    struct rf_span span;
    return rf_lambda_span(l, ip, &span) ? span.line + 1u : 0;
}

static void spans_of_instructions(void **state)
{
    struct fixture *x = *state;
    struct fake_function fn = function();
    /* ip is behind an instruction: that of the first one, [0, 2), is 2. Two entries for offset 2: the first counts. */
    uint64_t dbg[] = {0, fake_span(2, 4, 2, 8), 2, fake_span(3, 4, 4, 7), 2, fake_span(4, 6, 4, 6)};
    fn.nfo = make_nfo(x->f);
    fn.dbg = dbg;
    fn.n_dbg = 6;
    const struct rf_lambda *l = get(x, fake_lambda(x->f, &fn));
    assert_non_null(l);
    assert_int_equal(line_at(l, 0), 3);
    assert_int_equal(line_at(l, 1), 3);
    assert_int_equal(line_at(l, 2), 3);
    assert_int_equal(line_at(l, 3), 4);
    assert_int_equal(line_at(l, 7), 4);
    assert_int_equal(line_at(l, 70000), 4);
    /* the dead parameter's span is repaired to the form's */
    dbg[0] = fake_span(1, 7, 1, 7);
    dbg[1] = fake_span(1, 7, 1, 7);
    dbg[0] = 1;
    l = get(x, fake_lambda(x->f, &fn));
    assert_non_null(l);
    assert_int_equal(line_at(l, 1), 0); /* before the first entry */
    assert_int_equal(line_at(l, 2), 3);
}

static void a_corrupt_debug_vector(void **state)
{
    struct fixture *x = *state;
    struct fake *f = x->f;
    struct fake_function fn = function();
    /* half a pair, offsets outside the code, negative, going back */
    uint64_t dbg[] = {4, fake_span(2, 4, 2, 8), 2, fake_span(9, 0, 9, 0), 4000, 1, (uint64_t)-1, 1,
                      5, fake_span(3, 4, 4, 7), 6};
    fn.nfo = make_nfo(f);
    fn.dbg = dbg;
    fn.n_dbg = sizeof dbg / sizeof *dbg;
    uint64_t addr = fake_lambda(f, &fn), at;
    const struct rf_lambda *l = get(x, addr);
    assert_non_null(l);
    assert_int_equal(l->n_debug, 2);
    assert_int_equal(line_at(l, 4), 0);
    assert_int_equal(line_at(l, 5), 3);
    assert_int_equal(line_at(l, 6), 4);
    /* a length that is absurd, a vector of another type, nothing */
    memcpy(&at, fake_at(f, fake_slot(addr, LAMBDA_DBG), 8), 8);
    static const int64_t length[] = {-1, INT64_MAX, 1 << 20, 1, 0};
    for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
        fn.dbg = NULL;
        fn.n_dbg = 0;
        fake_u64(f, at + RAY_LEN, (uint64_t)length[i]);
        addr = fake_lambda(f, &fn);
        fake_u64(f, fake_slot(addr, LAMBDA_DBG), at);
        l = get(x, addr);
        assert_non_null(l);
        assert_int_equal(l->n_debug, 0);
    }
}

/* Without a debug vector the body is walked beside the bytecode. A length that overflows is no length: the elements
 * read last would be taken for those of the second form. */
static void a_body_without_places(void **state)
{
    static const unsigned char two_ifs[] = {OP_LOADENV, 0, OP_JMPF, 0,          5, OP_LOADENV, 0, OP_JMP, 0,          2,
                                            OP_LOADENV, 0, OP_POP,  OP_LOADENV, 0, OP_JMPF,    0, 5,      OP_LOADENV, 0,
                                            OP_JMP,     0, 2,       OP_LOADENV, 0, OP_RET};
    struct fixture *x = *state;
    struct fake *f = x->f;
    uint64_t name = fake_symbol_atom(f, fake_symbol(f, "x"));
    uint64_t element[] = {fake_symbol_atom(f, fake_symbol(f, "if")), name, name, name};
    uint64_t body[] = {fake_list(f, element, 4), fake_list(f, element, 4)};
    uint64_t spans[] = {fake_span(1, 0, 1, 9), fake_span(2, 0, 2, 9)};
    struct fake_function fn = {.code = two_ifs,
                               .code_len = sizeof two_ifs,
                               .body = body,
                               .n_body = 2,
                               .n_locals = 1,
                               .nfo = fake_nfo(f, "f.rfl", text, body, spans, 2)};
    const struct rf_lambda *l = get(x, fake_lambda(f, &fn));
    assert_non_null(l);
    assert_int_equal(line_at(l, 5), 2);
    assert_int_equal(line_at(l, 15), 3);
    fake_u64(f, body[1] + RAY_LEN, UINT64_C(0x8000000000000001));
    l = get(x, fake_lambda(f, &fn));
    assert_non_null(l);
    assert_int_equal(l->n_debug, 0);
}

/* Made at run time without a source: it is the one in which their body is written, whatever that is. Not where
 * something else is written at its place: that key is of a node that is gone. */
static void sources_by_bodies(void **state)
{
    static const char *const maps = "(set g (fn [x]\n"
                                    "  (fn [q]\n"
                                    "    [1 2])\n"
                                    "  (fn [q]\n"
                                    "    qty)\n"
                                    "  (fn [q]\n"
                                    "    (f x))\n"
                                    "  (fn [q]\n"
                                    "    -27)\n"
                                    "  (fn [q]\n"
                                    "    \"text\")))\n";
    static const unsigned char constant[] = {OP_LOADCONST, 0, OP_RET};
    enum { FOUND = 5, ALL = 8 };
    struct fixture *x = *state;
    struct fake *f = x->f;
    uint64_t one = 1, name = fake_symbol_atom(f, fake_symbol(f, "f"));
    uint64_t node[ALL + FOUND] = {fake_longs(f, &one, 1),
                                  fake_symbol_atom(f, fake_symbol(f, "qty")),
                                  fake_list(f, &name, 1),
                                  fake_object(f, RAY_I64_ATOM, 0, -27, NULL, 0),
                                  fake_string(f, "text"),
                                  fake_symbol_atom(f, fake_symbol(f, "qt")),
                                  fake_object(f, RAY_I64_ATOM, 0, -2, NULL, 0),
                                  fake_longs(f, &one, 1)};
    static const unsigned written[ALL] = {0, 1, 2, 3, 4, 1, 3, 2};
    uint64_t spans[ALL + FOUND];
    for (unsigned i = 0; i < ALL; i++)
        spans[i] = fake_span(2 * written[i] + 2, 4, 2 * written[i] + 2, 8);
    for (unsigned i = 0; i < FOUND; i++) { /* the function forms, whose nodes nobody reads */
        node[ALL + i] = 0x1000 + i;
        spans[ALL + i] = fake_span(2 * i + 1, 2, 2 * i + 2, 10);
    }
    struct fake_function g = function();
    g.nfo = fake_nfo(f, "f.rfl", maps, node, spans, ALL + FOUND);
    fake_global(f, "g", fake_lambda(f, &g), true);
    for (unsigned i = 0; i < ALL; i++) {
        struct fake_function fn = {.code = constant, .code_len = sizeof constant, .body = &node[i], .n_body = 1};
        const struct rf_lambda *l = get(x, fake_lambda(f, &fn));
        char want[16] = "<fn>";
        if (i < FOUND)
            snprintf(want, sizeof want, "<fn:%u>", 2 * i + 2);
        assert_name(l, want);
        assert_int_equal(l->first_line, i < FOUND ? 2 * i + 3 : 0);
        assert_int_equal(l->file.n, i < FOUND ? 5 : 0);
    }
}

/* The list that is a body is freed with the function: it is copied while the thread is held. */
static void bodies_are_held(void **state)
{
    struct fixture *x = *state;
    struct fake_function fn = function();
    uint64_t addr = fake_lambda(x->f, &fn), body;
    static struct rf_snapshot s;
    struct rf_range out[RF_BLOCKS_MAX];
    struct rf_probe p = {.rt = &x->f->rt};
    s = (struct rf_snapshot){.memory = {.read = rf_snapshot_read},
                             .bytes = fake_at(x->f, addr, LAMBDA_BYTES),
                             .n_bytes = LAMBDA_BYTES,
                             .block = {{addr, LAMBDA_BYTES, 0}},
                             .n_blocks = 1};
    memcpy(&body, fake_at(x->f, fake_slot(addr, LAMBDA_BODY), 8), 8);
    size_t n = rf_probe_select(&p, &s, 2, out, RF_BLOCKS_MAX);
    while (n > 0 && !(out[n - 1].addr == body && out[n - 1].size >= RAY_HEADER + 8 * 2))
        n--;
    assert_int_not_equal(n, 0);
}

/* Functions come by the thousand; the one that all samples have is not dropped for them, and what one sample
 * uses stays while it uses it. */
static void more_functions_than_are_kept(void **state)
{
    struct fixture *x = *state;
    struct fake_function fn = function();
    uint64_t first = fake_lambda(x->f, &fn), slot[LAMBDA_SLOTS];
    static uint64_t other[RF_LAMBDAS_KEPT];
    memcpy(slot, fake_at(x->f, fake_slot(first, 0), sizeof slot), sizeof slot);
    for (size_t i = 0; i < RF_LAMBDAS_KEPT; i++) /* they share all but their address */
        other[i] = fake_object(x->f, RAY_LAMBDA, RAY_ATTR_COMPILED, 0, slot, sizeof slot);
    for (size_t i = 0; i < RF_LAMBDAS_KEPT; i++) {
        const struct rf_lambda *l = get(x, first);
        assert_non_null(l);
        assert_non_null(rf_lambdas_get(x->lambdas, &x->f->memory, other[i], x->epoch));
        assert_true(rf_lambdas_known(x->lambdas, first, slot));
        assert_int_equal(l->addr, first);
    }
    assert_true(rf_lambdas_known(x->lambdas, other[RF_LAMBDAS_KEPT - 1], slot));
    assert_false(rf_lambdas_known(x->lambdas, other[0], slot));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_function_is_decoded, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(names, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(names_younger_than_the_last_look, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(names_of_several_parts, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(functions_made_all_the_time, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(names_that_lie, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(an_address_is_reused, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(what_is_no_function, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(freed_behind_the_snapshot, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(freed_when_it_has_run, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(spans_of_instructions, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(a_corrupt_debug_vector, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(a_body_without_places, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(sources_by_bodies, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(bodies_are_held, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(more_functions_than_are_kept, open_fixture, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
