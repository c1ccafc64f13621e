/* source.c: a small cache of indexed nfo objects.
 *
 * Text that a client sends gets an nfo of its own for as long as it runs, at addresses that the next text gets again.
 * So an entry is used only while the pointers, the lengths and both ends of the text are what they were. */
#include "source.h"

#include "cache.h"
#include "places.h"
#include "text.h"
#include "texts.h"

#include <stdlib.h>

enum {
    NODES_MAX = 1 << 18,
    TEXT_MAX = 1 << 22,
    FILE_MAX = 4096,
    CACHED_MAX = 64,
    EDGE = 128,
    KEYS_PIECE = 1024,
    KEYS_EDGE = 8 * KEYS_PIECE,
    TITLE_CHARACTERS = 60,
    TITLE_BYTES = 240,
    QUERY_BYTES = 4096,
    NUMBERS = 65536 /* that 16 bits hold */
};

struct rf_node_span {
    uint64_t node;
    struct rf_span span;
    uint32_t order, depth;
};

struct rf_span_node {
    uint64_t span, node;
};

/* What tells one nfo from another at the same address. A file that is loaded again and again gets the same blocks for
 * its text and its vectors, but other nodes: so the keys themselves count. */
struct identity {
    uint64_t element[4], keys_len, text_len, edges, keys;
};

struct entry {
    struct rf_cached cached; /* first member */
    struct identity id;
    struct rf_source source;
};

struct rf_sources {
    struct rf_cache cache;
    uint64_t serial;
};

bool rf_source_unfiled(const struct rf_source *s)
{
    return rf_text_is(s->file, "repl");
}

static uint64_t hash_bytes(uint64_t h, const void *p, size_t n)
{
    for (const unsigned char *b = p; n--; b++)
        h = (h ^ *b) * 0x100000001b3; /* FNV-1a */
    return h;
}

/* Where a string's bytes are. Short ones stand in their header. */
static bool text_place(const struct rf_memory *m, uint64_t addr, uint64_t *at, uint64_t *len)
{
    struct rf_obj o, v;
    if (!rf_obj_read(m, addr, &o) || o.type != RAY_STRING_ATOM)
        return false;
    unsigned char first = (unsigned char)(o.len & 0xff);
    if (o.len == 0 || (first >= 1 && first <= 7)) {
        *at = addr + RAY_LEN + 1;
        *len = first;
        return true;
    }
    if (!rf_obj_vector(m, (uint64_t)o.len, RAY_U8, TEXT_MAX, &v))
        return false;
    *at = (uint64_t)o.len + RAY_DATA;
    *len = (uint64_t)v.len;
    return true;
}

/* Hashes the keys, of a very long vector its first and its last. */
static bool hash_keys(const struct rf_memory *m, uint64_t keys, uint64_t n, uint64_t *hash)
{
    uint64_t word[KEYS_PIECE], at = 0;
    *hash = n;
    while (at < n) {
        if (at == KEYS_EDGE && n > 2 * KEYS_EDGE)
            at = n - KEYS_EDGE;
        size_t piece = n - at < KEYS_PIECE ? (size_t)(n - at) : KEYS_PIECE;
        if (!rf_read(m, keys + RAY_DATA + 8 * at, word, 8 * piece))
            return false;
        for (size_t i = 0; i < piece; i++)
            *hash = (*hash ^ word[i]) * 0x9e3779b97f4a7c15 + (*hash >> 29);
        at += piece;
    }
    return true;
}

static bool identify(const struct rf_memory *m, uint64_t addr, struct identity *id)
{
    struct rf_obj o;
    unsigned char edge[EDGE];
    uint64_t at;
    memset(id, 0, sizeof *id);
    if (!rf_obj_vector(m, addr, RAY_LIST, 4, &o) || o.len != 4 ||
        !rf_read(m, addr + RAY_DATA, id->element, sizeof id->element))
        return false;
    if (!rf_obj_vector(m, id->element[2], RAY_I64, NODES_MAX, &o))
        return false;
    id->keys_len = (uint64_t)o.len;
    if (!rf_obj_vector(m, id->element[3], RAY_I64, NODES_MAX, &o) || (uint64_t)o.len != id->keys_len ||
        !text_place(m, id->element[1], &at, &id->text_len) || !hash_keys(m, id->element[2], id->keys_len, &id->keys))
        return false;
    size_t n = id->text_len < EDGE ? (size_t)id->text_len : EDGE;
    if (!rf_read(m, at, edge, n))
        return false;
    id->edges = hash_bytes(0xcbf29ce484222325, edge, n);
    if (!rf_read(m, at + id->text_len - n, edge, n))
        return false;
    id->edges = hash_bytes(id->edges, edge, n);
    return true;
}

