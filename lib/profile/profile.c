/* profile.c: texts and frames are kept once, stacks as paths in a tree.
 *
 * Frames are few (a program has so many lines), so they live in uthash tables, keyed by content. Nodes may become
 * many (a recursion has a path per depth and way down) and grow as long as the recording runs; they lie in one array,
 * found through an open-addressing index of their numbers, which takes 40 bytes for each instead of 96. */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(item) ((void)(item))
#include <uthash.h>

struct text {
    UT_hash_handle hh;
    size_t n;
    char s[];
};

struct frame {
    UT_hash_handle hh;
    struct frame_key {
        const struct text *file, *fn, *expr, *query, *thread, *process; /* interned: equal texts are the same object */
        uint32_t line, col;
        uint64_t named, kind; /* as wide as the rest: the key is hashed as bytes and must have no padding */
    } key;
    uint32_t id;
    const struct text *source; /* NULL: none was seen */
};

struct rf_profile {
    struct text *texts;
    struct frame *frames, **by_id;
    size_t n_frames, room_frames;
    struct rf_node *node;
    size_t n_nodes, room_nodes;
    uint32_t *slot; /* node numbers by hash of (parent, frame); 0 is free, since the root is nobody's child */
    size_t n_slots; /* a power of two, at least twice n_nodes */
    uint64_t samples, weight_ns;
    bool joined;
    struct rf_log *log;
};

/* Makes room for one more element of a growing array. */
static bool grow(void **array, size_t n, size_t *room, size_t size)
{
    if (n < *room)
        return true;
    size_t more = *room ? *room + *room / 2 : 64;
    void *bigger = reallocarray(*array, more, size);
    if (!bigger)
        return false;
    *array = bigger;
    *room = more;
    return true;
}

static size_t home(const struct rf_profile *p, uint32_t parent, uint32_t frame)
{
    uint64_t h = ((uint64_t)parent << 32 | frame) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(h ^ h >> 32) & (p->n_slots - 1);
}

static bool widen_index(struct rf_profile *p)
{
    size_t n = p->n_slots * 2;
    uint32_t *slot = calloc(n, sizeof *slot);
    if (!slot)
        return false;
    free(p->slot);
    p->slot = slot;
    p->n_slots = n;
    for (uint32_t i = 1; i < p->n_nodes; i++) {
        size_t at = home(p, p->node[i].parent, p->node[i].frame);
        while (slot[at])
            at = (at + 1) & (n - 1);
        slot[at] = i;
    }
    return true;
}

struct rf_profile *rf_profile_new(void)
{
    struct rf_profile *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->n_slots = 256;
    p->slot = calloc(p->n_slots, sizeof *p->slot);
    if (!p->slot || !grow((void **)&p->node, 0, &p->room_nodes, sizeof *p->node)) {
        rf_profile_free(p);
        return NULL;
    }
    p->node[0] = (struct rf_node){.parent = 0, .frame = UINT32_MAX};
    p->n_nodes = 1;
    return p;
}

void rf_profile_free(struct rf_profile *p)
{
    if (!p)
        return;
    struct frame *f, *next_frame;
    HASH_ITER (hh, p->frames, f, next_frame) {
        HASH_DEL(p->frames, f);
        free(f);
    }
    struct text *t, *next_text;
    HASH_ITER (hh, p->texts, t, next_text) {
        HASH_DEL(p->texts, t);
        free(t);
    }
    if (p->log)
        free(p->log->event);
    free(p->log);
    free(p->by_id);
    free(p->node);
    free(p->slot);
    free(p);
}

static const struct text *intern_text(struct rf_profile *p, struct rf_text from)
{
    struct text *t;
    HASH_FIND(hh, p->texts, from.n ? from.s : "", from.n, t);
    if (t)
        return t;
    t = malloc(sizeof *t + from.n);
    if (!t)
        return NULL;
    t->n = from.n;
    if (from.n)
        memcpy(t->s, from.s, from.n);
    HASH_ADD(hh, p->texts, s, t->n, t);
    if (!t->hh.tbl) {
        free(t);
        return NULL;
    }
    return t;
}

/* False when out of memory. */
static bool keep_source(struct rf_profile *p, struct frame *f, struct rf_text source)
{
    if (!source.n || (f->source && f->source->n == source.n && !memcmp(f->source->s, source.s, source.n)))
        return true;
    const struct text *t = intern_text(p, source);
    if (t)
        f->source = t;
    return t;
}

