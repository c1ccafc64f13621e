/* saved.c: a profile out of a file, which may be cut, damaged, or made to do harm: nothing in it is believed.
 *
 * Memory is bounded twice: the file's content, and what protobuf-c makes of it (a message of two bytes becomes one of a
 * hundred). Every number that stands for something is compared with how many there are. */
#include "saved.h"
#include "foreign.h"
#include "report/profile.pb-c.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 512 << 20, MEMORY_MOST = 1 << 30, THREADS_MOST = 1 << 20, VERSION = 1 };

struct rf_saved {
    struct rf_profile *profile;
    struct rf_tids *tids;
    struct rf_about about;
    char *text[4]; /* what about points to */
    bool no_text, foreign;
};

struct reading {
    struct rf_saved *to;
    /* by number in the file */
    struct rf_text *text; /* bytes of the unpacked message */
    uint32_t *frame, *node, *tid;
    unsigned *worker;
    size_t n_text, n_frame, n_node, n_tid, room_text, room_frame, room_node, room_tid, room_worker;
    uint64_t time_ns;
    unsigned workers;
    const char *wrong; /* what it is that makes no sense */
    bool no_memory;
};

static bool wrong(struct reading *r, const char *what)
{
    r->wrong = what;
    return false;
}

static bool no_memory(struct reading *r)
{
    r->no_memory = true;
    return false;
}

/* Room for so many more elements of an array. */
static bool room(struct reading *r, void *array, size_t n, size_t more, size_t *have, size_t size)
{
    void **a = array;
    if (*a && n + more <= *have)
        return true;
    size_t want = n + more + n / 2 + 1;
    void *bigger = reallocarray(*a, want, size);
    if (!bigger)
        return no_memory(r);
    *a = bigger;
    *have = want;
    return true;
}

static bool read_texts(struct reading *r, const Rfpb__Part *p)
{
    if (!room(r, &r->text, r->n_text, p->n_text, &r->room_text, sizeof *r->text))
        return false;
    for (size_t i = 0; i < p->n_text; i++) {
        if (p->text[i].len > RF_TEXT_MAX)
            return wrong(r, "a text that is too long");
        r->text[r->n_text++] = (struct rf_text){(const char *)p->text[i].data, p->text[i].len};
    }
    return true;
}

static bool read_frames(struct reading *r, const Rfpb__Part *p)
{
    size_t n = p->n_kind;
    if (p->n_file != n || p->n_fn != n || p->n_line != n || p->n_col != n || p->n_expr != n || p->n_query != n ||
        p->n_named != n)
        return wrong(r, "columns of different lengths");
    if (!room(r, &r->frame, r->n_frame, n, &r->room_frame, sizeof *r->frame))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (p->kind[i] > RF_KIND_PROCESS || p->file[i] >= r->n_text || p->fn[i] >= r->n_text ||
            p->expr[i] >= r->n_text || p->query[i] >= r->n_text)
            return wrong(r, "a frame of what is not there");
        struct rf_frame f = {.kind = (enum rf_kind)p->kind[i],
                             .file = r->text[p->file[i]],
                             .fn = r->text[p->fn[i]],
                             .line = p->line[i],
                             .col = p->col[i],
                             .expr = r->text[p->expr[i]],
                             .query = r->text[p->query[i]],
                             .named = p->named[i]};
        uint32_t id = rf_profile_intern(r->to->profile, &f);
        if (id == UINT32_MAX)
            return no_memory(r);
        r->frame[r->n_frame++] = id;
    }
    return true;
}

static bool read_nodes(struct reading *r, const Rfpb__Part *p)
{
    size_t n = p->n_parent;
    if (p->n_frame != n || p->n_self_samples != n || p->n_self_ns != n || p->n_pool_ns != n)
        return wrong(r, "columns of different lengths");
    if (!room(r, &r->node, r->n_node, n, &r->room_node, sizeof *r->node))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (p->parent[i] >= r->n_node || p->frame[i] >= r->n_frame || p->pool_ns[i] > p->self_ns[i])
            return wrong(r, "a stack of what is not there");
        uint32_t node = rf_profile_child(r->to->profile, r->node[p->parent[i]], r->frame[p->frame[i]]);
        if (node == UINT32_MAX)
            return no_memory(r);
        rf_profile_charge(r->to->profile, node, p->self_samples[i],
                          (struct rf_charge){.weight_ns = p->self_ns[i], .pool_ns = p->pool_ns[i]});
        r->node[r->n_node++] = node;
    }
    return true;
}

