/* lambda.c: a cache of decoded functions, and how one is decoded. */
#include "lambda.h"

#include "cache.h"
#include "rederive.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    HELD_MAX = 2048, /* bytes of a vector that a snapshot may hold whole */
    CONSTS_MAX = 1 << 16,
    DEBUG_MAX = 1 << 17,
    BODY_MAX = 4096,
    HEADS_MAX = 8,     /* a function that a function made, and so on, is called */
    LOCALS_MAX = 1024, /* they stand on the operand stack */
};

struct identity {
    uint64_t slot[LAMBDA_SLOTS];
    uint64_t body0;                                    /* the first body node */
    unsigned char code[LAMBDA_CODE_LOOK - RAY_HEADER]; /* zero-filled */
    int64_t code_len;
};

struct entry {
    struct rf_cached cached; /* first member */
    struct identity id;
    uint64_t nfo;           /* where its source is: its own, or the one that its body was found in */
    uint64_t source, named; /* serial of that source, generation of its name */
    struct rf_lambda lambda;
};

struct rf_lambdas {
    const struct rf_runtime *rt;
    const struct rf_memory *live, *held;
    struct rf_names *names;
    struct rf_sources *sources;
    struct rf_cache cache;
    uint64_t sources_of; /* generation of the environment whose functions' sources are known */
};

static void lambda_free(struct rf_lambda *l)
{
    rf_code_free(&l->code);
    free(l->consts);
    free(l->symbols);
    free(l->debug);
    free((char *)l->file.s);
    free((char *)l->name.s);
    memset(l, 0, sizeof *l);
}

static void entry_free(struct rf_cached *one)
{
    struct entry *e = (struct entry *)one;
    lambda_free(&e->lambda);
    free(e);
}

struct rf_lambdas *rf_lambdas_new(const struct rf_runtime *rt, const struct rf_memory *live, struct rf_names *names,
                                  struct rf_sources *sources)
{
    struct rf_lambdas *c = calloc(1, sizeof *c);
    if (c)
        *c = (struct rf_lambdas){.rt = rt,
                                 .live = live,
                                 .names = names,
                                 .sources = sources,
                                 .cache = {.room = RF_LAMBDAS_KEPT, .free = entry_free}};
    return c;
}

void rf_lambdas_free(struct rf_lambdas *c)
{
    if (c)
        rf_cache_clear(&c->cache);
    free(c);
}

static bool identify_code(const struct rf_memory *m, struct identity *id)
{
    struct rf_obj o;
    if ((uint32_t)id->slot[LAMBDA_LOCALS] > LOCALS_MAX) /* an int32_t */
        return false;
    if (!rf_obj_vector(m, id->slot[LAMBDA_CODE], RAY_U8, RF_CODE_MAX, &o) || o.len == 0)
        return false;
    id->code_len = o.len;
    size_t n = (size_t)o.len < sizeof id->code ? (size_t)o.len : sizeof id->code;
    return rf_read(m, id->slot[LAMBDA_CODE] + RAY_DATA, id->code, n);
}

static bool identify(const struct rf_memory *m, uint64_t addr, struct identity *id)
{
    struct rf_obj o;
    unsigned char block[LAMBDA_BYTES];
    memset(id, 0, sizeof *id);
    if (!rf_obj_read(m, addr, &o) || o.type != RAY_LAMBDA || !rf_read(m, addr, block, sizeof block))
        return false;
    memcpy(id->slot, block + RAY_DATA, sizeof id->slot);
    if (!(o.attrs & RAY_ATTR_COMPILED)) /* these slots are not in use yet */
        id->slot[LAMBDA_CODE] = id->slot[LAMBDA_CONSTS] = id->slot[LAMBDA_LOCALS] = id->slot[LAMBDA_DBG] = 0;
    else if (!identify_code(m, id))
        return false;
    if (rf_obj_vector(m, id->slot[LAMBDA_BODY], RAY_LIST, BODY_MAX, &o) && o.len > 0)
        return rf_read_u64(m, id->slot[LAMBDA_BODY] + RAY_DATA, &id->body0);
    return true;
}

static bool read_code(struct rf_lambda *l, const struct rf_memory *m, const struct identity *id, int32_t opcodes)
{
    size_t n = (size_t)id->code_len;
    unsigned char *bytes = malloc(n);
    bool ok =
        bytes && rf_read(m, id->slot[LAMBDA_CODE] + RAY_DATA, bytes, n) && rf_code_decode(&l->code, bytes, n, opcodes);
    free(bytes);
    l->code_addr = id->slot[LAMBDA_CODE] + RAY_DATA;
    return ok;
}

