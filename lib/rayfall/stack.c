/* stack.c: walks the native frames from the outermost inwards and puts the Rayfall frames on a stack.
 *
 * A stretch of evaluator frames is a chain, solved as a whole. It ends where something else takes over: an interpreter
 * frame, an interpreted lambda's call, or a function that puts another source in force. */
#include "stack.h"

enum { SWITCHES_MAX = 16, SWITCH_WORDS = 64, EXPR_CHARACTERS = 60 };

/* From native frame `below` outwards this source is in force. */
struct source_switch {
    size_t above;
    uint64_t nfo;
};

struct walk {
    struct rf_walk *w;
    const struct rf_snapshot *s;
    const struct rf_native_stack *native;
    struct source_switch force[SWITCHES_MAX]; /* from the innermost outwards */
    size_t n_force;
    bool from_client;
    size_t chain[RF_CHAIN_MAX];
    size_t n_chain;
    const struct rf_lambda *fn; /* of the innermost function so far */
    struct rf_span at;          /* the form that it is at, where that is known */
    bool placed;
    bool walked;                /* its body is walked as a tree: its frames are those of the chain that follows */
    struct rf_text fn_file;
};

void rf_stack_push(struct rf_stack *st, const struct rf_frame *f)
{
    if (st->n < RF_FRAMES_MAX)
        st->frame[st->n++] = *f;
    st->how = f->line ? RF_BY_A_LINE : RF_BY_A_FUNCTION;
}

/* Column and text of the form that a frame is at. */
static void describe(struct walk *k, struct rf_frame *f, const struct rf_source *source, struct rf_span span)
{
    struct rf_expressions *x = k->w->expressions;
    f->col = span.col + 1u;
    if (!x->wanted || !source)
        return;
    f->expr.s = x->bytes + x->used;
    f->expr.n = rf_squeeze(rf_source_form(source, span), EXPR_CHARACTERS, x->bytes + x->used, x->size - x->used);
    x->used += f->expr.n;
}

static struct rf_text text(const char *s)
{
    return (struct rf_text){s, strlen(s)};
}

static const struct rf_source *source_at(struct walk *k, uint64_t nfo)
{
    return nfo ? rf_sources_get(k->w->sources, k->w->m, nfo, k->w->interpreter.epoch) : NULL;
}

/* `load` keeps the source that was in force on its own frame, to put it back afterwards (builtins.c). */
static uint64_t saved_source(struct walk *k, const struct rf_native *f, uint64_t now)
{
    static const unsigned char saved_regs[] = {RF_RBX, RF_RBP, RF_R12, RF_R13, RF_R14, RF_R15};
    uint64_t w;
    for (size_t i = 0; i < sizeof saved_regs; i++)
        if ((f->known >> saved_regs[i] & 1) && f->reg[saved_regs[i]] != now && source_at(k, f->reg[saved_regs[i]]))
            return f->reg[saved_regs[i]];
    for (size_t i = 0; i < SWITCH_WORDS && rf_snapshot_word(k->s, f->sp + 8 * i, &w); i++)
        if (rf_obj_plausible(w) && w != now && source_at(k, w))
            return w;
    return 0;
}

static bool switches_source(const char *name)
{
    return rf_symbol_is(name, "ray_load_file_fn") || rf_symbol_is(name, "ray_eval_str");
}

/* Which source is in force where: the VM knows the innermost, each function that switched knows the one before. */
static void sources_in_force(struct walk *k)
{
    uint64_t nfo = 0;
    int64_t handle = -1;
    const struct rf_layout *l = &k->w->rt->layout;
    rf_read_u64(k->w->m, rf_vm_field(k->w->rt, k->s->fs_base, l->vm_nfo), &nfo);
    rf_read(k->w->m, rf_vm_field(k->w->rt, k->s->fs_base, l->vm_ipc_handle), &handle, sizeof handle);
    k->from_client = handle >= 0;
    k->force[k->n_force++] = (struct source_switch){0, nfo};
    for (size_t i = 0; i < k->native->n && k->n_force < SWITCHES_MAX; i++)
        if (switches_source(k->native->frame[i].fn.name)) {
            nfo = saved_source(k, &k->native->frame[i], nfo);
            k->force[k->n_force++] = (struct source_switch){i, nfo};
        }
}

