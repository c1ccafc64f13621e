/* variables.c: finds the entries of variables and of call sites, and evaluates what they say about a frame. */
#include "variables.h"

#include "expression.h"
#include "image/debug.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLACES = 512,   /* direct mapped by address, as in unwinding */
    FUNCTIONS = 64, /* direct mapped by the address of their symbol */
    NESTED_MAX = 32,
    ENTRIES_MAX = 20000, /* of a function that are looked at, for one address; the interpreter has some thousand */
    ASKED_MAX = 8,       /* callers whose callers are asked */
    QUESTIONS_MAX = 64,  /* for one value: an expression may ask its caller often, and so may each answer */
};

struct variable {
    struct rf_expression x;
    unsigned char size;
};

/* What is known about an address of the file. */
struct place {
    uint64_t at;
    bool used, has_function, site_tried, has_site;
    bool early;               /* arguments are not yet where debug information says, without optimisation */
    bool given;               /* the first is still in the register that it came in */
    Dwarf_Die function, site; /* site: the call that returns behind it */
    struct rf_expression base;
    struct variable variable[RF_VARIABLES];
};

struct function {
    uint64_t addr, begun; /* begun: where arguments are in their places */
    bool used, found;
    Dwarf_Die die;
};

struct rf_variables {
    const struct rf_image *image;
    Dwarf *debug;
    struct place *place;
    struct function function[FUNCTIONS];
};

struct rf_variables *rf_variables_new(const struct rf_runtime *rt)
{
    struct rf_variables *v = calloc(1, sizeof *v);
    if (!v)
        return NULL;
    v->image = rt->image;
    v->debug = rf_image_dwarf(rt->image);
    v->place = v->debug ? calloc(PLACES, sizeof *v->place) : NULL;
    if (v->debug && !v->place) {
        free(v);
        return NULL;
    }
    return v;
}

void rf_variables_free(struct rf_variables *v)
{
    if (v)
        free(v->place);
    free(v);
}

/* --- entries ------------------------------------------------------------------------------------------------- */

/* The expression of an attribute that holds at this address. */
static void expression_at(Dwarf_Die *die, unsigned name, Dwarf_Addr at, struct rf_expression *out)
{
    Dwarf_Op *op;
    size_t n;
    out->n = 0;
    if (dwarf_attr(die, name, &out->attribute) && dwarf_getlocation_addr(&out->attribute, at, &op, &n, 1) == 1) {
        out->op = op;
        out->n = n;
    }
}

static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
    Dwarf_Attribute attribute;
    return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), type) != NULL;
}

static bool points_to(Dwarf_Die *die, const char *name)
{
    Dwarf_Die pointer, to;
    const char *is;
    return type_of(die, &pointer) && dwarf_tag(&pointer) == DW_TAG_pointer_type && type_of(&pointer, &to) &&
           (is = dwarf_diename(&to)) && strcmp(is, name) == 0;
}

/* Which variable an entry is, RF_VARIABLES for none of ours. A copy of a function (inlined, cloned) names its original,
 * which libdw follows. */
static enum rf_variable which_is(Dwarf_Die *die, bool first)
{
    static const struct {
        const char *name;
        enum rf_variable is;
    } named[] = {
        {"ip", RF_VARIABLE_IP}, {"code", RF_VARIABLE_CODE}, {"elems", RF_VARIABLE_ELEMS}, {"i", RF_VARIABLE_I}};
    const char *name = dwarf_diename(die);
    if (dwarf_tag(die) == DW_TAG_formal_parameter)
        return first ? RF_FIRST_PARAMETER : RF_VARIABLES;
    for (size_t i = 0; name && i < sizeof named / sizeof *named; i++)
        if (strcmp(name, named[i].name) == 0)
            return named[i].is;
    return points_to(die, "ray_exec_t") ? RF_VARIABLE_EXEC : RF_VARIABLES;
}

/* Code that was not optimised has each variable in one place; only there it is not said from where on. */
static bool one_place(struct rf_expression *x)
{
    unsigned form = dwarf_whatform(&x->attribute);
    return form == DW_FORM_exprloc || form == DW_FORM_block || form == DW_FORM_block1 || form == DW_FORM_block2 ||
           form == DW_FORM_block4;
}

