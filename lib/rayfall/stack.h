/* stack.h: a Rayfall stack in the making, and the walk that makes it out of native frames. */
#ifndef RF_RAYFALL_STACK_H
#define RF_RAYFALL_STACK_H

#include "builtins.h"
#include "decode.h"
#include "interpreter.h"
#include "locals.h"
#include "native.h"
#include "tree.h"

enum { RF_FRAMES_MAX = 8192 };

struct rf_stack {
    struct rf_frame frame[RF_FRAMES_MAX]; /* root first; texts belong to the caches, valid for this epoch */
    struct rf_locals *locals;             /* NULL, or room for those of each frame */
    size_t n, n_rayfall;                  /* frames; those of them that are RF_KIND_RAYFALL */
    enum rf_explained how;
};

void rf_stack_push(struct rf_stack *st, const struct rf_frame *f);
/* Puts a Rayfall frame in front of all others. */
void rf_stack_push_root(struct rf_stack *st, const struct rf_frame *f);
/* Puts a Rayfall frame behind all others; when there is no room, in the place of the innermost one. */
void rf_stack_push_leaf(struct rf_stack *st, const struct rf_frame *f);
/* Puts a Rayfall frame where the outermost of the interpreter's own functions is, else in front of all others: of a
 * stack that has no other Rayfall frame. */
void rf_stack_push_outermost(struct rf_stack *st, const struct rf_frame *f);
/* Puts a Rayfall frame behind the innermost one and the builtin that that runs, in front of the C functions. */
void rf_stack_push_below(struct rf_stack *st, const struct rf_frame *f);
/* The outermost and the innermost Rayfall frame; NULL without one. */
const struct rf_frame *rf_stack_first(const struct rf_stack *st);
struct rf_frame *rf_stack_last(struct rf_stack *st);

/* Where the texts of expressions are put, when they are asked for; what does not fit is left out. */
struct rf_expressions {
    bool wanted;
    size_t used, size;
    char *bytes;
};

struct rf_walk {
    const struct rf_runtime *rt;
    const struct rf_memory *m; /* snapshot first, then live memory */
    struct rf_sources *sources;
    const struct rf_builtins *builtins;
    struct rf_sites *sites;
    struct rf_interpreter interpreter;
    struct rf_decode_stats *stats;
    struct rf_expressions *expressions;
    struct rf_natives *natives; /* NULL: native frames are not wanted */
    bool want_query, want_builtin, want_source;
    struct rf_stack *out;
    struct rf_form *forms; /* NULL, or one for each native frame: at which form the tree walk was found */
};

/* Turns the native frames, outermost first, into frames of *out: functions of the bytecode interpreter and forms of the
 * tree walk, and, where they are wanted, the builtins that these call and the native frames themselves. */
void rf_walk(struct rf_walk *w, const struct rf_snapshot *s, const struct rf_native_stack *native);

#endif
