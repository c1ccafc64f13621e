/* fake_memory.h: a process that holds rayforce's objects and nothing else, for tests of what decodes them.
 *
 * An arena stands in for the address space: reads inside it are served, all others fail, as in a process. Objects are
 * laid out as rayfall/object.h says, the globals as the catalog's entry for release 2.4.0 says. A test can change
 * the arena while it is being read, as a process that runs does. */
#ifndef RF_TEST_FAKE_MEMORY_H
#define RF_TEST_FAKE_MEMORY_H

#include "layout/layout.h"
#include "rayfall/exec.h"
#include "rayfall/names.h"
#include "rayfall/object.h"

#include <stdlib.h>
#include <string.h>

#define FAKE_BASE UINT64_C(0x7f5500000000)

enum { FAKE_SIZE = 1 << 20, FAKE_SYMBOLS = 512, FAKE_EXEC_ALIGN = 0x8000 };

struct fake {
    struct rf_memory memory; /* first: its read gets the arena back from it */
    unsigned char bytes[FAKE_SIZE];
    uint64_t used;
    size_t reads;
    void (*before_read)(struct fake *f, uint64_t addr); /* what the process does meanwhile */
    struct rf_runtime rt;
    uint64_t strings; /* the symbol table's array */
    int32_t n_symbols, n_globals;
};

static inline bool fake_read(const struct rf_memory *m, uint64_t addr, void *to, size_t n)
{
    struct fake *f = (struct fake *)(uintptr_t)m;
    f->reads++;
    if (f->before_read)
        f->before_read(f, addr);
    if (addr < FAKE_BASE || addr - FAKE_BASE > FAKE_SIZE || n > FAKE_SIZE - (addr - FAKE_BASE))
        return false;
    memcpy(to, f->bytes + (addr - FAKE_BASE), n);
    return true;
}

/* Where an address of the process is here. The test's own mistake when it is nowhere. */
static inline unsigned char *fake_at(struct fake *f, uint64_t addr, size_t n)
{
    if (addr < FAKE_BASE || n > FAKE_SIZE || addr - FAKE_BASE > FAKE_SIZE - n)
        abort();
    return f->bytes + (addr - FAKE_BASE);
}

static inline void fake_put(struct fake *f, uint64_t addr, const void *from, size_t n)
{
    if (n)
        memcpy(fake_at(f, addr, n), from, n);
}

static inline void fake_u64(struct fake *f, uint64_t addr, uint64_t v)
{
    fake_put(f, addr, &v, sizeof v);
}

static inline void fake_i32(struct fake *f, uint64_t addr, int32_t v)
{
    fake_put(f, addr, &v, sizeof v);
}

static inline void fake_u8(struct fake *f, uint64_t addr, unsigned char v)
{
    fake_put(f, addr, &v, sizeof v);
}

static inline uint64_t fake_alloc(struct fake *f, size_t n, uint64_t align)
{
    uint64_t at = (f->used + align - 1) / align * align;
    f->used = at + n;
    fake_at(f, FAKE_BASE + at, n); /* is there room? */
    return FAKE_BASE + at;
}

static inline uint64_t fake_object(struct fake *f, int type, unsigned attrs, int64_t len, const void *data, size_t n)
{
    uint64_t at = fake_alloc(f, RAY_HEADER + n, 64);
    fake_u8(f, at + RAY_ORDER, 6);
    fake_u8(f, at + RAY_TYPE, (unsigned char)type);
    fake_u8(f, at + RAY_ATTRS, (unsigned char)attrs);
    fake_i32(f, at + RAY_RC, 1);
    fake_put(f, at + RAY_LEN, &len, sizeof len);
    fake_put(f, at + RAY_DATA, data, n);
    return at;
}

static inline uint64_t fake_list(struct fake *f, const uint64_t *element, size_t n)
{
    return fake_object(f, RAY_LIST, 0, (int64_t)n, element, 8 * n);
}

static inline uint64_t fake_longs(struct fake *f, const uint64_t *v, size_t n)
{
    return fake_object(f, RAY_I64, 0, (int64_t)n, v, 8 * n);
}

static inline uint64_t fake_byte_vector(struct fake *f, const void *bytes, size_t n)
{
    return fake_object(f, RAY_U8, 0, (int64_t)n, bytes, n);
}

/* Less than seven characters stand in the header, as the engine has it. */
static inline uint64_t fake_string(struct fake *f, const char *s)
{
    size_t n = strlen(s);
    int64_t value = 0;
    if (n >= 7) {
        value = (int64_t)fake_byte_vector(f, s, n);
    } else if (n) {
        char head[8] = {(char)n};
        memcpy(head + 1, s, n);
        memcpy(&value, head, sizeof value);
    }
    return fake_object(f, RAY_STRING_ATOM, 0, value, NULL, 0);
}

static inline int64_t fake_symbol(struct fake *f, const char *s)
{
    if (f->n_symbols == FAKE_SYMBOLS)
        abort();
    fake_u64(f, f->strings + 8 * (uint64_t)f->n_symbols, fake_string(f, s));
    fake_i32(f, f->rt.g_sym + 24, ++f->n_symbols);
    return f->n_symbols - 1;
}

/* A name in a function's constants. */
static inline uint64_t fake_symbol_atom(struct fake *f, int64_t symbol)
{
    return fake_object(f, RAY_SYMBOL_ATOM, 0, symbol, NULL, 0);
}

