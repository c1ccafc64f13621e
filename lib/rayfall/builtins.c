/* builtins.c: the builtin objects of the global environment. */
#include "builtins.h"

#include "object.h"
#include "target/pages.h"

#include <stdlib.h>

struct rf_builtins {
    struct rf_builtin *v; /* ascending by object */
    size_t n;
};

static int by_object(const void *a, const void *b)
{
    const struct rf_builtin *x = a, *y = b;
    return x->object < y->object ? -1 : x->object > y->object;
}

static bool read_one(struct rf_builtin *b, const struct rf_runtime *rt, const struct rf_memory *live, uint64_t i)
{
    struct rf_obj o;
    struct rf_symbol fn;
    if (!rf_read(live, rt->g_env + 8 * i, &b->symbol, sizeof b->symbol) ||
        !rf_read_u64(live, rt->g_env + (uint64_t)rt->layout.env_vals + 8 * i, &b->object) ||
        !rf_obj_read(live, b->object, &o) || o.type < RAY_UNARY || o.type > RAY_VARY)
        return false;
    b->native = (uint64_t)o.len;
    b->type = o.type;
    b->attrs = o.attrs;
    if (!rf_image_function_at(rt->image, b->native, &fn))
        return false;
    b->fn = fn.name;
    return true;
}

struct rf_builtins *rf_builtins_new(const struct rf_runtime *rt, const struct rf_memory *live)
{
    struct rf_builtins *b = calloc(1, sizeof *b);
    int32_t count = 0;
    if (!b || !rf_read_i32(live, rt->g_env + (uint64_t)rt->layout.env_count, &count) || count < 0 ||
        count > rt->layout.env_max)
        count = 0;
    if (b)
        b->v = calloc((size_t)count + 1, sizeof *b->v);
    if (!b || !b->v) {
        free(b);
        return NULL;
    }
    struct rf_pages pages;
    rf_pages_open(&pages, live);
    for (int32_t i = 0; i < count; i++)
        b->n += read_one(&b->v[b->n], rt, &pages.memory, (uint64_t)i);
    rf_pages_close(&pages);
    qsort(b->v, b->n, sizeof *b->v, by_object);
    return b;
}

void rf_builtins_free(struct rf_builtins *b)
{
    if (!b)
        return;
    free(b->v);
    free(b);
}

const struct rf_builtin *rf_builtins_object(const struct rf_builtins *b, uint64_t object)
{
    struct rf_builtin key = {.object = object};
    return bsearch(&key, b->v, b->n, sizeof key, by_object);
}

bool rf_builtin_runs(const struct rf_builtin *b, const char *function)
{
    static const char *const parts[] = {"", "_impl", "_body", "_inner"};
    size_t own = rf_symbol_base(b->fn), n = rf_symbol_base(function);
    if (n < own || memcmp(b->fn, function, own) != 0)
        return false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strlen(parts[i]) == n - own && memcmp(parts[i], function + own, n - own) == 0)
            return true;
    return false;
}

bool rf_builtins_any_runs(const struct rf_builtins *b, const char *function)
{
    for (size_t i = 0; i < b->n; i++)
        if (rf_builtin_runs(&b->v[i], function))
            return true;
    return false;
}
