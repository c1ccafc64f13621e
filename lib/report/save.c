/* save.c: the profile as it is, table by table (see profile.proto). */
#include "report/profile.pb-c.h"
#include "saved.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 16384 }; /* of a part */
enum { VERSION = 1 };

static void put_part(struct rf_gzip *to, Rfpb__Part *part)
{
    Rfpb__Profile piece = RFPB__PROFILE__INIT;
    piece.n_rfprof = 1;
    piece.rfprof = &part;
    rfpb__profile__pack_to_buffer(&piece, &to->base);
}

static ProtobufCBinaryData bytes(const char *s)
{
    return (ProtobufCBinaryData){s ? strlen(s) : 0, (uint8_t *)(s ? s : "")};
}

static void put_header(struct rf_gzip *to, const struct rf_about *about, bool no_text, bool log)
{
    static const struct rf_about nothing;
    const struct rf_about *a = about ? about : &nothing;
    Rfpb__Header header = RFPB__HEADER__INIT;
    Rfpb__Part part = RFPB__PART__INIT;
    header.version = VERSION;
    header.no_text = no_text;
    header.pid = (uint32_t)a->pid;
    header.command = bytes(a->command);
    header.release = bytes(a->release);
    header.folder = bytes(a->folder);
    header.account = bytes(a->account);
    header.rate_hz = a->rate_hz;
    header.began_ns = a->began_ns;
    header.wall_ns = a->wall_ns;
    header.charged_ns = a->charged_ns;
    header.idle = a->idle;
    header.log = log;
    part.header = &header;
    put_part(to, &part);
}

/* --- texts and frames ------------------------------------------------------------------------------- */

/* Texts are numbered as frames of a profile of their own. */
static uint32_t number(struct rf_profile *texts, struct rf_text t)
{
    return rf_profile_intern(texts, &(struct rf_frame){.fn = t});
}

struct frame_columns {
    uint32_t kind[ROWS], file[ROWS], fn[ROWS], line[ROWS], col[ROWS], expr[ROWS], query[ROWS];
    protobuf_c_boolean named[ROWS];
};

static void put_texts(struct rf_gzip *to, const struct rf_profile *texts, size_t from, ProtobufCBinaryData *row)
{
    size_t all = rf_profile_frames(texts);
    while (from < all) {
        Rfpb__Part part = RFPB__PART__INIT;
        for (; from < all && part.n_text < ROWS; from++) {
            struct rf_text t = rf_profile_frame(texts, from).fn;
            row[part.n_text++] = (ProtobufCBinaryData){t.n, (uint8_t *)t.s};
        }
        part.text = row;
        put_part(to, &part);
    }
}

static void put_frame_columns(struct rf_gzip *to, struct frame_columns *c, size_t n)
{
    Rfpb__Part part = RFPB__PART__INIT;
    part.n_kind = part.n_file = part.n_fn = part.n_line = part.n_col = part.n_expr = part.n_query = part.n_named = n;
    part.kind = c->kind;
    part.file = c->file;
    part.fn = c->fn;
    part.line = c->line;
    part.col = c->col;
    part.expr = c->expr;
    part.query = c->query;
    part.named = c->named;
    put_part(to, &part);
}

/* The texts of a part's frames stand before it. */
static bool put_frames(struct rf_gzip *to, const struct rf_profile *p)
{
    struct rf_profile *texts = rf_profile_new();
    struct frame_columns *c = malloc(sizeof *c);
    ProtobufCBinaryData *row = calloc(ROWS, sizeof *row);
    size_t n = 0, all = rf_profile_frames(p), written = 0;
    bool enough = texts && c && row;
    for (size_t i = 0; enough && i < all; i++) {
        struct rf_frame f = rf_profile_frame(p, i);
        c->kind[n] = (uint32_t)f.kind;
        c->file[n] = number(texts, f.file);
        c->fn[n] = number(texts, f.fn);
        c->expr[n] = number(texts, f.expr);
        c->query[n] = number(texts, f.query);
        c->line[n] = f.line;
        c->col[n] = f.col;
        c->named[n] = f.named;
        enough =
            c->file[n] != UINT32_MAX && c->fn[n] != UINT32_MAX && c->expr[n] != UINT32_MAX && c->query[n] != UINT32_MAX;
        if (++n < ROWS && i + 1 < all)
            continue;
        put_texts(to, texts, written, row);
        written = rf_profile_frames(texts);
        put_frame_columns(to, c, n);
        n = 0;
    }
    rf_profile_free(texts);
    free(c);
    free(row);
    return enough;
}