static bool read_consts(struct rf_lambda *l, const struct rf_memory *m, uint64_t addr)
{
    struct rf_obj o;
    if (!rf_obj_vector(m, addr, RAY_LIST, CONSTS_MAX, &o) || o.len == 0)
        return true; /* a function may have none */
    size_t n = (size_t)o.len;
    l->consts = malloc(n * sizeof *l->consts);
    l->symbols = malloc(n * sizeof *l->symbols);
    if (!l->consts || !l->symbols || !rf_read(m, addr + RAY_DATA, l->consts, n * sizeof *l->consts))
        return false;
    l->n_consts = n;
    for (size_t i = 0; i < n; i++)
        l->symbols[i] = -1;
    for (size_t i = 0; i < l->code.n; i++) { /* only the names of what is called are ever asked for */
        const struct rf_instruction *in = &l->code.v[i];
        if (in->callee >= 0 && in->by_name && (size_t)in->callee < n && l->symbols[in->callee] < 0 &&
            rf_obj_read(m, l->consts[in->callee], &o) && o.type == RAY_SYMBOL_ATOM)
            l->symbols[in->callee] = o.len;
    }
    return true;
}

/* The debug vector is [offset, span]*, offsets not decreasing; of equal offsets the first counts, as the runtime has
 * it. */
static bool read_debug(struct rf_lambda *l, const struct rf_memory *m, uint64_t addr, const struct rf_source *source)
{
    struct rf_obj o;
    if (!source || source->unplaced || !rf_obj_vector(m, addr, RAY_I64, DEBUG_MAX, &o) || o.len < 2)
        return true;
    size_t pairs = (size_t)o.len / 2;
    uint64_t *raw = malloc(pairs * 16);
    l->debug = malloc(pairs * sizeof *l->debug);
    bool ok = raw && l->debug && rf_read(m, addr + RAY_DATA, raw, pairs * 16);
    for (size_t i = 0; ok && i < pairs; i++) {
        uint64_t offset = raw[2 * i], id = raw[2 * i + 1];
        if (offset >= l->code.len || (l->n_debug && offset <= l->debug[l->n_debug - 1].offset))
            continue;
        if (!rf_source_repair(source, id, &l->debug[l->n_debug].span)) {
            l->n_debug = 0; /* the one before would be taken to go on here */
            break;
        }
        l->debug[l->n_debug++].offset = (uint32_t)offset;
    }
    free(raw);
    return ok;
}

/* The first body form whose place is known. */
static bool first_form(const struct rf_memory *m, uint64_t body, const struct rf_source *source, struct rf_span *out)
{
    struct rf_obj o;
    if (!source || !rf_obj_vector(m, body, RAY_LIST, BODY_MAX, &o))
        return false;
    for (uint64_t i = 0; i < (uint64_t)o.len; i++) {
        uint64_t node;
        if (rf_read_u64(m, body + RAY_DATA + 8 * i, &node) && rf_source_node(source, node, out))
            return true;
    }
    return false;
}

/* Makes the sources of all named functions known. False when they were. */
static bool load_sources(struct rf_lambdas *c, const struct rf_memory *m, uint64_t epoch)
{
    const uint64_t *value;
    uint64_t nfo;
    struct rf_obj o;
    if (c->sources_of == rf_names_generation(c->names))
        return false;
    c->sources_of = rf_names_generation(c->names);
    for (size_t i = rf_names_values(c->names, &value); i-- > 0;)
        if (rf_obj_read(m, value[i], &o) && o.type == RAY_LAMBDA &&
            rf_read_u64(m, value[i] + RAY_DATA + 8 * LAMBDA_NFO, &nfo) && nfo)
            rf_sources_get(c->sources, m, nfo, epoch);
    return true;
}

static bool dup_text(struct rf_text *to, const char *s, size_t n)
{
    char *copy = malloc(n + 1);
    if (!copy)
        return false;
    memcpy(copy, s, n);
    copy[n] = 0;
    *to = (struct rf_text){copy, n};
    return true;
}

/* "(name" or "name". */
static bool name_text(const struct rf_lambdas *c, const struct rf_memory *m, const struct rf_obj *symbol, bool call,
                      struct rf_text *out)
{
    struct rf_text name;
    if (symbol->type != RAY_SYMBOL_ATOM || symbol->attrs & RAY_ATTR_QUOTED ||
        !rf_symbol_read(m, c->rt, symbol->len, &name))
        return false;
    char *text = name.n ? malloc(name.n + 2) : NULL;
    if (text) {
        text[0] = '(';
        memcpy(text + call, name.s, name.n);
        *out = (struct rf_text){text, name.n + call};
    }
    free((char *)name.s);
    return text != NULL;
}

/* What the text begins with where this node is written: the parser makes each a block of its own. The head of
 * "((pick f) x)" is that of "(pick f)", which is then the node. False for what can be written in too many ways. */