static uint64_t source_of_frame(const struct walk *k, size_t frame)
{
    size_t i = k->n_force;
    while (i > 1 && k->force[i - 1].above > frame)
        i--;
    return k->force[i - 1].nfo;
}

static bool same_text(struct rf_text a, struct rf_text b)
{
    return a.n == b.n && memcmp(a.s, b.s, a.n) == 0;
}

/* A form that is already innermost says nothing new, nor does one on its line, unless columns tell them apart. */
static void push_form(struct walk *k, const struct rf_frame *f)
{
    struct rf_stack *st = k->w->out;
    struct rf_frame *last = st->n ? &st->frame[st->n - 1] : NULL;
    if (last && last->line == f->line && same_text(last->file, f->file) && same_text(last->fn, f->fn)) {
        last->col = f->col;
        last->expr = f->expr;
    } else {
        rf_stack_push(st, f);
    }
}

/* Top-level text has no function. A file's is <top>; a client's is known by its own beginning, and the first of its frames
 * carries the whole of it. */
static struct rf_frame top_frame(const struct walk *k, const struct rf_source *s)
{
    struct rf_frame f = {.file = rf_source_place(s, k->from_client),
                         .fn = s->title.n ? s->title : text("<top>"),
                         .named = s->title.n == 0};
    bool first = k->w->want_query && k->from_client;
    for (size_t i = 0; i < k->w->out->n; i++)
        first = first && k->w->out->frame[i].query.n == 0;
    if (first)
        f.query = s->query;
    return f;
}

/* Ends the chain: its forms become frames of the function they are in, or of the top level. */
static void flush(struct walk *k)
{
    struct rf_form form[RF_CHAIN_MAX];
    const struct rf_source *sources[2];
    size_t n_sources = 0, shown = 0;
    if (!k->n_chain && !k->walked)
        return;
    const struct rf_source *own = k->fn ? source_at(k, k->fn->nfo) : NULL;
    const struct rf_source *top = source_at(k, source_of_frame(k, k->n_chain ? k->chain[k->n_chain - 1] : 0));
    if (own)
        sources[n_sources++] = own;
    if (top && top != own)
        sources[n_sources++] = top;
    struct rf_tree tree = {.names = k->w->interpreter.names,
                           .builtins = k->w->builtins,
                           .m = k->w->m,
                           .s = k->s,
                           .sites = k->w->sites,
                           .within = own && k->placed ? own : NULL,
                           .span = k->at};
    rf_tree_chain(&tree, k->native, k->chain, k->n_chain, sources, n_sources, form);
    for (size_t i = 0; i < k->n_chain && k->w->forms; i++)
        k->w->forms[k->chain[i]] = form[i];
    for (size_t i = 0; i < k->n_chain; i++) {
        if (!form[i].source || form[i].root)
            continue;
        bool in_fn = form[i].source == own;
        struct rf_frame f = {.file = k->fn_file, .fn = in_fn ? k->fn->name : text(""), .named = true};
        if (!in_fn)
            f = top_frame(k, form[i].source);
        f.line = form[i].span.line + 1u;
        if (form[i].node)
            describe(k, &f, form[i].source, form[i].span);
        push_form(k, &f);
        shown++;
    }
    if (!shown && k->walked) {
        rf_stack_push(k->w->out, &(struct rf_frame){.file = k->fn_file, .fn = k->fn->name, .named = true});
    } else if (!shown && !own && top) {
        struct rf_frame f = top_frame(k, top);
        push_form(k, &f);
    }
    k->n_chain = 0;
    k->walked = false;
}

static struct rf_text file_of(struct walk *k, const struct rf_lambda *fn)
{
    const struct rf_source *source = source_at(k, fn->nfo);
    return source ? rf_source_place(source, k->from_client && fn->nfo == k->force[0].nfo) : text("<unknown>");
}