/* Defines a global and returns its symbol. */
static inline int64_t fake_global(struct fake *f, const char *name, uint64_t value, bool user)
{
    const struct rf_layout *l = &f->rt.layout;
    int64_t symbol = fake_symbol(f, name);
    uint64_t i = (uint64_t)f->n_globals++;
    fake_u64(f, f->rt.g_env + 8 * i, (uint64_t)symbol);
    fake_u64(f, f->rt.g_env + (uint64_t)l->env_vals + 8 * i, value);
    fake_u8(f, f->rt.g_env + (uint64_t)l->env_user + i, user);
    fake_i32(f, f->rt.g_env + (uint64_t)l->env_count, f->n_globals);
    return symbol;
}

static inline uint64_t fake_builtin(struct fake *f, int type, const char *name, uint64_t native)
{
    uint64_t at = fake_object(f, type, 0, (int64_t)native, NULL, 0);
    size_t n = strlen(name);
    fake_put(f, at + RAY_INLINE_NAME, name, n < 13 ? n : 13);
    return at;
}

/* 0-based, as rayforce stores it. */
static inline uint64_t fake_span(unsigned line, unsigned col, unsigned end_line, unsigned end_col)
{
    return (uint64_t)line | (uint64_t)end_line << 16 | (uint64_t)col << 32 | (uint64_t)end_col << 48;
}

static inline uint64_t fake_nfo(struct fake *f, const char *file, const char *text, const uint64_t *keys,
                                const uint64_t *spans, size_t n)
{
    uint64_t element[4] = {fake_string(f, file), fake_string(f, text), fake_longs(f, keys, n), fake_longs(f, spans, n)};
    return fake_list(f, element, 4);
}

struct fake_function {
    const void *code;
    size_t code_len;
    const uint64_t *consts;
    size_t n_consts;
    const uint64_t *body; /* nodes */
    size_t n_body;
    const uint64_t *dbg; /* offset, span, offset, span ... */
    size_t n_dbg;
    uint64_t nfo;
    int32_t n_locals;
};

static inline uint64_t fake_lambda(struct fake *f, const struct fake_function *fn)
{
    uint64_t slot[LAMBDA_SLOTS] = {0};
    slot[LAMBDA_BODY] = fake_list(f, fn->body, fn->n_body);
    slot[LAMBDA_CODE] = fake_byte_vector(f, fn->code, fn->code_len);
    slot[LAMBDA_CONSTS] = fake_list(f, fn->consts, fn->n_consts);
    slot[LAMBDA_LOCALS] = (uint64_t)fn->n_locals;
    slot[LAMBDA_NFO] = fn->nfo;
    slot[LAMBDA_DBG] = fn->n_dbg ? fake_longs(f, fn->dbg, fn->n_dbg) : 0;
    return fake_object(f, RAY_LAMBDA, RAY_ATTR_COMPILED, 0, slot, sizeof slot);
}

static inline uint64_t fake_slot(uint64_t lambda, unsigned slot)
{
    return lambda + RAY_HEADER + 8 * slot;
}

/* An execution block in a buddy block of its own; its stacks are empty but for what the indexes say. */
static inline uint64_t fake_exec(struct fake *f, uint64_t fn, int32_t sp, int32_t fp, int32_t rp)
{
    const struct rf_layout *l = &f->rt.layout;
    uint64_t block = fake_alloc(f, FAKE_EXEC_ALIGN, FAKE_EXEC_ALIGN), at = block + RAY_HEADER;
    fake_u8(f, block + RAY_ORDER, (unsigned char)l->exec_order);
    fake_i32(f, block + RAY_RC, 1);
    fake_i32(f, at + (uint64_t)l->exec_sp, sp);
    fake_i32(f, at + (uint64_t)l->exec_fp, fp);
    fake_i32(f, at + (uint64_t)l->exec_rp, rp);
    fake_u64(f, at + (uint64_t)l->exec_fn, fn);
    return at;
}

static inline void fake_return(struct fake *f, uint64_t exec, unsigned i, uint64_t fn, int32_t fp, int32_t ip)
{
    uint64_t at = exec + (uint64_t)f->rt.layout.exec_rs + 16 * i;
    fake_u64(f, at, fn);
    fake_i32(f, at + 8, fp);
    fake_i32(f, at + 12, ip);
}

static inline bool fake_layout(struct rf_layout *out, const char *release)
{
    unsigned line;
    for (const char *const *text = rf_catalog; *text; text++)
        if (rf_layout_parse(out, *text, &line) && strcmp(out->release, release) == 0)
            return true;
    return false;
}

/* The arena with empty globals. NULL when out of memory or without a catalog. */
static inline struct fake *fake_new(void)
{
    struct fake *f = calloc(1, sizeof *f);
    if (!f || !fake_layout(&f->rt.layout, "2.4.0")) {
        free(f);
        return NULL;
    }
    f->memory.read = fake_read;
    f->rt.opcodes = f->rt.layout.opcodes;
    f->rt.g_env = fake_alloc(f, (size_t)f->rt.layout.size_g_env, 64);
    f->rt.g_sym = fake_alloc(f, (size_t)f->rt.layout.size_g_sym, 64);
    f->strings = fake_alloc(f, 8 * FAKE_SYMBOLS, 64);
    fake_u64(f, f->rt.g_sym + 16, f->strings);
    fake_symbol(f, "");
    return f;
}

#endif
