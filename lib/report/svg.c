/* svg.c: a flame graph in one file that any browser opens: an icicle, the outermost frame on top, so that a stack that
 * is thousands deep begins where the page begins and is scrolled down to its leaf.
 *
 * The frames that are wide enough to be seen are drawn here, for programs that show pictures and run no scripts. The
 * whole profile stands in <metadata>, as JSON: svg.js draws it anew. Names come out of the target and may hold
 * anything: what XML 1.0 cannot hold (control characters, bytes that are not UTF-8, U+FFFE, U+FFFF) is written as \xNN
 * for each byte, and < > & as entities, in the text of an element only, never in an attribute, a script or a CDATA
 * section. */
#include "svg.h"
#include "escape.h"
#include "formats.h"
#include "subtree.h"
#include "texts.h"
#include "view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Pixels. ROW and HEAD are in svg.js, too; COLUMN is what a character of the font takes, more or less. */
enum { WIDTH = 1200, ROW = 18, HEAD = 76 };
static const double COLUMN = 7.2;
/* What takes less than this part of the width is not drawn here: one pixel. */
enum { LEAST = WIDTH };
/* What a browser takes without a thought. A recursion that is recorded for an hour may have millions of stacks: then
 * the cheapest frames are left out, which the picture says. */
enum { FRAMES_MOST = 250000 };

struct picture {
    FILE *to;
    const struct rf_render *how;
    struct rf_profile *shown;
    struct rf_subtree *tree;
    /* The nodes from left to right, parents first. By node: its level, and where it begins, in nanoseconds. */
    uint32_t *order, *level;
    uint64_t *left;
    size_t n;
    uint32_t deepest;
    size_t left_out; /* frames that are in no list of the tree */
};

/* --- text ------------------------------------------------------------------------------------------ */

/* East Asian characters take two; as in svg.js. */
static unsigned columns_of(struct rf_text t)
{
    char shown[8];
    unsigned all = 0, one;
    for (size_t i = 0; i < t.n; all += one)
        i += rf_readable((struct rf_text){t.s + i, t.n - i}, shown, &one);
    return all;
}

static void put_xml(FILE *to, const char *s)
{
    for (; *s; s++) {
        if (*s == '<')
            fputs("&lt;", to);
        else if (*s == '>')
            fputs("&gt;", to);
        else if (*s == '&')
            fputs("&amp;", to);
        else
            putc(*s, to);
    }
}

/* Text of an element: at most so many columns of it, an ellipsis among them. */
static void put_text(FILE *to, struct rf_text t, unsigned room)
{
    char shown[8];
    bool all = columns_of(t) <= room;
    unsigned used = 0, columns;
    for (size_t i = 0; i < t.n; used += columns) {
        i += rf_readable((struct rf_text){t.s + i, t.n - i}, shown, &columns);
        if (!all && used + columns + 1 > room) {
            fputs("\xe2\x80\xa6", to);
            return;
        }
        put_xml(to, shown);
    }
}

/* A string of JSON, as text of an element. */
static void put_json(FILE *to, struct rf_text t)
{
    char shown[8];
    unsigned columns;
    putc('"', to);
    for (size_t i = 0; i < t.n;) {
        i += rf_readable((struct rf_text){t.s + i, t.n - i}, shown, &columns);
        if (shown[0] == '"' || shown[0] == '\\')
            putc('\\', to);
        put_xml(to, shown);
    }
    putc('"', to);
}

/* --- frames ---------------------------------------------------------------------------------------- */

/* "fn (file:line:col)" and its parts, of which either may be empty; malloc'ed, s is NULL when out of memory. */
struct label {
    struct rf_text all, fn, place;
    char *buffer;
};

static bool label_of(const struct rf_frame *f, struct label *l)
{
    char *place;
    size_t n;
    FILE *to = open_memstream(&place, &n);
    *l = (struct label){0};
    if (!to)
        return false;
    if (f->fn.n)
        fwrite(f->fn.s, 1, f->fn.n, to);
    if (f->fn.n && f->file.n)
        fputs(" (", to);
    fflush(to);
    size_t begin = n;
    fwrite(f->file.s, 1, f->file.n, to);
    if (f->line)
        fprintf(to, ":%" PRIu32, f->line);
    if (f->col)
        fprintf(to, ":%" PRIu32, f->col);
    fflush(to);
    size_t end = n;
    if (f->fn.n && f->file.n)
        putc(')', to);
    bool complete = !ferror(to);
    if (fclose(to) != 0 || !complete) {
        free(place);
        return false;
    }
    *l = (struct label){{place, n}, {place, f->fn.n}, {place + begin, end - begin}, place};
    return true;
}