static int by_node(const void *a, const void *b)
{
    const struct rf_node_span *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int by_span(const void *a, const void *b)
{
    const struct rf_span_node *x = a, *y = b;
    return x->span < y->span ? -1 : x->span > y->span;
}

/* Outer forms before those inside them. */
static int by_place(const void *a, const void *b)
{
    struct rf_span x = (*(struct rf_node_span *const *)a)->span, y = (*(struct rf_node_span *const *)b)->span;
    if (x.line != y.line)
        return x.line < y.line ? -1 : 1;
    if (x.col != y.col)
        return x.col < y.col ? -1 : 1;
    if (x.end_line != y.end_line)
        return x.end_line > y.end_line ? -1 : 1;
    return x.end_col > y.end_col ? -1 : x.end_col < y.end_col;
}

static bool same_span(struct rf_span a, struct rf_span b)
{
    return a.line == b.line && a.col == b.col && a.end_line == b.end_line && a.end_col == b.end_col;
}

/* How deep each form is nested, in one pass over them in the order of the text. The forms around the one at hand are
 * kept on a stack: at least as much room as there are nodes. */
static bool index_depths(struct rf_source *s)
{
    struct rf_node_span **form = malloc((2 * s->n_nodes + 1) * sizeof *form);
    if (!form)
        return false;
    struct rf_node_span **around = form + s->n_nodes;
    size_t n = 0, deep = 0;
    for (size_t i = 0; i < s->n_nodes; i++) {
        struct rf_text t = rf_source_at(s, s->nodes[i].span);
        if (t.n && t.s[0] == '(')
            form[n++] = &s->nodes[i];
    }
    qsort(form, n, sizeof *form, by_place);
    for (size_t i = 0; i < n; i++) {
        struct rf_span here = form[i]->span;
        while (deep && (same_span(around[deep - 1]->span, here) || !rf_span_encloses(around[deep - 1]->span, here)))
            deep--;
        around[deep++] = form[i];
        form[i]->depth = (uint32_t)deep;
    }
    free(form);
    return true;
}

/* Sorts the parallel vectors into the two indexes. Both arrays hold n entries. */
static void index_nodes(struct rf_source *s, const uint64_t *keys, const uint64_t *vals, size_t n,
                        const struct rf_span *place)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        s->nodes[i] = (struct rf_node_span){keys[i], place ? place[i] : rf_span_unpack(vals[i]), (uint32_t)i, 0};
        s->spans[i] = (struct rf_span_node){vals[i], keys[i]};
    }
    qsort(s->nodes, n, sizeof *s->nodes, by_node);
    qsort(s->spans, n, sizeof *s->spans, by_span);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || s->nodes[i + 1].node != s->nodes[i].node)
            s->nodes[kept++] = s->nodes[i];
    s->n_nodes = kept;
    s->n_spans = n;
}

/* Are there lines or columns that 16 bits do not hold? */
static bool is_long(const struct rf_source *s)
{
    bool is = s->n_lines > NUMBERS;
    for (size_t i = 0; !is && i < s->n_lines; i++)
        is = (i + 1 < s->n_lines ? s->line_start[i + 1] : s->text.n) - s->line_start[i] > NUMBERS;
    return is;
}

static bool place_nodes(struct rf_source *s, const uint64_t *keys, const uint64_t *vals, size_t n)
{
    struct rf_span *place = NULL;
    s->lengthy = is_long(s);
    if (s->lengthy && (place = malloc(n * sizeof *place + 1)) == NULL)
        return false;
    s->unplaced = s->lengthy && !rf_places_find(s->text, vals, n, place);
    if (!s->unplaced)
        index_nodes(s, keys, vals, n, place);
    free(place);
    return true;
}

static bool index_lines(struct rf_source *s)
{
    size_t lines = 1;
    for (size_t i = 0; i < s->text.n; i++)
        lines += s->text.s[i] == '\n';
    s->line_start = malloc(lines * sizeof *s->line_start);
    if (!s->line_start)
        return false;
    s->line_start[s->n_lines++] = 0;
    for (size_t i = 0; i < s->text.n; i++)
        if (s->text.s[i] == '\n')
            s->line_start[s->n_lines++] = (uint32_t)i + 1;
    return true;
}

size_t rf_squeeze(struct rf_text text, size_t characters, char *to, size_t size)
{
    size_t n = 0, seen = 0;
    for (size_t i = 0; i < text.n && n < size; i++) {
        char c = text.s[i];
        bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
        if (blank && (n == 0 || to[n - 1] == ' '))
            continue;
        if (((unsigned char)c & 0xc0) != 0x80 && seen++ == characters)
            break;
        to[n++] = blank ? ' ' : c;
    }
    while (n && to[n - 1] == ' ')
        n--;
    return n;
}

