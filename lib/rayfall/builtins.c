/* builtins.c: the builtin objects of the global environment. */
#include "builtins.h"

#include "object.h"
#include "target/pages.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>

struct rf_builtins {
    const struct rf_runtime *rt;
    const struct rf_memory *live;
    struct rf_builtin *v; /* ascending by object */
    struct rf_text *name; /* parallel to v; read when it is first asked for */
    size_t n;
};

static int by_object(const void *a, const void *b)
{
    const struct rf_builtin *x = a, *y = b;
    return x->object < y->object ? -1 : x->object > y->object;
}

/* Of the names that one object has, the first comes first: the engine gave it. */
static int by_object_and_symbol(const void *a, const void *b)
{
    const struct rf_builtin *x = a, *y = b;
    int c = by_object(a, b);
    return c ? c : x->symbol < y->symbol ? -1 : x->symbol > y->symbol;
}

static size_t drop_aliases(struct rf_builtin *v, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!kept || v[kept - 1].object != v[i].object)
            v[kept++] = v[i];
    return kept;
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
    if (b) {
        b->rt = rt;
        b->live = live;
        b->v = calloc((size_t)count + 1, sizeof *b->v);
        b->name = calloc((size_t)count + 1, sizeof *b->name);
    }
    if (!b || !b->v || !b->name) {
        rf_builtins_free(b);
        return NULL;
    }
    struct rf_pages pages;
    rf_pages_open(&pages, live);
    for (int32_t i = 0; i < count; i++)
        b->n += read_one(&b->v[b->n], rt, &pages.memory, (uint64_t)i);
    rf_pages_close(&pages);
    qsort(b->v, b->n, sizeof *b->v, by_object_and_symbol);
    b->n = drop_aliases(b->v, b->n);
    return b;
}

void rf_builtins_free(struct rf_builtins *b)
{
    if (!b)
        return;
    for (size_t i = 0; b->name && i < b->n; i++)
        free((char *)b->name[i].s);
    free(b->name);
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
    const char *own = b->fn;
    while (*own && *own != '.' && *own == *function) {
        own++;
        function++;
    }
    if (*own && *own != '.')
        return false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (rf_symbol_is(function, parts[i]))
            return true;
    return false;
}

const struct rf_builtin *rf_builtins_running(const struct rf_builtins *b, const char *function)
{
    for (size_t i = 0; i < b->n; i++)
        if (rf_builtin_runs(&b->v[i], function))
            return &b->v[i];
    return NULL;
}

bool rf_builtins_any_runs(const struct rf_builtins *b, const char *function)
{
    return rf_builtins_running(b, function) != NULL;
}

struct rf_text rf_builtins_name(const struct rf_builtins *b, const struct rf_builtin *one)
{
    struct rf_text *name = &b->name[one - b->v];
    char *number;
    if (!name->s && (!rf_symbol_read(b->live, b->rt, one->symbol, name) || !name->n)) {
        free((char *)name->s);
        int n = asprintf(&number, "#%" PRId64, one->symbol);
        *name = n < 0 ? (struct rf_text){NULL, 0} : (struct rf_text){number, (size_t)n};
    }
    return *name;
}