/* The class of a frame, by what it is, and of five shades one that its name chooses. */
static void hue_of(const struct rf_frame *f, char to[static 4])
{
    uint32_t hash = UINT32_C(2166136261); /* FNV-1a */
    for (size_t i = 0; i < f->fn.n; i++)
        hash = (hash ^ (unsigned char)f->fn.s[i]) * UINT32_C(16777619);
    bool grey = rf_text_is(f->file, "<runtime>") || rf_text_is(f->file, "<unknown>");
    switch (f->kind) {
    case RF_KIND_RAYFALL:
        snprintf(to, 4, grey ? "g" : "r%" PRIu32, hash % 5);
        break;
    case RF_KIND_NATIVE:
    case RF_KIND_INTERPRETER:
        snprintf(to, 4, "c%" PRIu32, hash % 5);
        break;
    case RF_KIND_BUILTIN:
        snprintf(to, 4, "b%" PRIu32, hash % 5);
        break;
    case RF_KIND_THREAD:
    case RF_KIND_PROCESS:
        snprintf(to, 4, "t");
        break;
    }
}

/* The root stands for all. */
static struct rf_frame frame_of(const struct picture *p, uint32_t node)
{
    if (node)
        return rf_profile_frame(p->shown, rf_profile_node(p->shown, node).frame);
    return (struct rf_frame){.file = {"", 0}, .fn = {"all", 3}};
}

/* --- where each node stands ------------------------------------------------------------------------ */

static int dearest_first(const void *va, const void *vb)
{
    const uint64_t *a = va, *b = vb;
    return (*a < *b) - (*a > *b);
}

/* Cuts the cheapest frames off the lists of siblings, which stand by price, where there are too many; of equal ones
 * those with the higher numbers, as they stand in the lists. What is below a frame is no dearer and has a higher
 * number. False when out of memory. */
static bool prune(struct picture *p, size_t n)
{
    if (n <= FRAMES_MOST)
        return true;
    uint64_t *ns = calloc(n, sizeof *ns);
    if (!ns)
        return false;
    for (size_t i = 0; i < n; i++)
        ns[i] = p->tree[i].ns;
    qsort(ns, n, sizeof *ns, dearest_first);
    uint64_t least = ns[FRAMES_MOST - 1];
    size_t room = 0, last = 0; /* how many of those that cost just that there is room for, and the last of them */
    for (size_t i = FRAMES_MOST; i-- > 0 && ns[i] == least;)
        room++;
    free(ns);
    for (; room; last++)
        room -= p->tree[last].ns == least;
    for (size_t i = 0; i < n; i++) {
        struct rf_subtree *t = &p->tree[i];
        uint32_t *link[] = {&t->first, &t->next};
        for (size_t k = 0; k < 2; k++)
            if (p->tree[*link[k]].ns < least || (p->tree[*link[k]].ns == least && *link[k] >= last))
                *link[k] = 0;
    }
    p->left_out = n - FRAMES_MOST;
    return true;
}

/* Without recursion, since stacks are as deep as the target's. */
static bool lay_out(struct picture *p)
{
    size_t n = rf_profile_nodes(p->shown);
    p->tree = rf_subtrees(p->shown);
    p->order = calloc(n, sizeof *p->order);
    p->level = calloc(n, sizeof *p->level);
    p->left = calloc(n, sizeof *p->left);
    if (!p->tree || !p->order || !p->level || !p->left || !rf_subtrees_sort(p->shown, p->tree) || !prune(p, n))
        return false;
    for (uint32_t at = 0;;) {
        p->order[p->n++] = at;
        if (p->level[at] > p->deepest)
            p->deepest = p->level[at];
        uint64_t x = p->left[at];
        for (uint32_t child = p->tree[at].first; child; child = p->tree[child].next) {
            p->level[child] = p->level[at] + 1;
            p->left[child] = x;
            x += p->tree[child].ns;
        }
        if (p->tree[at].first) {
            at = p->tree[at].first;
            continue;
        }
        while (at && !p->tree[at].next)
            at = rf_profile_node(p->shown, at).parent;
        if (!at)
            return true;
        at = p->tree[at].next;
    }
}