static bool read_threads(struct reading *r, const Rfpb__Part *p)
{
    size_t n = p->n_tid;
    if (p->n_worker != n || p->n_comm != n)
        return wrong(r, "columns of different lengths");
    if (n > THREADS_MOST || r->n_tid + n > THREADS_MOST)
        return wrong(r, "too many threads");
    if (!room(r, &r->tid, r->n_tid, n, &r->room_tid, sizeof *r->tid) ||
        !room(r, &r->worker, r->n_tid, n, &r->room_worker, sizeof *r->worker))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct rf_text comm = {(const char *)p->comm[i].data, p->comm[i].len};
        if (p->tid[i] > INT_MAX || rf_tids_find(r->to->tids, (pid_t)p->tid[i]))
            return wrong(r, "a thread that cannot be");
        if (!rf_tids_add(r->to->tids, (pid_t)p->tid[i], comm, false))
            return no_memory(r);
        r->tid[r->n_tid] = p->tid[i];
        r->worker[r->n_tid++] = p->worker[i];
        r->workers += p->worker[i] != 0;
    }
    return true;
}

static bool read_events(struct reading *r, const Rfpb__Part *p)
{
    struct rf_log *log = rf_profile_log(r->to->profile);
    size_t n = p->n_event_after;
    if (p->n_event_ns != n || p->n_event_node != n || p->n_event_thread != n)
        return wrong(r, "columns of different lengths");
    for (size_t i = 0; i < n; i++) {
        if (!log || p->event_node[i] >= r->n_node || p->event_thread[i] >= r->n_tid ||
            p->event_after[i] > UINT64_MAX - r->time_ns)
            return wrong(r, "a sample of what is not there");
        r->time_ns += p->event_after[i];
        rf_log_add(log, (struct rf_event){.time_ns = r->time_ns,
                                          .weight_ns = p->event_ns[i],
                                          .node = r->node[p->event_node[i]],
                                          .tid = (pid_t)r->tid[p->event_thread[i]]});
        if (log->missed)
            return wrong(r, "more samples than rfprof keeps");
    }
    return true;
}

/* A terminated copy; NULL for nothing. */
static bool keep(struct reading *r, ProtobufCBinaryData from, char **copy, const char **to)
{
    if (!from.len)
        return true;
    *copy = strndup((const char *)from.data, from.len);
    *to = *copy;
    return *copy || no_memory(r);
}

static bool read_header(struct reading *r, const Rfpb__Header *h)
{
    struct rf_saved *s = r->to;
    if (h->version != VERSION)
        return wrong(r, "a version that this rfprof does not know");
    if (h->pid > INT_MAX)
        return wrong(r, "a process that cannot be");
    s->no_text = h->no_text;
    s->about = (struct rf_about){.pid = (pid_t)h->pid,
                                 .rate_hz = h->rate_hz,
                                 .began_ns = h->began_ns,
                                 .wall_ns = h->wall_ns,
                                 .charged_ns = h->charged_ns,
                                 .idle = h->idle};
    s->tids = rf_tids_new(s->about.pid);
    if (!s->tids || (h->log && !rf_profile_keep_log(s->profile, s->tids)))
        return no_memory(r);
    return keep(r, h->command, &s->text[0], &s->about.command) && keep(r, h->release, &s->text[1], &s->about.release) &&
           keep(r, h->folder, &s->text[2], &s->about.folder) && keep(r, h->account, &s->text[3], &s->about.account);
}

/* Workers have numbers in the order in which they were known to be such. */
static bool number_workers(struct reading *r)
{
    uint32_t *of = calloc(r->workers + 1, sizeof *of); /* number of a worker -> thread, plus one */
    bool done = of || no_memory(r);
    for (size_t i = 0; done && i < r->n_tid; i++) {
        unsigned w = r->worker[i];
        if (w > r->workers || (w && of[w]))
            done = wrong(r, "workers that are numbered wrongly");
        else
            of[w] = (uint32_t)i + 1;
    }
    for (unsigned w = 1; done && w <= r->workers; w++)
        done = rf_tids_add(r->to->tids, (pid_t)r->tid[of[w] - 1], (struct rf_text){0}, true) || no_memory(r);
    free(of);
    return done;
}