/* --- nodes ------------------------------------------------------------------------------------------- */

struct node_columns {
    uint32_t parent[ROWS], frame[ROWS];
    uint64_t self_samples[ROWS], self_ns[ROWS], pool_ns[ROWS];
};

static void put_node_columns(struct rf_gzip *to, struct node_columns *c, size_t n)
{
    Rfpb__Part part = RFPB__PART__INIT;
    part.n_parent = part.n_frame = part.n_self_samples = part.n_self_ns = part.n_pool_ns = n;
    part.parent = c->parent;
    part.frame = c->frame;
    part.self_samples = c->self_samples;
    part.self_ns = c->self_ns;
    part.pool_ns = c->pool_ns;
    put_part(to, &part);
}

static bool put_nodes(struct rf_gzip *to, const struct rf_profile *p)
{
    struct node_columns *c = malloc(sizeof *c);
    size_t n = 0, all = rf_profile_nodes(p);
    for (size_t i = 1; c && i < all; i++) {
        struct rf_node node = rf_profile_node(p, i);
        c->parent[n] = node.parent;
        c->frame[n] = node.frame;
        c->self_samples[n] = node.self_samples;
        c->self_ns[n] = node.self_ns;
        c->pool_ns[n] = node.pool_ns;
        if (++n < ROWS && i + 1 < all)
            continue;
        put_node_columns(to, c, n);
        n = 0;
    }
    bool enough = c;
    free(c);
    return enough;
}

/* --- threads and their samples ----------------------------------------------------------------------- */

static void put_thread(struct rf_gzip *to, const struct rf_tid *t)
{
    Rfpb__Part part = RFPB__PART__INIT;
    uint32_t tid = (uint32_t)t->tid, worker = t->worker;
    ProtobufCBinaryData comm = {t->comm.n, (uint8_t *)t->comm.s};
    part.n_tid = part.n_worker = part.n_comm = 1;
    part.tid = &tid;
    part.worker = &worker;
    part.comm = &comm;
    put_part(to, &part);
}

struct event_columns {
    uint64_t after[ROWS], ns[ROWS];
    uint32_t node[ROWS], thread[ROWS];
};

static void put_event_columns(struct rf_gzip *to, struct event_columns *c, size_t n)
{
    Rfpb__Part part = RFPB__PART__INIT;
    part.n_event_after = part.n_event_ns = part.n_event_node = part.n_event_thread = n;
    part.event_after = c->after;
    part.event_ns = c->ns;
    part.event_node = c->node;
    part.event_thread = c->thread;
    put_part(to, &part);
}

static bool put_events(struct rf_gzip *to, const struct rf_log *log, const uint32_t *nodes)
{
    struct event_columns *c = malloc(sizeof *c);
    size_t n = 0;
    uint64_t before = 0;
    for (const struct rf_tid *t = NULL; (t = rf_tids_next(log->tids, t));)
        put_thread(to, t);
    for (size_t i = 0; c && i < log->n; i++) {
        const struct rf_event *e = &log->event[i];
        const struct rf_tid *t = rf_tids_find(log->tids, e->tid);
        c->after[n] = e->time_ns - before;
        c->ns[n] = e->weight_ns;
        c->node[n] = nodes ? nodes[e->node] : e->node;
        c->thread[n] = t ? t->number : 0;
        before = e->time_ns;
        if (++n < ROWS && i + 1 < log->n)
            continue;
        put_event_columns(to, c, n);
        n = 0;
    }
    bool enough = c;
    free(c);
    return enough;
}

bool rf_save_parts(struct rf_gzip *to, const struct rf_profile *p, const struct rf_log *log, const uint32_t *nodes,
                   const struct rf_about *about, bool no_text)
{
    put_header(to, about, no_text, log);
    return put_frames(to, p) && put_nodes(to, p) && (!log || put_events(to, log, nodes));
}