static double share(const struct picture *p, uint64_t ns)
{
    return p->tree[0].ns ? (double)ns / (double)p->tree[0].ns : 0.0;
}

static const char *unit(const struct picture *p)
{
    return p->how->about && p->how->about->idle ? "wall-clock time" : "CPU time";
}

static bool put_frame(const struct picture *p, uint32_t at)
{
    struct rf_frame f = frame_of(p, at);
    struct label l;
    char hue[4];
    double part = share(p, p->tree[at].ns);
    if (!label_of(&f, &l))
        return false;
    hue_of(&f, hue);
    fprintf(p->to, "<svg class=\"frame %s\" x=\"%.4f%%\" y=\"%" PRIu32 "\" width=\"%.4f%%\" height=\"%d\"><title>",
            at ? hue : "g", 100 * share(p, p->left[at]), p->level[at] * ROW, 100 * part, ROW - 1);
    put_text(p->to, l.all, UINT32_MAX);
    fprintf(p->to, "\n%.3f ms of %s, %.2f %%\n%" PRIu64 " sample%s</title><rect width=\"100%%\" height=\"100%%\"/>",
            (double)p->tree[at].ns / 1e6, unit(p), 100 * part, p->tree[at].samples,
            p->tree[at].samples == 1 ? "" : "s");
    double room = (part * WIDTH - 7) / COLUMN;
    if (room >= 2) {
        fputs("<text x=\"3\" y=\"13\">", p->to);
        put_text(p->to, l.all, (unsigned)room);
        fputs("</text>", p->to);
    }
    fputs("</svg>\n", p->to);
    free(l.buffer);
    return true;
}

static bool put_frames(const struct picture *p)
{
    bool done = true;
    fprintf(p->to, "<svg class=\"graph\" y=\"%d\" width=\"100%%\" height=\"%" PRIu32 "\">\n", HEAD,
            (p->deepest + 1) * ROW);
    for (size_t i = 0; i < p->n && done; i++)
        if (p->tree[p->order[i]].ns >= p->tree[0].ns / LEAST)
            done = put_frame(p, p->order[i]);
    fputs("</svg>\n", p->to);
    return done;
}

/* Frame 0 is the root's. */
static bool put_profile(const struct picture *p)
{
    fprintf(p->to, "<metadata>{\"unit\":\"%s\",\"frames\":[[\"all\",\"\",\"g\",\"\"]", unit(p));
    for (size_t i = 0; i < rf_profile_frames(p->shown); i++) {
        struct rf_frame f = rf_profile_frame(p->shown, i);
        struct label l;
        char hue[4];
        if (!label_of(&f, &l))
            return false;
        hue_of(&f, hue);
        fputs(",\n[", p->to);
        put_json(p->to, l.fn);
        putc(',', p->to);
        put_json(p->to, l.place);
        fprintf(p->to, ",\"%s\",", hue);
        put_json(p->to, f.expr);
        putc(']', p->to);
        free(l.buffer);
    }
    fputs("],\n\"nodes\":[", p->to);
    for (size_t i = 0; i < p->n; i++) {
        uint32_t at = p->order[i];
        fprintf(p->to, "%s%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64, i ? ",\n" : "", p->level[at],
                at ? rf_profile_node(p->shown, at).frame + 1 : 0, p->tree[at].ns, p->tree[at].samples);
    }
    fputs("]}</metadata>\n", p->to);
    return true;
}

/* --- the head -------------------------------------------------------------------------------------- */

static struct rf_text command(const struct picture *p)
{
    const char *s = p->how->about && p->how->about->command ? p->how->about->command : "";
    return *s ? (struct rf_text){s, strlen(s)} : (struct rf_text){"rfprof", 6};
}

/* What is known of: the process, how long, how often, when, how much. */
static void put_facts(const struct picture *p)
{
    const struct rf_about *a = p->how->about;
    if (a && a->pid)
        fprintf(p->to, "pid %d, ", (int)a->pid);
    if (a && a->release && *a->release) {
        fputs("rayforce ", p->to);
        put_text(p->to, (struct rf_text){a->release, strlen(a->release)}, 40);
        fputs("; ", p->to);
    }
    if (a && a->wall_ns)
        fprintf(p->to, "%.1f s at %g Hz", (double)a->wall_ns / 1e9, a->rate_hz);
    if (a && a->began_ns) {
        time_t t = (time_t)(a->began_ns / UINT64_C(1000000000));
        struct tm utc;
        char text[40];
        if (gmtime_r(&t, &utc) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc))
            fprintf(p->to, " from %s", text);
    }
    if (a && (a->wall_ns || a->began_ns))
        fputs("; ", p->to);
    if (a && a->charged_ns)
        fprintf(p->to, "%.3f s of CPU time charged; ", (double)a->charged_ns / 1e9);
    fprintf(p->to, "%" PRIu64 " samples, by %s", p->tree[0].samples, rf_views()[p->how->view].name);
    if (p->left_out)
        fprintf(p->to, "; the cheapest %zu of %zu frames are left out", p->left_out, p->left_out + p->n);
}

