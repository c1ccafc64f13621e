/* view.c: what is told apart in the output, and under which name.
 *
 * A view is made once for each output, from a profile that keeps everything apart; so one recording can be written by
 * line and by function, and what is withheld from the output never gets as far as a format. */
#include "view.h"
#include "escape.h"
#include "texts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct rf_choice views[] = {
    [RF_VIEW_LINE] = {"line", "the lines of each function"},
    [RF_VIEW_FN] = {"fn", "functions"},
    [RF_VIEW_FILE] = {"file", "files"},
    [RF_VIEW_QUERY] = {"query", "texts that clients sent; for the rest, the outermost function"},
    [RF_VIEW_EXPR] = {"expr", "expressions: the forms of one line apart, with the columns col and expr"},
    [RF_VIEW_NATIVE] = {"native", "C functions, the interpreter's own among them; no Rayfall"},
    [RF_VIEW_BUILTIN] = {"builtin", "builtins and special forms, with what they call: name, total_ms, calls, avg_ms"},
    [RF_VIEW_THREAD] = {"thread", "threads"},
    {NULL, NULL},
};

static const struct rf_choice columns[] = {
    [RF_COLUMN_COL] = {"col", "where in the line the form begins, in bytes from 1; 0: not known"},
    [RF_COLUMN_EXPR] = {"expr", "the beginning of the form's text"},
    [RF_COLUMN_POOL_MS] = {"pool_ms", "the part of self_ms that workers of the pool used"},
    [RF_COLUMN_MAIN_MS] = {"main_ms", "the rest of self_ms"},
    [RF_COLUMN_THREAD] = {"thread", "the thread, of which each has rows of its own (as with -t)"},
    [RF_COLUMN_PROCESS] = {"process", "the process, where several are sampled (-p PID,PID)"},
    {NULL, NULL},
};

const struct rf_choice *rf_views(void)
{
    return views;
}

const struct rf_choice *rf_columns(void)
{
    return columns;
}

size_t rf_columns_shown(const struct rf_profile *p, const struct rf_render *how, enum rf_column out[RF_COLUMNS])
{
    bool shown[RF_COLUMNS] = {false};
    size_t n = 0;
    for (size_t i = 0; i < how->n_columns; i++) {
        out[n++] = how->column[i];
        shown[how->column[i]] = true;
    }
    if (rf_profile_joined(p) && !shown[RF_COLUMN_PROCESS])
        out[n++] = RF_COLUMN_PROCESS;
    if (how->threads && !shown[RF_COLUMN_THREAD] && how->view != RF_VIEW_THREAD)
        out[n++] = RF_COLUMN_THREAD;
    for (enum rf_column c = RF_COLUMN_COL; how->view == RF_VIEW_EXPR && c <= RF_COLUMN_EXPR; c++)
        if (!shown[c])
            out[n++] = c;
    return n;
}

unsigned rf_columns_apart(const enum rf_column *column, size_t n)
{
    unsigned apart = 0;
    for (size_t i = 0; i < n; i++) {
        if (column[i] == RF_COLUMN_COL || column[i] == RF_COLUMN_EXPR)
            apart |= RF_APART_FORMS;
        if (column[i] == RF_COLUMN_THREAD)
            apart |= RF_APART_THREADS;
        if (column[i] == RF_COLUMN_PROCESS)
            apart |= RF_APART_PROCESSES;
    }
    return apart;
}

bool rf_unfiled(struct rf_text file)
{
    return rf_text_is(file, "<ipc>") || rf_text_is(file, "<repl>");
}

struct rf_text rf_full_path(const char *folder, struct rf_text name)
{
    bool as_is = !name.n || name.s[0] == '/' || rf_unfiled(name) || rf_text_is(name, "<runtime>") ||
                 rf_text_is(name, "<unknown>");
    size_t n = as_is ? 0 : strlen(folder);
    char *path = malloc(n + name.n + 2);
    if (!path)
        return (struct rf_text){0};
    if (as_is) {
        if (name.n)
            memcpy(path, name.s, name.n);
        return (struct rf_text){path, name.n};
    }
    memcpy(path, folder, n);
    while (n && path[n - 1] == '/')
        n--;
    for (size_t i = 0, end; i < name.n; i = end + 1) {
        const char *slash = memchr(name.s + i, '/', name.n - i);
        end = slash ? (size_t)(slash - name.s) : name.n;
        struct rf_text part = {name.s + i, end - i};
        if (!part.n || rf_text_is(part, "."))
            continue;
        if (rf_text_is(part, "..")) {
            while (n && path[--n] != '/')
                ;
            continue;
        }
        path[n++] = '/';
        memcpy(path + n, part.s, part.n);
        n += part.n;
    }
    if (!n)
        path[n++] = '/';
    return (struct rf_text){path, n};
}

struct making {
    const struct rf_profile *from;
    struct rf_profile *to, *withheld; /* each withheld text is a frame of the latter: they are numbered as first seen */
    const struct rf_render *how;
    unsigned apart;
    /* What a frame is in any thread and process: in `to` itself, but where these have rows of their own it is put
     * together from here and from the thread and process of each node. */
    struct rf_profile *plain;
    uint32_t *frame;            /* of from -> of plain, plus one; 0: not made yet */
    uint32_t *node;             /* of from -> of to */
    uint32_t *thread, *process; /* of from -> of plain, plus one; NULL: they have no rows of their own */
};