static bool node_text(const struct rf_lambdas *c, const struct rf_memory *m, uint64_t *node, struct rf_text *out)
{
    struct rf_obj o;
    uint64_t head = *node;
    char number[24];
    if (!rf_obj_read(m, head, &o))
        return false;
    bool call = o.type == RAY_LIST;
    for (unsigned i = 0; o.type == RAY_LIST; i++) {
        *node = head;
        if (i == HEADS_MAX || o.len <= 0 || !rf_read_u64(m, head + RAY_DATA, &head) || !rf_obj_read(m, head, &o))
            return false;
    }
    if (call || o.type == RAY_SYMBOL_ATOM)
        return name_text(c, m, &o, call, out);
    if (o.type > RAY_LIST && o.type < RAY_TABLE)
        return dup_text(out, "[", 1);
    if (o.type == RAY_STRING_ATOM)
        return dup_text(out, "\"", 1);
    int n = snprintf(number, sizeof number, "%" PRId64, o.len);
    return o.type == RAY_I64_ATOM && dup_text(out, number, (size_t)n);
}

static const struct rf_source *source_of_node(struct rf_lambdas *c, const struct rf_memory *m, uint64_t node,
                                              uint64_t epoch, uint64_t *nfo)
{
    struct rf_text text;
    if (!node_text(c, m, &node, &text))
        return NULL;
    const struct rf_source *found = rf_sources_with(c->sources, m, node, text, epoch, nfo);
    free((char *)text.s);
    return found;
}

/* A function made at run time has no source of its own, or that of the text which ran when it was made. Its body's
 * nodes are those of the function around it: the source is the one in which one of them is written. */
static const struct rf_source *source_by_body(struct rf_lambdas *c, const struct rf_memory *m, uint64_t body,
                                              uint64_t epoch, uint64_t *nfo)
{
    struct rf_obj o;
    uint64_t node;
    const struct rf_source *found = NULL;
    if (!rf_obj_vector(m, body, RAY_LIST, BODY_MAX, &o))
        return NULL;
    do {
        for (uint64_t i = 0; !found && i < (uint64_t)o.len; i++)
            if (rf_read_u64(m, body + RAY_DATA + 8 * i, &node))
                found = source_of_node(c, m, node, epoch, nfo);
    } while (!found && load_sources(c, m, epoch));
    return found;
}

/* The environment's name, else the line where the function's form begins, else that of its first form. */
static bool give_name(struct rf_lambdas *c, struct rf_lambda *l, const struct rf_memory *m,
                      const struct rf_source *source, const struct rf_span *first)
{
    char text[32] = "<fn>";
    struct rf_span form;
    struct rf_text name;
    if (rf_names_find(c->names, m, l->addr, &name)) {
        if (name.n) {
            free((char *)l->name.s);
            l->name = name;
            l->named = true;
            return true;
        }
        free((char *)name.s); /* the empty symbol is no name */
    }
    if (l->name.s)
        return true;
    if (first && rf_source_function(source, *first, &form))
        snprintf(text, sizeof text, "<fn:%u>", form.line + 1u);
    else if (first)
        snprintf(text, sizeof text, "<fn:%u>", first->line + 1u);
    return dup_text(&l->name, text, strlen(text));
}

static bool decode(struct rf_lambdas *c, struct entry *e, const struct rf_memory *m, const struct rf_source *source)
{
    struct rf_lambda *l = &e->lambda;
    const struct identity *id = &e->id;
    struct rf_span first;
    l->addr = e->cached.addr;
    l->n_locals = (int32_t)id->slot[LAMBDA_LOCALS];
    l->nfo = e->nfo;
    l->body = id->slot[LAMBDA_BODY];
    e->source = source ? source->serial : 0;
    e->named = rf_names_generation(c->names);
    if (!dup_text(&l->file, source ? source->file.s : "", source ? source->file.n : 0))
        return false;
    if (id->code_len && (!read_code(l, m, id, c->rt->opcodes) || !read_consts(l, m, id->slot[LAMBDA_CONSTS]) ||
                         !read_debug(l, m, id->slot[LAMBDA_DBG], source)))
        return false;
    if (source && id->code_len && !l->n_debug)
        rf_rederive(l, m, c->rt, id->slot[LAMBDA_BODY], source);
    bool placed = first_form(m, id->slot[LAMBDA_BODY], source, &first);
    if (placed)
        l->first_line = first.line + 1u;
    return give_name(c, l, m, source, placed ? &first : NULL);
}

