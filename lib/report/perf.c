/* perf.c: the samples one by one, as `perf script` prints them, with C functions and Rayfall in one stack.
 *
 *   comm PID/TID SECONDS.NANOSECONDS: PERIOD cpu-clock:
 *   <tab>ADDRESS SYMBOL+0x0 (OBJECT)        innermost first
 *   <empty line>
 *
 * The readers of this text (stackcollapse-perf.pl, inferno-collapse-perf, Firefox Profiler's linux-perf importer) are
 * built out of regular expressions. What they would take amiss in a name is escaped besides what every text format
 * escapes: parentheses (argument lists, which are dropped, or the object), "->" (inlined calls), semicolons. They drop
 * the object, so the place in a Rayfall file is part of the symbol; a C function is its bare symbol, as perf has it.
 * The offset is there because a name's own end may look like one, and is cut off. Addresses number the frames. */
#include "escape.h"
#include "formats.h"
#include "view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t SECOND = 1000000000;

static void put_symbol(FILE *to, struct rf_text name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.s[i];
        if (c == '(' || c == ')' || c == ';' || (c == '>' && i && name.s[i - 1] == '-'))
            fprintf(to, "\\x%02x", c);
        else
            putc(c, to);
    }
}

/* The last word of its line, between parentheses. */
static void put_object(FILE *to, struct rf_text name)
{
    for (size_t i = 0; i < name.n; i++) {
        if (name.s[i] == '(' || name.s[i] == ')' || name.s[i] == ' ')
            fprintf(to, "\\x%02x", name.s[i]);
        else
            putc(name.s[i], to);
    }
}

static void put_frame(FILE *to, const struct rf_frame *f, uint32_t number)
{
    bool native = f->kind == RF_KIND_NATIVE || f->kind == RF_KIND_INTERPRETER;
    fprintf(to, "\t%16" PRIx32 " ", number + 1);
    put_symbol(to, f->fn.n ? f->fn : f->file);
    if (!native && f->fn.n && f->file.n) {
        fputs(" [", to);
        put_symbol(to, f->file);
        if (f->line)
            fprintf(to, ":%" PRIu32, f->line);
        if (f->col)
            fprintf(to, ":%" PRIu32, f->col);
        putc(']', to);
    }
    fputs("+0x0 (", to);
    put_object(to, f->file.n ? f->file : (struct rf_text){"rayfall", 7});
    if (native && f->line)
        fprintf(to, ":%" PRIu32, f->line);
    fputs(")\n", to);
}

/* One word that cannot be taken for a number or for a comment, of two characters or more. */
static bool put_comm(FILE *to, struct rf_text comm, pid_t tid)
{
    char *shown = rf_escape(comm);
    if (!shown)
        return false;
    const char *rest = shown;
    bool alone = strlen(shown) == 1;
    if (*shown == '#' || *shown == '{' || (*shown && shown[strspn(shown, "0123456789/")] == '\0'))
        fprintf(to, "\\x%02x", *rest++);
    alone = alone && rest == shown;
    for (; *rest; rest++)
        putc(*rest == ' ' ? '_' : *rest, to);
    if (!*shown)
        fprintf(to, ":%d", (int)tid); /* as perf calls a thread without a name */
    if (alone)
        putc(' ', to);
    free(shown);
    return true;
}

static bool put_event(FILE *to, const struct rf_profile *shown, const struct rf_event *e, const struct rf_tids *tids,
                      uint32_t node)
{
    const struct rf_tid *thread = rf_tids_find(tids, e->tid);
    if (!put_comm(to, thread ? thread->comm : (struct rf_text){0}, e->tid))
        return false;
    fprintf(to, " %d/%d %" PRIu64 ".%09" PRIu64 ": %10" PRIu64 " cpu-clock:\n",
            (int)(thread ? thread->pid : rf_tids_pid(tids)), (int)e->tid, e->time_ns / SECOND, e->time_ns % SECOND,
            e->weight_ns);
    for (struct rf_node at; node; node = at.parent) {
        at = rf_profile_node(shown, node);
        struct rf_frame f = rf_profile_frame(shown, at.frame);
        put_frame(to, &f, at.frame);
    }
    putc('\n', to);
    return true;
}

enum rf_status rf_write_perf(const struct rf_profile *p, const struct rf_render *how, FILE *to, struct rf_error *err)
{
    const struct rf_log *log = rf_profile_log(p);
    if (!log)
        return rf_fail(err, RF_FAILURE, 0,
                       "the profile does not know when its samples were taken, as format perf needs");
    struct rf_render merged = *how;
    merged.native = true;
    struct rf_profile *shown;
    uint32_t *nodes;
    unsigned apart = how->view == RF_VIEW_EXPR ? RF_APART_FORMS : 0;
    enum rf_status status = rf_printable_nodes(p, &merged, apart, &shown, &nodes, err);
    if (status != RF_OK)
        return status;
    bool enough = true;
    for (size_t i = 0; i < log->n && enough; i++)
        enough = put_event(to, shown, &log->event[i], log->tids, nodes[log->event[i].node]);
    free(nodes);
    rf_profile_free(shown);
    return enough ? RF_OK : rf_fail(err, RF_FAILURE, 0, "out of memory while writing %zu samples", log->n);
}