/* Does the view show frames of this kind? */
static bool shows(const struct making *m, enum rf_kind kind)
{
    enum rf_view view = m->how->view;
    switch (kind) {
    case RF_KIND_RAYFALL:
        return view != RF_VIEW_NATIVE && view != RF_VIEW_BUILTIN && view != RF_VIEW_THREAD;
    case RF_KIND_NATIVE:
        return view == RF_VIEW_NATIVE ||
               (m->how->native && view != RF_VIEW_QUERY && view != RF_VIEW_BUILTIN && view != RF_VIEW_THREAD);
    case RF_KIND_INTERPRETER:
        return view == RF_VIEW_NATIVE;
    case RF_KIND_BUILTIN:
        return view == RF_VIEW_BUILTIN;
    case RF_KIND_THREAD:
        return view == RF_VIEW_THREAD || (m->how->threads && !m->thread);
    case RF_KIND_PROCESS:
        return !m->process;
    }
    return false;
}

/* Takes out of a frame what the view does not tell apart. */
static struct rf_frame viewed(const struct making *m, struct rf_frame f)
{
    enum rf_view view = m->how->view;
    if (f.kind == RF_KIND_THREAD || f.kind == RF_KIND_PROCESS)
        return f;
    if (view == RF_VIEW_QUERY && f.query.n) {
        f.file = (struct rf_text){"<ipc>", 5};
        f.fn = f.query;
        f.named = false;
    }
    bool lines = view == RF_VIEW_LINE || view == RF_VIEW_EXPR;
    if (!lines) {
        f.line = 0;
        f.source = (struct rf_text){0};
    }
    if (view == RF_VIEW_NATIVE)
        f.kind = RF_KIND_NATIVE;
    if (view == RF_VIEW_FILE)
        f.fn = (struct rf_text){0};
    if (!lines || !(m->apart & RF_APART_FORMS)) {
        f.col = 0;
        f.expr = (struct rf_text){0};
    }
    return f;
}

/* Takes out of a frame what clients sent. number is room for what stands there instead; false when out of memory. */
static bool withhold(struct making *m, struct rf_frame *f, char *number, size_t size)
{
    if (!m->how->no_text || f->kind != RF_KIND_RAYFALL || !rf_unfiled(f->file))
        return true;
    f->expr = f->source = (struct rf_text){0};
    if (f->named || !f->fn.n)
        return true;
    uint32_t id = rf_profile_intern(m->withheld, &(struct rf_frame){.fn = f->fn});
    if (id == UINT32_MAX)
        return false;
    snprintf(number, size, "<%.*s #%" PRIu32 ">", (int)f->file.n - 2, f->file.s + 1, id + 1);
    f->fn = (struct rf_text){number, strlen(number)};
    return true;
}

/* A malloc'ed copy of a text as it is printed; s is NULL when out of memory. */
static struct rf_text printed(const struct making *m, struct rf_text t)
{
    char *copy = m->apart & RF_UNESCAPED ? malloc(t.n + 1) : rf_escape(t);
    if (copy && m->apart & RF_UNESCAPED && t.n)
        memcpy(copy, t.s, t.n);
    return (struct rf_text){copy, !copy ? 0 : m->apart & RF_UNESCAPED ? t.n : strlen(copy)};
}

/* The printable frame of a frame; UINT32_MAX when out of memory. */
static uint32_t printable_frame(struct making *m, uint32_t from)
{
    char number[32];
    if (m->frame[from])
        return m->frame[from] - 1;
    struct rf_frame f = viewed(m, rf_profile_frame(m->from, from));
    if (!withhold(m, &f, number, sizeof number))
        return UINT32_MAX;
    struct rf_text path = {0};
    if (m->how->folder && f.kind == RF_KIND_RAYFALL)
        f.file = path = rf_full_path(m->how->folder, f.file);
    struct rf_frame shown = {.kind = f.kind, .line = f.line, .col = f.col};
    if (f.file.s)
        shown.file = printed(m, f.file);
    shown.fn = printed(m, f.fn);
    shown.expr = printed(m, f.expr);
    shown.source = printed(m, f.source);
    bool done = shown.file.s && shown.fn.s && shown.expr.s && shown.source.s;
    uint32_t to = done ? rf_profile_intern(m->plain, &shown) : UINT32_MAX;
    free((char *)path.s);
    free((char *)shown.file.s);
    free((char *)shown.fn.s);
    free((char *)shown.expr.s);
    free((char *)shown.source.s);
    if (to != UINT32_MAX)
        m->frame[from] = to + 1;
    return to;
}

/* The root of a thread or of a process, of which the rows below it have the name: into which[i]. */
static bool keep_name(struct making *m, uint32_t *which, size_t i, uint32_t from)
{
    uint32_t name = printable_frame(m, from);
    which[i] = name == UINT32_MAX ? 0 : name + 1;
    return name != UINT32_MAX;
}