static bool held_vector(const struct rf_lambdas *c, uint64_t addr, size_t element)
{
    struct rf_obj o;
    unsigned char bytes[HELD_MAX];
    if (!addr)
        return true;
    return rf_obj_read(c->held, addr, &o) && o.len >= 0 && (uint64_t)o.len <= sizeof bytes / element &&
           rf_read(c->held, addr + RAY_DATA, bytes, (size_t)o.len * element);
}

/* Was all that was decoded copied while the thread was held? Then it belongs together, whatever became of it since. */
static bool held_whole(const struct rf_lambdas *c, const struct identity *id)
{
    return c->held && held_vector(c, id->slot[LAMBDA_BODY], 8) && held_vector(c, id->slot[LAMBDA_CODE], 1) &&
           held_vector(c, id->slot[LAMBDA_CONSTS], 8) && held_vector(c, id->slot[LAMBDA_DBG], 8);
}

static struct entry *add(struct rf_lambdas *c, const struct rf_memory *m, uint64_t addr, const struct identity *id,
                         uint64_t epoch)
{
    struct identity again;
    struct rf_span first;
    struct entry *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->cached.addr = addr;
    e->id = *id;
    e->nfo = id->slot[LAMBDA_NFO];
    rf_names_renew(c->names, c->live);
    const struct rf_source *source = e->nfo ? rf_sources_get(c->sources, m, e->nfo, epoch) : NULL;
    if (!source || !first_form(m, id->slot[LAMBDA_BODY], source, &first)) {
        const struct rf_source *around = source_by_body(c, m, id->slot[LAMBDA_BODY], epoch, &e->nfo);
        source = around ? around : source;
    }
    if (!decode(c, e, m, source) ||
        (!held_whole(c, id) && (!identify(c->live, addr, &again) || memcmp(&again, id, sizeof again) != 0))) {
        entry_free(&e->cached);
        return NULL;
    }
    return (struct entry *)rf_cache_add(&c->cache, &e->cached, epoch);
}

/* Is what was derived from its source still true? */
static bool source_unchanged(struct rf_lambdas *c, const struct rf_memory *m, const struct entry *e, uint64_t epoch)
{
    const struct rf_source *source = e->nfo ? rf_sources_get(c->sources, m, e->nfo, epoch) : NULL;
    return (source ? source->serial : 0) == e->source;
}

static const struct rf_lambda *get(struct rf_lambdas *c, const struct rf_memory *m, uint64_t addr, uint64_t epoch)
{
    struct identity id;
    struct entry *e = (struct entry *)rf_cache_find(&c->cache, addr);
    if (e && e->cached.epoch == epoch)
        return &e->lambda;
    if (!identify(m, addr, &id)) {
        if (e)
            rf_cache_drop(&c->cache, &e->cached);
        return NULL;
    }
    if (e && (memcmp(&e->id, &id, sizeof id) != 0 || !source_unchanged(c, m, e, epoch))) {
        rf_cache_drop(&c->cache, &e->cached);
        e = NULL;
    }
    e = e ? (struct entry *)rf_cache_use(&c->cache, &e->cached, epoch) : add(c, m, addr, &id, epoch);
    if (!e)
        return NULL;
    if (e->named != rf_names_generation(c->names)) {
        e->named = rf_names_generation(c->names);
        give_name(c, &e->lambda, m, NULL, NULL);
    }
    return &e->lambda;
}

const struct rf_lambda *rf_lambdas_get(struct rf_lambdas *c, const struct rf_memory *m, uint64_t addr, uint64_t epoch)
{
    const struct rf_lambda *l = get(c, m, addr, epoch);
    return l && l->code_addr ? l : NULL;
}

const struct rf_lambda *rf_lambdas_uncompiled(struct rf_lambdas *c, const struct rf_memory *m, uint64_t addr,
                                              uint64_t epoch)
{
    const struct rf_lambda *l = get(c, m, addr, epoch);
    return l && !l->code_addr ? l : NULL;
}

void rf_lambdas_hold(struct rf_lambdas *c, const struct rf_memory *held)
{
    c->held = held;
}

bool rf_lambdas_known(const struct rf_lambdas *c, uint64_t addr, const uint64_t slot[LAMBDA_SLOTS])
{
    const struct entry *e = (const struct entry *)rf_cache_find(&c->cache, addr);
    return e && memcmp(e->id.slot, slot, sizeof e->id.slot) == 0;
}

bool rf_lambda_span(const struct rf_lambda *l, uint32_t ip, struct rf_span *out)
{
    size_t lo = 0, hi = l->n_debug;
    uint32_t at = ip ? ip - 1 : 0;
    while (lo < hi) { /* the last entry at or before `at` */
        size_t mid = lo + (hi - lo) / 2;
        if (l->debug[mid].offset <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0)
        return false;
    *out = l->debug[lo - 1].span;
    return true;
}
