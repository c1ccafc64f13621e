/* rows.c: from the call tree to the rows of a table. */
#include "rows.h"
#include "subtree.h"
#include "texts.h"

#include <stdlib.h>
#include <string.h>

/* A frame's total is the sum over the outermost nodes that have it: those with no such frame above them, which
 * open[] tells on the way down. Without recursion, since stacks are as deep as the target's. */
static void add_up(const struct rf_profile *p, const struct rf_subtree *tree, uint32_t *open, struct rf_row *row)
{
    uint32_t at = tree[0].first;
    while (at) {
        struct rf_node node = rf_profile_node(p, at);
        row[node.frame].self_ns += node.self_ns;
        row[node.frame].pool_ns += node.pool_ns;
        if (open[node.frame]++ == 0) {
            row[node.frame].total_ns += tree[at].ns;
            row[node.frame].samples += tree[at].samples;
        }
        if (tree[at].first) {
            at = tree[at].first;
            continue;
        }
        for (;;) {
            node = rf_profile_node(p, at);
            open[node.frame]--;
            if (tree[at].next) {
                at = tree[at].next;
                break;
            }
            at = node.parent;
            if (!at)
                return;
        }
    }
}

static int compare_rows(const void *va, const void *vb)
{
    const struct rf_row *a = va, *b = vb;
    if (a->self_ns != b->self_ns)
        return a->self_ns < b->self_ns ? 1 : -1;
    int c = rf_text_compare(a->frame.file, b->frame.file);
    if (c)
        return c;
    if (a->frame.line != b->frame.line)
        return a->frame.line < b->frame.line ? -1 : 1;
    c = rf_text_compare(a->frame.fn, b->frame.fn);
    if (c)
        return c;
    if (a->frame.col != b->frame.col)
        return a->frame.col < b->frame.col ? -1 : 1;
    c = rf_text_compare(a->frame.expr, b->frame.expr);
    if (c == 0)
        c = rf_text_compare(a->frame.thread, b->frame.thread);
    return c ? c : rf_text_compare(a->frame.process, b->frame.process);
}

static int compare_both(const void *va, const void *vb)
{
    const struct rf_row *a = va, *b = vb;
    if (a->self_ns == b->self_ns && a->total_ns != b->total_ns)
        return a->total_ns < b->total_ns ? 1 : -1;
    return compare_rows(va, vb);
}

void rf_rows_by_both(struct rf_row *row, size_t n)
{
    qsort(row, n, sizeof *row, compare_both);
}

enum rf_status rf_rows(const struct rf_profile *printable, struct rf_row **out, struct rf_error *err)
{
    size_t n = rf_profile_frames(printable);
    struct rf_row *row = calloc(n + 1, sizeof *row);
    uint32_t *open = calloc(n + 1, sizeof *open);
    struct rf_subtree *tree = rf_subtrees(printable);
    bool enough = row && open && tree;
    if (enough) {
        for (size_t i = 0; i < n; i++)
            row[i].frame = rf_profile_frame(printable, i);
        add_up(printable, tree, open, row);
        qsort(row, n, sizeof *row, compare_rows);
    }
    free(open);
    free(tree);
    if (!enough) {
        free(row);
        return rf_fail(err, RF_FAILURE, 0, "out of memory while writing %zu rows", n);
    }
    *out = row;
    return RF_OK;
}
