/* names.c: a copy of the global environment's arrays, and of what is in its dictionaries, renewed now and then. */
#include "names.h"

#include "object.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

enum {
    GLOBALS_MAX = 1024,
    MEMBERS_MAX = 1024,
    DICTIONARY_MAX = 256, /* larger ones hold data */
    PATH_MAX_PARTS = 8,
};
static const uint64_t REFRESH_NS = 100000000;

struct table {
    int64_t key[GLOBALS_MAX];
    uint64_t value[GLOBALS_MAX];
    unsigned char user[GLOBALS_MAX];
    size_t n;
};

/* A dictionary that user code gave a name, or what is in one: "lib.math.mean" is a function in a dictionary in a
 * dictionary (env_set_dotted in lang/env.c). */
struct member {
    int64_t key;
    uint64_t value;
    int64_t in; /* index of the dictionary that it is in; -1: a global */
};

struct members {
    bool known;  /* else read when they are first asked for */
    bool missed; /* something was not found in them: they may be older than it is */
    size_t n;
    struct member v[MEMBERS_MAX];
};

struct rf_names {
    const struct rf_runtime *rt;
    uint64_t read_ns, generation;
    bool renewed; /* since the last refresh */
    struct table now, fresh;
    struct members *members, *spare; /* of the dictionaries in `now`; and room for them */
};

struct rf_names *rf_names_new(const struct rf_runtime *rt)
{
    struct rf_names *n = calloc(1, sizeof *n);
    if (!n)
        return NULL;
    n->rt = rt;
    n->members = calloc(1, sizeof *n->members);
    n->spare = calloc(1, sizeof *n->spare);
    if (n->members && n->spare)
        return n;
    rf_names_free(n);
    return NULL;
}

void rf_names_free(struct rf_names *n)
{
    if (!n)
        return;
    free(n->members);
    free(n->spare);
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

void rf_names_renew(struct rf_names *n, const struct rf_memory *live)
{
    if (n->renewed)
        return;
    n->renewed = true;
    if (!read_table(n->rt, live, &n->fresh) || memcmp(&n->fresh, &n->now, sizeof n->now) == 0)
        return;
    n->now = n->fresh;
    n->members->known = false;
    n->generation++;
}

static void add_member(struct members *s, const struct rf_memory *live, int64_t key, uint64_t value, size_t in)
{
    struct rf_obj o;
    if (s->n < MEMBERS_MAX && rf_obj_read(live, value, &o) && (o.type == RAY_DICT || o.type == RAY_LAMBDA))
        s->v[s->n++] = (struct member){key, value, (int64_t)in};
}

/* What is in member `in`, if that is a dictionary whose keys are symbols and whose values are any. */
static void add_members(struct members *s, const struct rf_memory *live, size_t in)
{
    uint64_t part[2], value[DICTIONARY_MAX];
    unsigned char symbols[8 * DICTIONARY_MAX];
    struct rf_obj dict, keys, values;
    if (!rf_obj_read(live, s->v[in].value, &dict) || dict.type != RAY_DICT ||
        !rf_read(live, s->v[in].value + RAY_DATA, part, sizeof part) ||
        !rf_obj_vector(live, part[0], RAY_SYMBOLS, DICTIONARY_MAX, &keys) ||
        !rf_obj_vector(live, part[1], RAY_LIST, DICTIONARY_MAX, &values) || keys.len != values.len)
        return;
    size_t width = (size_t)1 << (keys.attrs & 3), len = (size_t)keys.len;
    if (!rf_read(live, part[0] + RAY_DATA, symbols, width * len) ||
        !rf_read(live, part[1] + RAY_DATA, value, sizeof *value * len))
        return;
    for (size_t i = 0; i < len; i++) {
        int64_t key = 0; /* little endian, as the target */
        memcpy(&key, symbols + width * i, width);
        add_member(s, live, key, value[i], in);
    }
}

static void read_members(const struct rf_names *n, const struct rf_memory *live, struct members *s)
{
    struct rf_obj o;
    s->known = true;
    s->missed = false;
    s->n = 0;
    for (size_t i = 0; i < n->now.n && s->n < MEMBERS_MAX; i++)
        if (n->now.user[i] && rf_obj_read(live, n->now.value[i], &o) && o.type == RAY_DICT)
            s->v[s->n++] = (struct member){n->now.key[i], n->now.value[i], -1};
    for (size_t i = 0; i < s->n; i++)
        add_members(s, live, i);
}

/* What was not found may have been put into a dictionary since, which leaves the environment as it was. */
static void look_again(struct rf_names *n, const struct rf_memory *live)
{
    struct members *old = n->members;
    read_members(n, live, n->spare);
    if (n->spare->n != old->n || memcmp(n->spare->v, old->v, old->n * sizeof *old->v) != 0)
        n->generation++;
    n->members = n->spare;
    n->spare = old;
}

void rf_names_refresh(struct rf_names *n, const struct rf_memory *live, uint64_t now_ns)
{
    n->renewed = false;
    if (n->read_ns && now_ns - n->read_ns < REFRESH_NS)
        return;
    n->read_ns = now_ns;
    rf_names_renew(n, live);
    if (n->members->missed)
        look_again(n, live);
    else
        n->members->known = false;
}

uint64_t rf_names_generation(const struct rf_names *n)
{
    return n->generation;
}

/* The names on the way to a member, with dots between them. */
static bool path_of(const struct rf_names *n, const struct rf_memory *live, int64_t at, struct rf_text *out)
{
    struct rf_text part[PATH_MAX_PARTS];
    size_t parts = 0, size = 0;
    char *to = NULL;
    while (at >= 0 && parts < PATH_MAX_PARTS && rf_symbol_read(live, n->rt, n->members->v[at].key, &part[parts])) {
        size += part[parts++].n + 1;
        at = n->members->v[at].in;
    }
    if (at < 0 && (to = malloc(size)) != NULL) {
        *out = (struct rf_text){to, size - 1};
        for (size_t i = parts; i-- > 0;) {
            memcpy(to, part[i].s, part[i].n);
            to += part[i].n;
            *to++ = i ? '.' : '\0';
        }
    }
    while (parts-- > 0)
        free((char *)part[parts].s);
    return to != NULL;
}

static bool find_member(const struct rf_names *n, const struct rf_memory *live, uint64_t addr, struct rf_text *out)
{
    if (!n->members->known)
        read_members(n, live, n->members);
    for (size_t i = 0; i < n->members->n; i++)
        if (n->members->v[i].value == addr)
            return path_of(n, live, (int64_t)i, out);
    n->members->missed = true;
    return false;
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
    if (first == t->n)
        return find_member(n, live, addr, out);
    return rf_symbol_read(live, n->rt, t->key[first], out);
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
