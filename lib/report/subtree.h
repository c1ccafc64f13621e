/* subtree.h: the call tree with its branches added up, to be walked from the root. */
#ifndef RF_SUBTREE_H
#define RF_SUBTREE_H

#include "../profile/profile.h"

struct rf_subtree {
    uint32_t first, next; /* child and sibling, 0 for none */
    uint64_t samples, ns; /* of the node and all below */
};

/* One for each node of p; malloc'ed, NULL when out of memory. */
struct rf_subtree *rf_subtrees(const struct rf_profile *p);
/* Puts the dearest of siblings first, ties as they are numbered. False when out of memory. */
bool rf_subtrees_sort(const struct rf_profile *p, struct rf_subtree *tree);

#endif