/* The hues that there are, where there are several, from the right. */
static void put_key(const struct picture *p)
{
    static const struct {
        char hue;
        const char *name;
    } keys[] = {{'g', "runtime"}, {'t', "thread"}, {'b', "builtin"}, {'c', "C"}, {'r', "Rayfall"}};
    enum { KEYS = sizeof keys / sizeof *keys };
    bool has[KEYS] = {false};
    unsigned n = 0;
    for (size_t i = 0; i < rf_profile_frames(p->shown); i++) {
        struct rf_frame f = rf_profile_frame(p->shown, i);
        char hue[4];
        hue_of(&f, hue);
        for (size_t k = 0; k < KEYS; k++) {
            n += keys[k].hue == hue[0] && !has[k];
            has[k] |= keys[k].hue == hue[0];
        }
    }
    double x = -8;
    fputs("<svg class=\"key\" x=\"100%\" y=\"50\" width=\"1\" height=\"18\" overflow=\"visible\">", p->to);
    for (size_t k = 0; k < KEYS && n > 1; k++) {
        if (!has[k])
            continue;
        x -= COLUMN * (double)strlen(keys[k].name);
        fprintf(p->to, "<text class=\"key\" x=\"%.0f\" y=\"13\">%s</text>", x, keys[k].name);
        x -= 18;
        fprintf(p->to, "<g class=\"%c%s\"><rect x=\"%.0f\" y=\"3\" width=\"13\" height=\"12\"/></g>", keys[k].hue,
                keys[k].hue == 'g' || keys[k].hue == 't' ? "" : "0", x);
        x -= 14;
    }
    fputs("</svg>\n", p->to);
}

static void put_head(const struct picture *p)
{
    fprintf(p->to,
            "<g class=\"head\"><rect class=\"bar\" width=\"100%%\" height=\"%d\"/>"
            "<line class=\"rule\" x2=\"100%%\" y1=\"%d.5\" y2=\"%d.5\"/>\n",
            HEAD - 2, HEAD - 3, HEAD - 3);
    fputs("<text class=\"title\" x=\"8\" y=\"20\">", p->to);
    put_text(p->to, command(p), 130);
    fputs("</text>\n<text class=\"facts\" x=\"8\" y=\"38\">", p->to);
    put_facts(p);
    fputs("</text>\n", p->to);
    put_key(p);
    fputs("</g>\n", p->to);
}

static bool put_picture(const struct picture *p)
{
    fprintf(p->to,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%" PRIu32 "\">\n<title>",
            WIDTH, HEAD + (p->deepest + 1) * ROW + 12);
    put_text(p->to, command(p), 130);
    fputs(", ", p->to);
    put_facts(p);
    fprintf(p->to, "</title>\n<style><![CDATA[\n%s]]></style>\n", rf_svg_css);
    fputs("<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n", p->to);
    if (!put_frames(p))
        return false;
    put_head(p);
    if (!put_profile(p))
        return false;
    fprintf(p->to, "<script><![CDATA[\n%s]]></script>\n</svg>\n", rf_svg_js);
    return true;
}

enum rf_status rf_write_svg(const struct rf_profile *profile, const struct rf_render *how, FILE *to,
                            struct rf_error *err)
{
    struct picture p = {.to = to, .how = how};
    unsigned apart = RF_UNESCAPED | (how->view == RF_VIEW_EXPR ? RF_APART_FORMS : 0);
    enum rf_status status = rf_printable(profile, how, apart, &p.shown, err);
    if (status != RF_OK)
        return status;
    if (!lay_out(&p) || !put_picture(&p))
        status = rf_fail(err, RF_FAILURE, 0, "out of memory while drawing %zu stacks", rf_profile_nodes(p.shown));
    free(p.tree);
    free(p.order);
    free(p.level);
    free(p.left);
    rf_profile_free(p.shown);
    return status;
}
