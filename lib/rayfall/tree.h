/* tree.h: the tree-walking evaluator: which form each ray_eval frame is at.
 *
 * No variable holds the current node; it is in the machine frames, next to older ones. The rule (releases §3.3): words
 * of a frame that are keys of the source in force are candidates; the function that runs below a frame rules out forms
 * with another head; of a chain of frames each form lies inside that of the one before. That is tested by the spans'
 * places in the text, which needs no reading of the tree. */
#ifndef RF_TREE_H
#define RF_TREE_H

#include "builtins.h"
#include "names.h"
#include "sites.h"
#include "source.h"
#include "target/snapshot.h"
#include "unwind/unwind.h"
#include "variables/variables.h"

enum { RF_CHAIN_MAX = 512, RF_CHAIN_SOURCES = 3 };

struct rf_tree {
    const struct rf_names *names;
    const struct rf_builtins *builtins;
    const struct rf_memory *m; /* snapshot first, then live memory */
    const struct rf_snapshot *s;
    struct rf_sites *sites;         /* what was learned from other samples */
    struct rf_variables *variables; /* NULL: without what debug information says */
    uint64_t body;                  /* list of the forms of the function whose body is walked; 0: it is no function's */
    /* Where a function's code called the evaluator: forms of this source lie within this span. NULL: no such bound. */
    const struct rf_source *within;
    struct rf_span span;
};

/* What was found out about one frame of a chain. */
struct rf_form {
    const struct rf_source *source; /* NULL: not found */
    uint64_t node;                  /* 0 when only the line is sure */
    struct rf_span span;            /* where it starts; of the root `do`, all zero */
    uint32_t depth;                 /* in how many forms, itself included; 0: the root */
    bool root;                      /* the `do` that rayforce puts around a file's forms */
};

/* The builtin that the head of a form stands for; NULL when it is another function, or not known. */
const struct rf_builtin *rf_tree_head(const struct rf_tree *t, uint64_t node);
/* The same of element i, a name or a constant; 0 is the head. */
const struct rf_builtin *rf_tree_element(const struct rf_tree *t, uint64_t node, unsigned i);

/* frames: indexes into native of one chain of ray_eval frames, oldest first; sources: in which the forms may stand,
 * likeliest first. Fills out[0 .. n). */
void rf_tree_chain(const struct rf_tree *t, const struct rf_native_stack *native, const size_t *frames, size_t n,
                   const struct rf_source *const *sources, size_t n_sources, struct rf_form *out);

#endif
