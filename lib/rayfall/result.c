/* result.c: compares the calls in progress of two samples. */
#include "result.h"

#include <stdlib.h>
#include <string.h>

static struct rf_call call_of(const struct rf_native *f)
{
    struct rf_call c = {.pc = f->pc, .sp = f->sp};
    for (size_t i = 0; i < sizeof rf_saved_regs; i++)
        if (f->known >> rf_saved_regs[i] & 1)
            c.saved[i] = f->reg[rf_saved_regs[i]];
    return c;
}

void rf_result_remember(struct rf_result *r, const struct rf_native_stack *native, const struct rf_frame *root)
{
    size_t size = root->file.n + root->query.n;
    r->n = 0;
    if (size > r->size) {
        char *more = realloc(r->texts, size);
        if (!more)
            return;
        r->texts = more;
        r->size = size;
    }
    if (root->file.n)
        memcpy(r->texts, root->file.s, root->file.n);
    if (root->query.n)
        memcpy(r->texts + root->file.n, root->query.s, root->query.n);
    r->root = *root;
    r->root.file.s = r->texts;
    r->root.query.s = r->texts + root->file.n;
    r->root.expr = (struct rf_text){"", 0};
    r->root.fn = (struct rf_text){"<result>", 8};
    r->root.named = true;
    for (size_t i = native->n; i-- > 0 && r->n < RF_CALLS_KEPT;)
        r->call[r->n++] = call_of(&native->frame[i]);
}

/* The frame that asked for the outermost materialisation; native->n without one. */
static size_t asker(const struct rf_native_stack *native)
{
    size_t at = native->n;
    for (size_t i = 0; i + 1 < native->n; i++)
        if (rf_symbol_is(native->frame[i].fn.name, "ray_lazy_materialize"))
            at = i + 1;
    return at;
}

bool rf_result_explains(struct rf_result *r, const struct rf_native_stack *native, struct rf_frame *out)
{
    size_t at = asker(native);
    if (at < native->n && r->root.line) {
        struct rf_call now = call_of(&native->frame[at]);
        size_t depth = native->n - 1 - at;
        if (depth < r->n && memcmp(&r->call[depth], &now, sizeof now) == 0) {
            *out = r->root;
            return true;
        }
    }
    r->n = 0;
    return false;
}

void rf_result_free(struct rf_result *r)
{
    free(r->texts);
}
