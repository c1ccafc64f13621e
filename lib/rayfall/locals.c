/* locals.c: reads the slots of a function in progress and names them. */
#include "locals.h"

#include "rederive.h"
#include "text.h"

enum { SLOTS_MAX = 256 }; /* the compiler's own limit (src/lang/compile.c) */

/* Symbols of parameters, which take the first slots. */
static size_t read_params(const struct rf_locals_view *v, const struct rf_lambda *fn, int64_t *symbol, size_t n)
{
    uint64_t params;
    struct rf_obj o;
    if (!rf_read_u64(v->m, fn->addr + RAY_DATA + 8 * LAMBDA_PARAMS, &params) ||
        !rf_obj_vector(v->m, params, RAY_SYMBOLS, SLOTS_MAX, &o) || (o.attrs & 3) != 3)
        return 0;
    size_t n_params = (size_t)o.len < n ? (size_t)o.len : n;
    return rf_read(v->m, params + RAY_DATA, symbol, n_params * sizeof *symbol) ? n_params : 0;
}

static void read_one(const struct rf_locals_view *v, uint64_t slot, struct rf_local *out)
{
    uint64_t object, now;
    struct rf_obj o;
    out->state = RF_LOCAL_UNSET;
    if (!rf_read_u64(v->m, slot, &object) || !object)
        return;
    rf_show(v->m, v->rt, v->names, object, &out->value);
    bool same = rf_obj_read(&v->s->memory, object, &o) || (rf_read_u64(v->live, slot, &now) && now == object);
    out->state = same ? RF_LOCAL_SET : RF_LOCAL_CHANGED;
}

size_t rf_locals_read(const struct rf_locals_view *v, const struct rf_locals *at, struct rf_local *out, size_t max)
{
    int64_t symbol[SLOTS_MAX];
    size_t n = at->fn->n_locals < 0 ? 0 : (size_t)at->fn->n_locals;
    if (n > SLOTS_MAX)
        n = SLOTS_MAX;
    for (size_t i = 0; i < n; i++)
        symbol[i] = -1;
    rf_name_slots(at->fn, v->m, v->rt, symbol, n);
    size_t n_params = read_params(v, at->fn, symbol, n);
    for (size_t i = 0; i < n && i < max; i++) {
        out[i] = (struct rf_local){.argument = i < n_params};
        if (symbol[i] < 0 || !rf_symbol_read(v->m, v->rt, symbol[i], &out[i].name))
            out[i].name = (struct rf_text){NULL, 0};
        read_one(v, at->at + 8 * i, &out[i]);
    }
    return n;
}