uint32_t rf_profile_intern(struct rf_profile *p, const struct rf_frame *frame)
{
    struct frame_key key = {.file = intern_text(p, frame->file),
                            .fn = intern_text(p, frame->fn),
                            .expr = intern_text(p, frame->expr),
                            .query = intern_text(p, frame->query),
                            .thread = intern_text(p, frame->thread),
                            .process = intern_text(p, frame->process),
                            .line = frame->line,
                            .col = frame->col,
                            .named = frame->named,
                            .kind = frame->kind};
    if (!key.file || !key.fn || !key.expr || !key.query || !key.thread || !key.process)
        return UINT32_MAX;
    struct frame *f;
    HASH_FIND(hh, p->frames, &key, sizeof key, f);
    if (f)
        return keep_source(p, f, frame->source) ? f->id : UINT32_MAX;
    if (p->n_frames >= UINT32_MAX - 1 ||
        !grow((void **)&p->by_id, p->n_frames, &p->room_frames, sizeof(struct frame *)))
        return UINT32_MAX;
    f = malloc(sizeof *f);
    if (!f)
        return UINT32_MAX;
    f->key = key;
    p->joined = p->joined || frame->kind == RF_KIND_PROCESS;
    f->source = NULL;
    f->id = (uint32_t)p->n_frames;
    HASH_ADD(hh, p->frames, key, sizeof key, f);
    if (!f->hh.tbl) {
        free(f);
        return UINT32_MAX;
    }
    p->by_id[p->n_frames++] = f;
    return keep_source(p, f, frame->source) ? f->id : UINT32_MAX;
}

uint32_t rf_profile_child(struct rf_profile *p, uint32_t parent, uint32_t frame)
{
    if ((p->n_nodes + 1) * 2 > p->n_slots && !widen_index(p))
        return UINT32_MAX;
    size_t at = home(p, parent, frame);
    for (; p->slot[at]; at = (at + 1) & (p->n_slots - 1)) {
        const struct rf_node *seen = &p->node[p->slot[at]];
        if (seen->parent == parent && seen->frame == frame)
            return p->slot[at];
    }
    if (p->n_nodes >= UINT32_MAX - 1 || !grow((void **)&p->node, p->n_nodes, &p->room_nodes, sizeof *p->node))
        return UINT32_MAX;
    p->slot[at] = (uint32_t)p->n_nodes;
    p->node[p->n_nodes] = (struct rf_node){.parent = parent, .frame = frame};
    return (uint32_t)p->n_nodes++;
}

void rf_profile_charge(struct rf_profile *p, uint32_t node, uint64_t samples, struct rf_charge charge)
{
    p->node[node].self_samples += samples;
    p->node[node].self_ns += charge.weight_ns;
    p->node[node].pool_ns += charge.pool_ns;
    p->samples += samples;
    p->weight_ns += charge.weight_ns;
}

/* Bounds a text that came out of the target; a cut falls in front of a UTF-8 character, not into it. */
static struct rf_text bounded(struct rf_text t)
{
    if (t.n <= RF_TEXT_MAX)
        return t;
    t.n = RF_TEXT_MAX;
    for (unsigned back = 0; back < 3 && (t.s[t.n] & 0xc0) == 0x80; back++)
        t.n--;
    return t;
}

uint32_t rf_profile_place(struct rf_profile *p, uint32_t below, const struct rf_frame *frame, size_t n)
{
    uint32_t at = below;
    for (size_t i = 0; i < n && at != UINT32_MAX; i++) {
        struct rf_frame f = frame[i];
        struct rf_text *const texts[] = {&f.file, &f.fn, &f.expr, &f.query, &f.source};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            *texts[k] = bounded(*texts[k]);
        uint32_t id = rf_profile_intern(p, &f);
        at = id == UINT32_MAX ? id : rf_profile_child(p, at, id);
    }
    return at;
}

bool rf_profile_keep_log(struct rf_profile *p, const struct rf_tids *tids)
{
    if (!p->log)
        p->log = calloc(1, sizeof *p->log);
    if (p->log)
        p->log->tids = tids;
    return p->log;
}

struct rf_log *rf_profile_log(const struct rf_profile *p)
{
    return p->log;
}

bool rf_profile_joined(const struct rf_profile *p)
{
    return p->joined;
}

uint64_t rf_profile_samples(const struct rf_profile *p)
{
    return p->samples;
}

uint64_t rf_profile_weight_ns(const struct rf_profile *p)
{
    return p->weight_ns;
}

size_t rf_profile_frames(const struct rf_profile *p)
{
    return p->n_frames;
}

static struct rf_text as_text(const struct text *t)
{
    return (struct rf_text){t->s, t->n};
}

struct rf_frame rf_profile_frame(const struct rf_profile *p, size_t i)
{
    const struct frame_key *key = &p->by_id[i]->key;
    const struct text *source = p->by_id[i]->source;
    return (struct rf_frame){.file = as_text(key->file),
                             .fn = as_text(key->fn),
                             .line = key->line,
                             .col = key->col,
                             .expr = as_text(key->expr),
                             .query = as_text(key->query),
                             .thread = as_text(key->thread),
                             .process = as_text(key->process),
                             .source = source ? as_text(source) : (struct rf_text){"", 0},
                             .named = key->named,
                             .kind = (enum rf_kind)key->kind};
}

size_t rf_profile_nodes(const struct rf_profile *p)
{
    return p->n_nodes;
}

struct rf_node rf_profile_node(const struct rf_profile *p, size_t i)
{
    return p->node[i];
}