static bool read_parts(struct reading *r, const Rfpb__Profile *p)
{
    if (!p->rfprof[0]->header)
        return wrong(r, "no beginning");
    bool done = read_header(r, p->rfprof[0]->header) && room(r, &r->node, 0, 1, &r->room_node, sizeof *r->node);
    if (done)
        r->node[r->n_node++] = 0;
    for (size_t i = 0; done && i < p->n_rfprof; i++) {
        const Rfpb__Part *part = p->rfprof[i];
        done = read_texts(r, part) && read_frames(r, part) && read_nodes(r, part) && read_threads(r, part) &&
               read_events(r, part);
    }
    return done && number_workers(r);
}

static enum rf_status read_ours(struct rf_saved *s, const Rfpb__Profile *p, const char *path, struct rf_error *err)
{
    struct reading r = {.to = s};
    bool done = read_parts(&r, p);
    free(r.text);
    free(r.frame);
    free(r.node);
    free(r.tid);
    free(r.worker);
    if (!done && r.no_memory)
        return rf_fail(err, RF_FAILURE, 0, "out of memory while reading %s", path);
    return done ? RF_OK : rf_fail(err, RF_FAILURE, 0, "%s is damaged: there is %s in it", path, r.wrong);
}

/* --- the file ------------------------------------------------------------------------------------------- */

/* protobuf-c's memory, of which there is so much and no more. What is given back is not counted: that is little. */
static void *take(void *left, size_t n)
{
    size_t *have = left;
    if (n > *have)
        return NULL;
    *have -= n;
    return malloc(n);
}

static void give(void *left, void *p)
{
    (void)left;
    free(p);
}

static enum rf_status read_profile(struct rf_saved *s, const char *path, struct rf_error *err)
{
    size_t left = MEMORY_MOST, n;
    ProtobufCAllocator bounded = {take, give, &left};
    unsigned char *bytes;
    enum rf_status status = rf_gunzip(path, FILE_MOST, &bytes, &n, err);
    if (status != RF_OK)
        return status;
    Rfpb__Profile *p = rfpb__profile__unpack(&bounded, n, bytes);
    free(bytes);
    if (!p) {
        rf_fail(err, RF_FAILURE, 0, "%s is not a profile, or damaged", path);
        rf_hint(err, "a profile is what `rfprof record -o FILE.pb.gz` writes");
        return RF_FAILURE;
    }
    if (p->n_rfprof)
        status = read_ours(s, p, path, err);
    else
        status = rf_read_foreign(s->profile, &s->about, p, path, err);
    s->foreign = p->n_rfprof == 0;
    rfpb__profile__free_unpacked(p, &bounded);
    return status;
}

enum rf_status rf_saved_open(struct rf_saved **out, const char *path, struct rf_error *err)
{
    struct rf_saved *s = calloc(1, sizeof *s);
    *out = NULL;
    if (s)
        s->profile = rf_profile_new();
    if (!s || !s->profile) {
        rf_saved_close(s);
        return rf_fail(err, RF_FAILURE, 0, "out of memory while reading %s", path);
    }
    enum rf_status status = read_profile(s, path, err);
    if (status != RF_OK) {
        rf_saved_close(s);
        return status;
    }
    *out = s;
    return RF_OK;
}

void rf_saved_close(struct rf_saved *s)
{
    if (!s)
        return;
    rf_profile_free(s->profile);
    rf_tids_free(s->tids);
    for (size_t i = 0; i < sizeof s->text / sizeof *s->text; i++)
        free(s->text[i]);
    free(s);
}

const struct rf_profile *rf_saved_profile(const struct rf_saved *s)
{
    return s->profile;
}

const struct rf_about *rf_saved_about(const struct rf_saved *s)
{
    return &s->about;
}

bool rf_saved_no_text(const struct rf_saved *s)
{
    return s->no_text;
}

bool rf_saved_empty(const struct rf_saved *s)
{
    return rf_profile_samples(s->profile) == 0;
}

bool rf_saved_foreign(const struct rf_saved *s)
{
    return s->foreign;
}