static bool make_titles(struct rf_source *s)
{
    if (!rf_source_unfiled(s))
        return true;
    char *t = malloc(TITLE_BYTES + QUERY_BYTES);
    if (!t)
        return false;
    s->title = (struct rf_text){t, rf_squeeze(s->text, TITLE_CHARACTERS, t, TITLE_BYTES)};
    s->query = (struct rf_text){t + TITLE_BYTES, rf_squeeze(s->text, SIZE_MAX, t + TITLE_BYTES, QUERY_BYTES)};
    return true;
}

static void source_free(struct rf_source *s)
{
    free((char *)s->file.s);
    free((char *)s->text.s);
    free((char *)s->title.s);
    free(s->nodes);
    free(s->spans);
    free(s->line_start);
    memset(s, 0, sizeof *s);
}

static bool source_read(struct rf_source *s, const struct rf_memory *m, const struct identity *id)
{
    size_t n = (size_t)id->keys_len, bytes = n * sizeof(uint64_t);
    uint64_t *keys = malloc(2 * bytes + 1);
    bool ok = false;
    memset(s, 0, sizeof *s);
    if (!keys || !rf_read(m, id->element[2] + RAY_DATA, keys, bytes) ||
        !rf_read(m, id->element[3] + RAY_DATA, keys + n, bytes) ||
        !rf_string_read(m, id->element[0], FILE_MAX, &s->file) ||
        !rf_string_read(m, id->element[1], TEXT_MAX, &s->text))
        goto out;
    s->nodes = malloc(n * sizeof *s->nodes + 1);
    s->spans = malloc(n * sizeof *s->spans + 1);
    if (!s->nodes || !s->spans || !index_lines(s) || !make_titles(s))
        goto out;
    ok = place_nodes(s, keys, keys + n, n) && index_depths(s);
out:
    free(keys);
    if (!ok)
        source_free(s);
    return ok;
}

static void entry_free(struct rf_cached *one)
{
    struct entry *e = (struct entry *)one;
    source_free(&e->source);
    free(e);
}

/* A fresh entry for the nfo at addr. Read, then compared once more: what changed under the reading is not kept. */
static struct entry *add(struct rf_sources *c, const struct rf_memory *m, uint64_t addr, const struct identity *id,
                         uint64_t epoch)
{
    struct identity again;
    struct entry *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    bool read = source_read(&e->source, m, id);
    rf_forget(m);
    if (!read || !identify(m, addr, &again) || memcmp(&again, id, sizeof again) != 0) {
        entry_free(&e->cached);
        return NULL;
    }
    e->cached.addr = addr;
    e->id = *id;
    e->source.serial = ++c->serial;
    return (struct entry *)rf_cache_add(&c->cache, &e->cached, epoch);
}

struct rf_sources *rf_sources_new(void)
{
    struct rf_sources *c = calloc(1, sizeof *c);
    if (c)
        c->cache = (struct rf_cache){.room = CACHED_MAX, .free = entry_free};
    return c;
}

void rf_sources_free(struct rf_sources *c)
{
    if (c)
        rf_cache_clear(&c->cache);
    free(c);
}

const struct rf_source *rf_sources_get(struct rf_sources *c, const struct rf_memory *m, uint64_t addr, uint64_t epoch)
{
    struct identity id;
    struct entry *e = (struct entry *)rf_cache_find(&c->cache, addr);
    if (e && e->cached.epoch == epoch)
        return &e->source;
    if (!identify(m, addr, &id)) {
        if (e)
            rf_cache_drop(&c->cache, &e->cached);
        return NULL;
    }
    if (e && memcmp(&e->id, &id, sizeof id) != 0) {
        rf_cache_drop(&c->cache, &e->cached);
        e = NULL;
    }
    e = e ? (struct entry *)rf_cache_use(&c->cache, &e->cached, epoch) : add(c, m, addr, &id, epoch);
    return e ? &e->source : NULL;
}

static const struct rf_node_span *find_node(const struct rf_source *s, uint64_t node)
{
    size_t lo = 0, hi = s->n_nodes;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->nodes[mid].node == node)
            return &s->nodes[mid];
        if (s->nodes[mid].node < node)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

bool rf_source_node(const struct rf_source *s, uint64_t node, struct rf_span *out)
{
    const struct rf_node_span *n = find_node(s, node);
    if (n)
        *out = n->span;
    return n != NULL;
}

uint32_t rf_source_depth(const struct rf_source *s, uint64_t node)
{
    const struct rf_node_span *n = find_node(s, node);
    return n ? n->depth : 0;
}