/* The frame of an interpreted lambda's call has the lambda in a register or among its lowest words. */
static void enter_uncompiled(struct walk *k, size_t frame)
{
    static const unsigned char saved_regs[] = {RF_RBX, RF_RBP, RF_R12, RF_R13, RF_R14, RF_R15};
    const struct rf_native *f = &k->native->frame[frame];
    const struct rf_interpreter *in = &k->w->interpreter;
    const struct rf_lambda *fn = NULL;
    uint64_t w;
    for (size_t i = 0; i < sizeof saved_regs && !fn; i++)
        if ((f->known >> saved_regs[i] & 1) && rf_obj_plausible(f->reg[saved_regs[i]]))
            fn = rf_lambdas_uncompiled(in->lambdas, k->w->m, f->reg[saved_regs[i]], in->epoch);
    for (size_t i = 0; i < SWITCH_WORDS && !fn && rf_snapshot_word(k->s, f->sp + 8 * i, &w); i++)
        if (rf_obj_plausible(w))
            fn = rf_lambdas_uncompiled(in->lambdas, k->w->m, w, in->epoch);
    if (!fn)
        return;
    k->fn = fn;
    k->placed = false;
    k->walked = true;
    k->fn_file = file_of(k, fn);
}

static void push_activation(void *ctx, const struct rf_activation *a)
{
    struct walk *k = ctx;
    k->fn = a->fn;
    k->placed = false;
    if (!a->fn) {
        rf_stack_push(k->w->out, &(struct rf_frame){.file = text("<unknown>"), .fn = text("<torn>"), .named = true});
        k->w->out->how = RF_NOT_EXPLAINED;
        return;
    }
    const struct rf_source *source = source_at(k, a->fn->nfo);
    bool unfiled = source && rf_source_unfiled(source);
    k->at = a->span;
    k->placed = a->placed;
    k->fn_file = file_of(k, a->fn);
    struct rf_frame f = {.file = k->fn_file, .fn = a->fn->name, .named = true};
    if (unfiled && !a->fn->named) { /* a function without a name in text without one: the text's beginning */
        f.fn = source->title;
        f.named = false;
    }
    if (!(k->w->rt->off & RF_OFF_LINES)) {
        f.line = a->line;
        if (a->placed)
            describe(k, &f, source, a->span);
    }
    rf_stack_push(k->w->out, &f);
}

static void count(struct rf_decode_stats *s, enum rf_ip_found found)
{
    s->interpreters++;
    s->ip_unique += found == RF_IP_UNIQUE;
    s->ip_same_line += found == RF_IP_SAME_LINE;
    s->ip_open += found == RF_IP_OPEN;
    s->ip_prologue += found == RF_IP_PROLOGUE;
    s->bare += found == RF_IP_NONE;
}

void rf_walk(struct rf_walk *w, const struct rf_snapshot *s, const struct rf_native_stack *native)
{
    struct walk k = {.w = w, .s = s, .native = native};
    sources_in_force(&k);
    for (size_t i = native->n; i-- > 0;) {
        const struct rf_native *f = &native->frame[i];
        if (rf_symbol_is(f->fn.name, "ray_eval") && k.n_chain < RF_CHAIN_MAX) {
            k.chain[k.n_chain++] = i;
        } else if (f->fn.name && f->fn.addr == w->rt->interpreter) {
            /* Known by its address, not by its name: every build has one. */
            flush(&k);
            count(w->stats, rf_interpreter_frame(&w->interpreter, native, i, push_activation, &k));
        } else if (switches_source(f->fn.name) || rf_symbol_is(f->fn.name, "call_lambda") ||
                   rf_symbol_is(f->fn.name, "call_lambda_impl")) {
            flush(&k);
            if (switches_source(f->fn.name))
                k.fn = NULL; /* what follows is another text, not the function's body */
            else
                enter_uncompiled(&k, i);
        }
    }
    flush(&k);
}