/* A frame as the row of its thread and process; UINT32_MAX when out of memory. */
static uint32_t row_of(struct making *m, size_t i, uint32_t frame)
{
    struct rf_frame f = rf_profile_frame(m->plain, frame);
    if (m->thread && m->thread[i])
        f.thread = rf_profile_frame(m->plain, m->thread[i] - 1).fn;
    if (m->process && m->process[i])
        f.process = rf_profile_frame(m->plain, m->process[i] - 1).fn;
    return rf_profile_intern(m->to, &f);
}

static bool is_root(const struct rf_profile *p, uint32_t node)
{
    if (!node)
        return true;
    enum rf_kind kind = rf_profile_frame(p, rf_profile_node(p, node).frame).kind;
    return kind == RF_KIND_THREAD || kind == RF_KIND_PROCESS;
}

/* The runtime's frame that only has the name of the C function above it, where that is shown itself. */
static bool says_it_twice(const struct making *m, const struct rf_frame *f, uint32_t parent)
{
    if (!parent || f->kind != RF_KIND_RAYFALL || !rf_text_is(f->file, "<runtime>") || (f->fn.n && f->fn.s[0] == '<'))
        return false;
    enum rf_kind above = rf_profile_frame(m->from, rf_profile_node(m->from, parent).frame).kind;
    return (above == RF_KIND_NATIVE || above == RF_KIND_INTERPRETER) && shows(m, RF_KIND_NATIVE);
}

/* The printable node of a node: that of its parent, where the view shows no frame of its own. */
static uint32_t printable_node(struct making *m, size_t i)
{
    struct rf_node node = rf_profile_node(m->from, i);
    struct rf_frame f = rf_profile_frame(m->from, node.frame);
    uint32_t parent = m->node[node.parent];
    struct rf_node above = rf_profile_node(m->to, parent);
    bool root = is_root(m->to, parent);
    if (m->thread)
        m->thread[i] = m->thread[node.parent];
    if (m->process)
        m->process[i] = m->process[node.parent];
    uint32_t *name = f.kind == RF_KIND_THREAD ? m->thread : f.kind == RF_KIND_PROCESS ? m->process : NULL;
    if (name)
        return keep_name(m, name, i, node.frame) ? parent : UINT32_MAX;
    if (!shows(m, f.kind) || says_it_twice(m, &f, node.parent) ||
        (m->how->view == RF_VIEW_QUERY && f.kind == RF_KIND_RAYFALL && !root && !f.query.n))
        return parent;
    uint32_t frame = printable_frame(m, node.frame);
    if (m->plain != m->to && frame != UINT32_MAX)
        frame = row_of(m, i, frame);
    if (frame == UINT32_MAX)
        return frame;
    if (m->how->view == RF_VIEW_FILE && parent && above.frame == frame)
        return parent;
    return rf_profile_child(m->to, parent, frame);
}

enum rf_status rf_printable_nodes(const struct rf_profile *p, const struct rf_render *how, unsigned apart,
                                  struct rf_profile **out, uint32_t **nodes, struct rf_error *err)
{
    size_t n = rf_profile_nodes(p);
    bool threads = apart & RF_APART_THREADS && how->view != RF_VIEW_THREAD, processes = apart & RF_APART_PROCESSES;
    bool rows = threads || processes;
    struct making m = {.from = p,
                       .to = rf_profile_new(),
                       .withheld = rf_profile_new(),
                       .how = how,
                       .apart = apart,
                       .frame = calloc(rf_profile_frames(p) + 1, sizeof *m.frame),
                       .node = calloc(n, sizeof *m.node),
                       .thread = threads ? calloc(n, sizeof *m.thread) : NULL,
                       .process = processes ? calloc(n, sizeof *m.process) : NULL};
    m.plain = rows ? rf_profile_new() : m.to;
    bool done =
        m.to && m.withheld && m.plain && m.frame && m.node && (m.thread || !threads) && (m.process || !processes);
    for (size_t i = 1; done && i < n; i++) {
        struct rf_node from = rf_profile_node(p, i);
        m.node[i] = printable_node(&m, i);
        done = m.node[i] != UINT32_MAX;
        if (done)
            rf_profile_charge(m.to, m.node[i], from.self_samples,
                              (struct rf_charge){.weight_ns = from.self_ns, .pool_ns = from.pool_ns});
    }
    rf_profile_free(m.withheld);
    if (m.plain != m.to)
        rf_profile_free(m.plain);
    free(m.frame);
    free(m.thread);
    free(m.process);
    if (!done) {
        free(m.node);
        rf_profile_free(m.to);
        return rf_fail(err, RF_FAILURE, 0, "out of memory while writing %zu stacks", n);
    }
    *out = m.to;
    *nodes = m.node;
    return RF_OK;
}

enum rf_status rf_printable(const struct rf_profile *p, const struct rf_render *how, unsigned apart,
                            struct rf_profile **out, struct rf_error *err)
{
    uint32_t *nodes;
    enum rf_status status = rf_printable_nodes(p, how, apart, out, &nodes, err);
    if (status == RF_OK)
        free(nodes);
    return status;
}
