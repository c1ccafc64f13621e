/* account.c: by what the runtime's part of the account is explained, and why the part that could not be decoded was
 * not. */
#include "account.h"
#include "texts.h"

#include <stdlib.h>
#include <string.h>

/* Keeps the dearest, in order. */
static void put(struct rf_part to[RF_PARTS], struct rf_text name, uint64_t ns)
{
    size_t i = RF_PARTS;
    while (i > 0 && to[i - 1].ns < ns)
        i--;
    if (i == RF_PARTS)
        return;
    memmove(to + i + 1, to + i, (RF_PARTS - 1 - i) * sizeof *to);
    to[i] = (struct rf_part){.ns = ns};
    size_t n = name.n < sizeof to[i].name - 1 ? name.n : sizeof to[i].name - 1;
    memcpy(to[i].name, name.s, n);
}

enum part { ROOT, RUNTIME, UNKNOWN, RAYFALL };

/* A stack belongs to the runtime when no line of Rayfall is in it; its outermost frame that is no C function names it.
 */
struct stack {
    enum part part;
    uint32_t frame;
};

static struct stack deeper(struct stack parent, const struct rf_frame *f, uint32_t frame)
{
    if (f->kind != RF_KIND_RAYFALL || parent.part == RAYFALL)
        return parent;
    enum part part = rf_text_is(f->file, "<runtime>") ? RUNTIME : rf_text_is(f->file, "<unknown>") ? UNKNOWN : RAYFALL;
    return part == RAYFALL || parent.part == ROOT ? (struct stack){part, frame} : parent;
}

void rf_account_name(struct rf_account *a, const struct rf_profile *p)
{
    size_t nodes = rf_profile_nodes(p), frames = rf_profile_frames(p);
    struct stack *stack = calloc(nodes + 1, sizeof *stack);
    uint64_t *ns = calloc(frames + 1, sizeof *ns);
    for (size_t i = 1; stack && ns && i < nodes; i++) {
        struct rf_node node = rf_profile_node(p, i);
        struct rf_frame f = rf_profile_frame(p, node.frame);
        stack[i] = deeper(stack[node.parent], &f, node.frame);
        if (stack[i].part == RUNTIME || stack[i].part == UNKNOWN)
            ns[stack[i].frame] += node.self_ns;
    }
    for (size_t i = 0; stack && ns && i < frames; i++) {
        struct rf_frame f = rf_profile_frame(p, i);
        if (ns[i])
            put(rf_text_is(f.file, "<runtime>") ? a->runtime : a->unknown, f.fn, ns[i]);
    }
    free(stack);
    free(ns);
}