static void keep(struct place *p, Dwarf_Die *die, enum rf_variable which)
{
    struct variable *v = &p->variable[which];
    Dwarf_Die type;
    Dwarf_Word size = 0; /* of pointers, too: clang leaves theirs out */
    if (!type_of(die, &type) || dwarf_aggregate_size(&type, &size) != 0 || size < 1 || size > 8 ||
        v->size) /* of two with one name the outer is meant */
        return;
    v->size = (unsigned char)size;
    expression_at(die, DW_AT_location, p->at, &v->x);
    if (v->x.n && p->early && one_place(&v->x)) {
        v->x.n = 0;
        p->given = p->given || which == RF_FIRST_PARAMETER;
    }
}

/* Variables of the function itself and of the blocks in it that hold the address; what is inlined there has its own. */
static void collect(struct place *p, Dwarf_Die *scope, unsigned nested, unsigned *left)
{
    Dwarf_Die die;
    bool first = nested == 0;
    if (nested == NESTED_MAX || dwarf_child(scope, &die) != 0)
        return;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) {
            enum rf_variable which = which_is(&die, first);
            if (which < RF_VARIABLES)
                keep(p, &die, which);
            first = first && tag != DW_TAG_formal_parameter;
        } else if (tag == DW_TAG_lexical_block && dwarf_haspc(&die, p->at) > 0) {
            collect(p, &die, nested + 1, left);
        }
    } while (*left && --*left && dwarf_siblingof(&die, &die) == 0);
}

/* Where the second line of a function begins, or what the compiler marks as the end of its first steps. */
static uint64_t begun(Dwarf_Die *function)
{
    Dwarf_Addr *at = NULL, first = 0;
    int n = dwarf_entry_breakpoints(function, &at);
    for (int i = 0; i < n; i++)
        if (i == 0 || at[i] < first)
            first = at[i];
    free(at);
    return first;
}

static bool function_of(struct rf_variables *v, uint64_t addr, uint64_t at, struct place *p)
{
    struct function *f = &v->function[addr / 16 % FUNCTIONS];
    Dwarf_Die unit;
    if (!f->used || f->addr != addr) {
        *f = (struct function){.addr = addr, .used = true};
        f->found = rf_dwarf_unit_at(v->debug, at, &unit) && rf_dwarf_function_at(&unit, at, &f->die);
        f->begun = f->found ? begun(&f->die) : 0;
    }
    p->function = f->die;
    p->early = f->found && at >= addr && at < f->begun;
    return f->found;
}

/* A caller's variables are where they were when it called: at the last byte of that instruction. */
static struct place *place_of(struct rf_variables *v, const struct rf_native_stack *native, size_t k)
{
    const struct rf_native *f = &native->frame[k];
    if (!v->debug || f->image != v->image || !f->fn.name)
        return NULL;
    uint64_t bias = rf_image_bias(v->image), at = (k ? f->pc - 1 : f->pc) - bias;
    struct place *p = &v->place[(at ^ at >> 9) % PLACES];
    if (p->used && p->at == at)
        return p;
    memset(p, 0, sizeof *p);
    p->at = at;
    p->used = true;
    p->has_function = function_of(v, f->fn.addr - bias, at, p);
    if (p->has_function) {
        expression_at(&p->function, DW_AT_frame_base, at, &p->base);
        unsigned left = ENTRIES_MAX;
        collect(p, &p->function, 0, &left);
    }
    return p;
}

/* --- call sites ---------------------------------------------------------------------------------------------- */

static bool is_site(Dwarf_Die *die, Dwarf_Addr back)
{
    Dwarf_Attribute attribute;
    Dwarf_Addr at;
    int tag = dwarf_tag(die);
    if (tag != DW_TAG_call_site && tag != DW_TAG_GNU_call_site)
        return false;
    unsigned name = tag == DW_TAG_call_site ? DW_AT_call_return_pc : DW_AT_low_pc;
    return dwarf_formaddr(dwarf_attr(die, name, &attribute), &at) == 0 && at == back;
}

static bool find_site(Dwarf_Die *scope, Dwarf_Addr back, unsigned nested, unsigned *left, Dwarf_Die *out)
{
    Dwarf_Die die;
    if (nested == NESTED_MAX || dwarf_child(scope, &die) != 0)
        return false;
    do {
        int tag = dwarf_tag(&die);
        if (is_site(&die, back)) {
            *out = die;
            return true;
        }
        if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) && dwarf_haspc(&die, back - 1) > 0 &&
            find_site(&die, back, nested + 1, left, out))
            return true;
    } while (*left && --*left && dwarf_siblingof(&die, &die) == 0);
    return false;
}

struct asked {
    struct rf_variables *v;
    const struct rf_native_stack *native;
    const struct rf_memory *m;
    size_t k;              /* whose registers at entry are asked for */
    unsigned depth, *left; /* questions */
};

