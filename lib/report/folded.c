/* folded.c: one line for each stack, "root;...;leaf count", as flamegraph.pl and inferno read them. */
#include "formats.h"
#include "view.h"

#include <inttypes.h>
#include <stdlib.h>

/* A semicolon separates frames here, so it is escaped besides what every text format escapes. */
static void put_name(FILE *to, struct rf_text name)
{
    for (size_t i = 0; i < name.n; i++) {
        if (name.s[i] == ';')
            fputs("\\x3b", to);
        else
            putc(name.s[i], to);
    }
}

/* "fn (file:line:col)", of which what is not known or not told apart is absent. */
static void put_frame(FILE *to, const struct rf_frame *f)
{
    if (!f->fn.n) {
        put_name(to, f->file);
        return;
    }
    put_name(to, f->fn);
    if (!f->file.n) /* a builtin or a thread is in no file */
        return;
    fputs(" (", to);
    put_name(to, f->file);
    if (f->line)
        fprintf(to, ":%" PRIu32, f->line);
    if (f->col)
        fprintf(to, ":%" PRIu32, f->col);
    putc(')', to);
}

enum rf_status rf_write_folded(const struct rf_profile *p, const struct rf_render *how, FILE *to, struct rf_error *err)
{
    struct rf_profile *shown;
    enum rf_status status = rf_printable(p, how, how->view == RF_VIEW_EXPR ? RF_APART_FORMS : 0, &shown, err);
    if (status != RF_OK)
        return status;
    size_t n = rf_profile_nodes(shown);
    uint32_t *path = calloc(n, sizeof *path); /* leaf first; no path is longer than the tree is large */
    if (!path) {
        rf_profile_free(shown);
        return rf_fail(err, RF_FAILURE, 0, "out of memory while writing %zu stacks", n);
    }
    for (uint32_t i = 1; i < n; i++) {
        struct rf_node leaf = rf_profile_node(shown, i);
        if (!leaf.self_samples)
            continue;
        size_t depth = 0;
        for (uint32_t at = i; at; at = rf_profile_node(shown, at).parent)
            path[depth++] = rf_profile_node(shown, at).frame;
        while (depth--) {
            struct rf_frame f = rf_profile_frame(shown, path[depth]);
            put_frame(to, &f);
            putc(depth ? ';' : ' ', to);
        }
        fprintf(to, "%" PRIu64 "\n", leaf.self_samples);
    }
    free(path);
    rf_profile_free(shown);
    return RF_OK;
}