bool rf_source_repair(const struct rf_source *s, uint64_t id, struct rf_span *out)
{
    struct rf_span_node key = {id, 0};
    struct rf_span other;
    const struct rf_span_node *hit = s->n_spans ? bsearch(&key, s->spans, s->n_spans, sizeof key, by_span) : NULL;
    if (!hit || !rf_source_node(s, hit->node, out)) {
        *out = rf_span_unpack(id);
        return !s->lengthy;
    }
    const struct rf_span_node *first = hit, *end = s->spans + s->n_spans;
    while (first > s->spans && first[-1].span == id)
        first--;
    for (; s->lengthy && first < end && first->span == id; first++)
        if (!rf_source_node(s, first->node, &other) || !same_span(other, *out))
            return false;
    return true;
}

/* Names and numbers have an end, brackets and quotes have not. */
static bool begins_with(struct rf_text t, struct rf_text begins)
{
    if (t.n <= begins.n || memcmp(t.s, begins.s, begins.n) != 0)
        return false;
    char last = begins.s[begins.n - 1];
    return last == '[' || last == '"' || memchr(" \t\r\n()[]{};\"", t.s[begins.n], 12);
}

const struct rf_source *rf_sources_with(struct rf_sources *c, const struct rf_memory *m, uint64_t node,
                                        struct rf_text begins, uint64_t epoch, uint64_t *nfo)
{
    uint64_t addr[CACHED_MAX];
    size_t n = 0;
    for (const struct rf_cached *one = c->cache.oldest; one && n < CACHED_MAX; one = one->hh.next)
        addr[n++] = one->addr;
    while (n-- > 0) { /* the last used first */
        struct rf_span span;
        const struct rf_source *s = rf_sources_get(c, m, addr[n], epoch);
        if (!s || !rf_source_node(s, node, &span))
            continue;
        if (begins_with(rf_source_at(s, span), begins)) {
            *nfo = addr[n];
            return s;
        }
    }
    return NULL;
}

struct rf_text rf_source_place(const struct rf_source *s, bool from_client)
{
    if (!rf_source_unfiled(s))
        return s->file;
    return from_client ? (struct rf_text){"<ipc>", 5} : (struct rf_text){"<repl>", 6};
}

struct rf_text rf_source_at(const struct rf_source *s, struct rf_span span)
{
    if (span.line >= s->n_lines)
        return (struct rf_text){"", 0};
    size_t at = (size_t)s->line_start[span.line] + span.col;
    if (at > s->text.n)
        at = s->text.n;
    return (struct rf_text){s->text.s + at, s->text.n - at};
}

static bool before(uint32_t line, uint32_t col, uint32_t than_line, uint32_t than_col)
{
    return line < than_line || (line == than_line && col < than_col);
}

struct rf_text rf_source_form(const struct rf_source *s, struct rf_span span)
{
    struct rf_text t = rf_source_at(s, span);
    struct rf_text rest = rf_source_at(s, (struct rf_span){.line = span.end_line, .col = span.end_col});
    const char *end = rest.s + (rest.n != 0); /* the span's end is its last character */
    return (struct rf_text){t.s, rest.n && end > t.s ? (size_t)(end - t.s) : t.n};
}

bool rf_span_encloses(struct rf_span outer, struct rf_span inner)
{
    return !before(inner.line, inner.col, outer.line, outer.col) &&
           !before(outer.end_line, outer.end_col, inner.end_line, inner.end_col);
}

bool rf_source_parent(const struct rf_source *s, struct rf_span inner, uint64_t *node, struct rf_span *out)
{
    bool found = false;
    for (size_t i = 0; i < s->n_nodes; i++) {
        struct rf_span span = s->nodes[i].span;
        if (!rf_span_encloses(span, inner) || same_span(span, inner) || (found && !rf_span_encloses(*out, span)))
            continue;
        struct rf_text text = rf_source_at(s, span);
        if (!text.n || text.s[0] != '(')
            continue;
        *node = s->nodes[i].node;
        *out = span;
        found = true;
    }
    return found;
}

bool rf_source_function(const struct rf_source *s, struct rf_span inner, struct rf_span *out)
{
    bool found = false;
    for (size_t i = 0; i < s->n_nodes; i++) {
        struct rf_span span = s->nodes[i].span;
        struct rf_text text = rf_source_at(s, span);
        if (!rf_span_encloses(span, inner) || text.n < 4 || memcmp(text.s, "(fn", 3) != 0 ||
            !memchr(" \t\r\n[", text.s[3], 5))
            continue;
        /* Of two that enclose the same form the smaller is the one inside the other. */
        if (!found || rf_span_encloses(*out, span))
            *out = span;
        found = true;
    }
    return found;
}