static bool at_entry(void *ctx, unsigned reg, uint64_t *value);

static bool evaluate(const struct asked *a, size_t k, const struct rf_expression *x, const struct rf_expression *base,
                     struct rf_location *out)
{
    struct asked next = {a->v, a->native, a->m, k, a->depth + 1, a->left};
    struct rf_expression_frame f = {.frame = &a->native->frame[k],
                                    .caller = k + 1 < a->native->n ? &a->native->frame[k + 1] : NULL,
                                    .memory = a->m,
                                    .base = base,
                                    .bias = rf_image_bias(a->v->image),
                                    .entry = a->depth < ASKED_MAX ? at_entry : NULL,
                                    .ctx = &next};
    return rf_expression_evaluate(x, &f, out);
}

/* Does the call lead to frame k itself, and not to one that jumped on to it? caller is a copy: evaluating may need the
 * room that its place has. */
static bool leads_to(const struct asked *a, struct place *caller)
{
    static const unsigned origins[] = {DW_AT_call_origin, DW_AT_abstract_origin};
    static const unsigned targets[] = {DW_AT_call_target, DW_AT_GNU_call_site_target};
    const struct rf_symbol *callee = &a->native->frame[a->k].fn;
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    for (size_t i = 0; i < 2; i++) {
        struct rf_expression x;
        struct rf_location to;
        if (dwarf_formref_die(dwarf_attr(&caller->site, origins[i], &attribute), &origin)) {
            const char *name = dwarf_diename(&origin);
            return name && rf_symbol_is(callee->name, name);
        }
        expression_at(&caller->site, targets[i], caller->at, &x);
        if (x.n)
            return evaluate(a, a->k + 1, &x, &caller->base, &to) && to.value == callee->addr;
    }
    return false;
}

/* The expression for what this register is given at the call. */
static bool given(struct place *caller, unsigned reg, struct rf_expression *out)
{
    Dwarf_Die die;
    struct rf_expression where;
    if (dwarf_child(&caller->site, &die) != 0)
        return false;
    do {
        expression_at(&die, DW_AT_location, caller->at, &where);
        if (where.n != 1 || where.op->atom != DW_OP_reg0 + reg)
            continue;
        expression_at(&die, DW_AT_call_value, caller->at, out);
        if (!out->n)
            expression_at(&die, DW_AT_GNU_call_site_value, caller->at, out);
        return out->n > 0;
    } while (dwarf_siblingof(&die, &die) == 0);
    return false;
}

/* What a register held when frame k was entered, as its caller's call site tells. */
static bool at_entry(void *ctx, unsigned reg, uint64_t *value)
{
    const struct asked *a = ctx;
    struct rf_expression x;
    struct rf_location at;
    if (a->k + 1 >= a->native->n || !a->native->frame[a->k].fn.name || !*a->left)
        return false;
    --*a->left;
    struct place *p = place_of(a->v, a->native, a->k + 1), caller;
    if (!p || !p->has_function)
        return false;
    if (!p->site_tried) {
        unsigned left = ENTRIES_MAX;
        p->has_site = find_site(&p->function, p->at + 1, 0, &left, &p->site);
        p->site_tried = true;
    }
    caller = *p;
    if (!caller.has_site || !leads_to(a, &caller) || !given(&caller, reg, &x) ||
        !evaluate(a, a->k + 1, &x, &caller.base, &at))
        return false;
    *value = at.value; /* what is computed is the value itself, not a place */
    return true;
}

bool rf_variables_read(struct rf_variables *v, const struct rf_native_stack *native, size_t k,
                       const struct rf_memory *m, enum rf_variable which, uint64_t *value)
{
    const struct place *p = place_of(v, native, k);
    unsigned left = QUESTIONS_MAX;
    struct asked a = {v, native, m, k, 0, &left};
    struct rf_location at;
    uint64_t word = 0;
    if (p && p->given && which == RF_FIRST_PARAMETER && k == 0) {
        *value = native->frame[0].reg[RF_RDI];
        return native->frame[0].known >> RF_RDI & 1;
    }
    if (!p || !p->variable[which].x.n)
        return false;
    struct variable variable = p->variable[which];
    struct rf_expression base = p->base;
    if (!evaluate(&a, k, &variable.x, &base, &at))
        return false;
    if (!at.in_memory)
        word = at.value;
    else if (!rf_read(m, at.value, &word, variable.size))
        return false;
    unsigned unused = 64 - 8 * (unsigned)variable.size;
    *value = (uint64_t)((int64_t)(word << unused) >> unused);
    return true;
}
