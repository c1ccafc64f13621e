/* subtree.c: children follow their parents in number, so one pass from the end sees every subtree complete. */
#include "subtree.h"

#include <stdlib.h>

struct rf_subtree *rf_subtrees(const struct rf_profile *p)
{
    size_t n = rf_profile_nodes(p);
    struct rf_subtree *tree = calloc(n, sizeof *tree);
    for (size_t i = n; tree && i-- > 1;) {
        struct rf_node node = rf_profile_node(p, i);
        tree[i].samples += node.self_samples;
        tree[i].ns += node.self_ns;
        struct rf_subtree *parent = &tree[node.parent];
        parent->samples += tree[i].samples;
        parent->ns += tree[i].ns;
        tree[i].next = parent->first;
        parent->first = (uint32_t)i;
    }
    if (tree) {
        tree[0].samples += rf_profile_node(p, 0).self_samples;
        tree[0].ns += rf_profile_node(p, 0).self_ns;
    }
    return tree;
}

struct price {
    uint64_t ns;
    uint32_t node;
};

static int cheapest_first(const void *va, const void *vb)
{
    const struct price *a = va, *b = vb;
    if (a->ns != b->ns)
        return a->ns < b->ns ? -1 : 1;
    return a->node < b->node ? 1 : -1;
}

bool rf_subtrees_sort(const struct rf_profile *p, struct rf_subtree *tree)
{
    size_t n = rf_profile_nodes(p);
    struct price *price = calloc(n, sizeof *price);
    if (!price)
        return false;
    for (size_t i = 0; i < n; i++) {
        price[i] = (struct price){tree[i].ns, (uint32_t)i};
        tree[i].first = tree[i].next = 0;
    }
    qsort(price, n, sizeof *price, cheapest_first);
    for (size_t i = 0; i < n; i++) {
        uint32_t node = price[i].node;
        if (!node)
            continue;
        struct rf_subtree *parent = &tree[rf_profile_node(p, node).parent];
        tree[node].next = parent->first;
        parent->first = node;
    }
    free(price);
    return true;
}
