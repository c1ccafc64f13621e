/* names.c: a copy of the global environment's arrays, renewed now and then. */
#include "names.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

enum { GLOBALS_MAX = 1024 };
static const uint64_t REFRESH_NS = 100000000;

struct table {
    int64_t key[GLOBALS_MAX];
    uint64_t value[GLOBALS_MAX];
    unsigned char user[GLOBALS_MAX];
    size_t n;
};

struct rf_names {
    const struct rf_runtime *rt;
    uint64_t read_ns, generation;
    struct table now, fresh;
};

struct rf_names *rf_names_new(const struct rf_runtime *rt)
{
    struct rf_names *n = calloc(1, sizeof *n);
    if (n)
        n->rt = rt;
    return n;
}

void rf_names_free(struct rf_names *n)
{
    free(n);
}

static bool read_table(const struct rf_runtime *rt, const struct rf_memory *live, struct table *t)
{
    const struct rf_layout *l = &rt->layout;
    int32_t count;
    memset(t, 0, sizeof *t);
    if (!rf_read_i32(live, rt->g_env + (uint64_t)l->env_count, &count) || count < 0 || count > l->env_max)
        return false;
    t->n = count < GLOBALS_MAX ? (size_t)count : GLOBALS_MAX;
    return rf_read(live, rt->g_env, t->key, t->n * sizeof *t->key) &&
           rf_read(live, rt->g_env + (uint64_t)l->env_vals, t->value, t->n * sizeof *t->value) &&
           rf_read(live, rt->g_env + (uint64_t)l->env_user, t->user, t->n);
}

void rf_names_refresh(struct rf_names *n, const struct rf_memory *live, uint64_t now_ns)
{
    if (n->read_ns && now_ns - n->read_ns < REFRESH_NS)
        return;
    n->read_ns = now_ns;
    if (!read_table(n->rt, live, &n->fresh) || memcmp(&n->fresh, &n->now, sizeof n->now) == 0)
        return;
    n->now = n->fresh;
    n->generation++;
}

uint64_t rf_names_generation(const struct rf_names *n)
{
    return n->generation;
}

bool rf_names_find(const struct rf_names *n, const struct rf_memory *live, uint64_t addr, struct rf_text *out)
{
    const struct table *t = &n->now;
    size_t first = t->n;
    for (size_t i = 0; i < t->n; i++) {
        if (t->value[i] != addr)
            continue;
        if (first == t->n)
            first = i;
        if (t->user[i]) {
            first = i;
            break;
        }
    }
    return first < t->n && rf_symbol_read(live, n->rt, t->key[first], out);
}

size_t rf_names_values(const struct rf_names *n, const uint64_t **values)
{
    *values = n->now.value;
    return n->now.n;
}

uint64_t rf_names_value(const struct rf_names *n, int64_t symbol)
{
    for (size_t i = 0; i < n->now.n; i++)
        if (n->now.key[i] == symbol)
            return n->now.value[i];
    return 0;
}
