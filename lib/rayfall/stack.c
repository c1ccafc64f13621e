/* stack.c: walks the native frames from the outermost inwards and puts the Rayfall frames on a stack.
 *
 * A stretch of evaluator frames is a chain, solved as a whole. It ends where something else takes over: an interpreter
 * frame, an interpreted lambda's call, or a function that puts another source in force. */
#include "stack.h"

#include "text.h"
#include "texts.h"

enum { SWITCHES_MAX = 16, SWITCH_WORDS = 64, EXPR_CHARACTERS = 60, SOURCE_BYTES = 240 };

/* Arguments of a builtin among which another is looked for, and C functions that may stand between the two. */
enum { ARGUMENTS = 4, GIVEN_DEPTH = 4 };

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
    bool walked; /* its body is walked as a tree: its frames are those of the chain that follows */
    struct rf_text fn_file, fn_name;
    bool fn_named;
    uint64_t called, operands; /* the function object that it calls, and where that finds its arguments */
    size_t left;               /* native frames that have not been looked at by push_native: the innermost so many */
};

void rf_stack_push(struct rf_stack *st, const struct rf_frame *f)
{
    if (st->n < RF_FRAMES_MAX) {
        if (st->locals)
            st->locals[st->n] = (struct rf_locals){0};
        st->frame[st->n++] = *f;
    }
    if (f->kind != RF_KIND_RAYFALL)
        return;
    st->n_rayfall++;
    st->how = f->line ? RF_BY_A_LINE : RF_BY_A_FUNCTION;
}

/* Where the stack is full the innermost frame goes. */
static void insert(struct rf_stack *st, size_t at, const struct rf_frame *f)
{
    st->n -= st->n == RF_FRAMES_MAX;
    memmove(st->frame + at + 1, st->frame + at, (st->n - at) * sizeof *st->frame);
    st->frame[at] = *f;
    if (st->locals) {
        memmove(st->locals + at + 1, st->locals + at, (st->n - at) * sizeof *st->locals);
        st->locals[at] = (struct rf_locals){0};
    }
    st->n++;
    st->n_rayfall++;
}

void rf_stack_push_root(struct rf_stack *st, const struct rf_frame *f)
{
    insert(st, 0, f);
}

void rf_stack_push_leaf(struct rf_stack *st, const struct rf_frame *f)
{
    insert(st, st->n < RF_FRAMES_MAX ? st->n : RF_FRAMES_MAX - 1, f);
}

void rf_stack_push_outermost(struct rf_stack *st, const struct rf_frame *f)
{
    size_t at = 0;
    while (at < st->n && st->frame[at].kind != RF_KIND_INTERPRETER)
        at++;
    insert(st, at < st->n ? at : 0, f);
}

void rf_stack_push_below(struct rf_stack *st, const struct rf_frame *f)
{
    size_t at = st->n;
    while (at > 0 && st->frame[at - 1].kind != RF_KIND_RAYFALL && st->frame[at - 1].kind != RF_KIND_BUILTIN)
        at--;
    if (at == RF_FRAMES_MAX)
        return;
    insert(st, at, f);
    st->how = f->line ? RF_BY_A_LINE : RF_BY_A_FUNCTION;
}

const struct rf_frame *rf_stack_first(const struct rf_stack *st)
{
    for (size_t i = 0; i < st->n; i++)
        if (st->frame[i].kind == RF_KIND_RAYFALL)
            return &st->frame[i];
    return NULL;
}

struct rf_frame *rf_stack_last(struct rf_stack *st)
{
    for (size_t i = st->n; i-- > 0;)
        if (st->frame[i].kind == RF_KIND_RAYFALL)
            return &st->frame[i];
    return NULL;
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

/* Its line, without the blanks at its ends and what closes forms of earlier lines; a cut falls between characters. */
static struct rf_text source_line(const struct walk *k, const struct rf_source *source, uint32_t line)
{
    if (!k->w->want_source || !source || line == 0)
        return (struct rf_text){"", 0};
    struct rf_text t = rf_source_at(source, (struct rf_span){.line = line - 1});
    const char *end = t.n ? memchr(t.s, '\n', t.n) : NULL;
    if (end)
        t.n = (size_t)(end - t.s);
    while (t.n && (t.s[0] == ' ' || t.s[0] == '\t')) {
        t.s++;
        t.n--;
    }
    t = rf_own_forms(t);
    if (t.n > SOURCE_BYTES) {
        t.n = SOURCE_BYTES;
        while (t.n && (t.s[t.n] & 0xc0) == 0x80)
            t.n--;
    }
    while (t.n && memchr(" \t\r", t.s[t.n - 1], 3))
        t.n--;
    return t;
}

static const struct rf_source *source_at(struct walk *k, uint64_t nfo)
{
    return nfo ? rf_sources_get(k->w->sources, k->w->m, nfo, k->w->interpreter.epoch) : NULL;
}

/* `load` keeps the source that was in force on its own frame, to put it back afterwards (builtins.c). */
static uint64_t saved_source(struct walk *k, const struct rf_native *f, uint64_t now)
{
    uint64_t w;
    for (size_t i = 0; i < sizeof rf_saved_regs; i++)
        if ((f->known >> rf_saved_regs[i] & 1) && f->reg[rf_saved_regs[i]] != now &&
            source_at(k, f->reg[rf_saved_regs[i]]))
            return f->reg[rf_saved_regs[i]];
    for (size_t i = 0; i < SWITCH_WORDS && rf_snapshot_word(k->s, f->sp + 8 * i, &w); i++)
        if (rf_obj_plausible(w) && w != now && source_at(k, w))
            return w;
    return 0;
}

static bool switches_source(const char *name)
{
    return rf_symbol_is(name, "ray_load_file_fn") || rf_symbol_is(name, "ray_eval_str");
}

/* They put it in force just before they call the evaluator: not while they read and parse it. */
static bool has_switched(const struct rf_native_stack *native, size_t i)
{
    return switches_source(native->frame[i].fn.name) && i > 0 && rf_symbol_is(native->frame[i - 1].fn.name, "ray_eval");
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
        if (has_switched(k->native, i)) {
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

/* A form that is already innermost says nothing new, nor does one on its line, unless columns tell them apart. */
static void push_form(struct walk *k, const struct rf_frame *f)
{
    struct rf_stack *st = k->w->out;
    struct rf_frame *last = rf_stack_last(st);
    if (last && last->line == f->line && rf_text_same(last->file, f->file) && rf_text_same(last->fn, f->fn)) {
        last->col = f->col;
        last->expr = f->expr;
        last->source = f->source;
    } else {
        rf_stack_push(st, f);
    }
}

/* Top-level text has no function. A file's is <top>; a client's is known by its own beginning, and the first of its
 * frames carries the whole of it. */
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

/* Of the frame that was pushed last; there was no room for it where the stack is full. */
static void note_locals(struct walk *k, const struct rf_lambda *fn, uint64_t at)
{
    struct rf_stack *st = k->w->out;
    if (st->locals && st->n && st->n < RF_FRAMES_MAX)
        st->locals[st->n - 1] = (struct rf_locals){fn, at};
}

static void push_native(struct walk *k, size_t i)
{
    const struct rf_frame *f;
    size_t n = k->w->natives ? rf_natives_frames(k->w->natives, k->native, i, &f) : 0;
    for (size_t j = 0; j < n; j++)
        rf_stack_push(k->w->out, &f[j]);
}

static void push_builtin(struct walk *k, const struct rf_builtin *b)
{
    struct rf_frame f = {.kind = RF_KIND_BUILTIN, .fn = rf_builtins_name(k->w->builtins, b), .named = true};
    rf_stack_push(k->w->out, &f);
}

/* What native frame i runs: the function below it, or below what only passes the call on. NULL in a leaf frame. */
static const char *runs_below(const struct walk *k, size_t i)
{
    while (i > 0 && rf_native_passes_on(&k->native->frame[i - 1]))
        i--;
    const char *name = i > 0 ? k->native->frame[i - 1].fn.name : NULL;
    return i > 0 && !name ? "" : name;
}

/* The builtin that is meant, unless the C function that runs is another's. */
static const struct rf_builtin *agreed(const struct walk *k, const struct rf_builtin *meant, const char *runs)
{
    if (meant && rf_builtin_runs(meant, runs))
        return meant;
    const struct rf_builtin *running = rf_builtins_running(k->w->builtins, runs);
    return running ? running : meant;
}

/* A builtin that was given to builtin b as an argument, as in (map neg v), and that b runs without the interpreter:
 * none of the arguments that is no function can be one whose C function runs. */
static void push_given(struct walk *k, size_t i, const struct rf_builtin *b, const struct rf_builtin *const *given)
{
    while (i > 0 && rf_native_passes_on(&k->native->frame[i - 1]))
        i--;
    if (i == 0 || !k->native->frame[i - 1].fn.name || !rf_builtin_runs(b, k->native->frame[i - 1].fn.name))
        return;
    for (size_t depth = 0; i > 1 && depth < GIVEN_DEPTH; depth++) {
        const char *name = k->native->frame[--i - 1].fn.name;
        for (size_t n = 0; name && n < ARGUMENTS; n++)
            if (given[n] && rf_builtin_runs(given[n], name)) {
                push_builtin(k, given[n]);
                return;
            }
    }
}

/* The builtin that interpreter frame i calls, by the object in the operand slot. */
static void push_called(struct walk *k, size_t i)
{
    const struct rf_builtin *given[ARGUMENTS] = {NULL};
    const char *runs = k->w->want_builtin ? runs_below(k, i) : NULL;
    uint64_t object;
    if (!runs)
        return;
    const struct rf_builtin *b = agreed(k, k->called ? rf_builtins_object(k->w->builtins, k->called) : NULL, runs);
    if (!b)
        return;
    push_builtin(k, b);
    for (size_t n = 0; n < ARGUMENTS; n++)
        if (k->operands && rf_read_u64(k->w->m, k->operands + 8 * n, &object))
            given[n] = rf_builtins_object(k->w->builtins, object);
    push_given(k, i, b, given);
}

/* The builtin that evaluator frame i runs, by the head of its form. While arguments are evaluated only a special form
 * is in progress. */
static void push_head(struct walk *k, const struct rf_tree *tree, size_t i, const struct rf_form *form)
{
    const struct rf_builtin *given[ARGUMENTS] = {NULL};
    const char *runs = k->w->want_builtin ? runs_below(k, i) : NULL;
    if (!k->w->want_builtin || form->root)
        return;
    const struct rf_builtin *b = form->node ? rf_tree_head(tree, form->node) : NULL;
    bool special = b && (b->attrs & RAY_ATTR_SPECIAL);
    if (!special && (!runs || rf_symbol_is(runs, "ray_eval")))
        return;
    b = special ? b : agreed(k, b, runs);
    if (!b)
        return;
    push_builtin(k, b);
    for (unsigned n = 0; n < ARGUMENTS && form->node && !special; n++)
        given[n] = rf_tree_element(tree, form->node, n + 1);
    push_given(k, i, b, given);
}

/* A function whose body is walked, at no form that is known. */
static void push_walked(struct walk *k)
{
    rf_stack_push(k->w->out, &(struct rf_frame){.file = k->fn_file, .fn = k->fn_name, .named = k->fn_named});
    note_locals(k, k->fn, 0);
}

/* The chain at its end: where each of its frames is, and whose source that is. */
struct solved {
    const struct rf_source *own, *top; /* of the function that the chain is in; of the top level */
    bool walked;                       /* it is the body of that function, of which nothing was pushed yet */
    struct rf_tree tree;
    struct rf_form form[RF_CHAIN_MAX];
};

static void solve_chain(struct walk *k, struct solved *s)
{
    const struct rf_source *sources[2];
    size_t n_sources = 0;
    s->walked = k->walked;
    s->own = k->fn ? source_at(k, k->fn->nfo) : NULL;
    s->top = source_at(k, source_of_frame(k, k->chain[k->n_chain - 1]));
    if (s->own)
        sources[n_sources++] = s->own;
    if (s->top && s->top != s->own)
        sources[n_sources++] = s->top;
    s->tree = (struct rf_tree){.names = k->w->interpreter.names,
                               .builtins = k->w->builtins,
                               .m = k->w->m,
                               .s = k->s,
                               .sites = k->w->sites,
                               .variables = k->w->interpreter.variables,
                               .body = k->walked ? k->fn->body : 0,
                               .within = s->own && k->placed ? s->own : NULL,
                               .span = k->at};
    rf_tree_chain(&s->tree, k->native, k->chain, k->n_chain, sources, n_sources, s->form);
    bool found = false;
    for (size_t i = 0; i < k->n_chain; i++) {
        found = found || (s->form[i].source && !s->form[i].root);
        if (k->w->forms)
            k->w->forms[k->chain[i]] = s->form[i];
    }
    if (!found && !s->own && s->top && !k->walked) {
        struct rf_frame f = top_frame(k, s->top);
        push_form(k, &f);
    }
    if (!found && k->walked)
        push_walked(k);
    k->walked = false;
}

/* A form becomes a frame of the function it is in, or of the top level. */
static void push_solved(struct walk *k, struct solved *s, const struct rf_form *form)
{
    if (!form->source || form->root)
        return;
    bool in_fn = form->source == s->own;
    struct rf_frame f = {.file = k->fn_file, .fn = in_fn ? k->fn_name : text(""), .named = k->fn_named};
    if (!in_fn)
        f = top_frame(k, form->source);
    f.line = form->span.line + 1u;
    f.source = source_line(k, form->source, f.line);
    if (form->node)
        describe(k, &f, form->source, form->span);
    push_form(k, &f);
    if (in_fn && s->walked)
        note_locals(k, k->fn, 0);
    s->walked = false;
}

/* Ends the chain. Native frames that it has run past go with it, those from `to` inwards are still to come. */
static void flush(struct walk *k, size_t to)
{
    struct solved s; /* large: set as far as it is used */
    size_t next = 0;
    if (k->n_chain)
        solve_chain(k, &s);
    else if (k->walked)
        push_walked(k);
    while (k->left > to) {
        size_t i = --k->left;
        push_native(k, i);
        if (next == k->n_chain || k->chain[next] != i)
            continue;
        push_solved(k, &s, &s.form[next]);
        push_head(k, &s.tree, i, &s.form[next]);
        next++;
    }
    k->n_chain = 0;
    k->walked = false;
}

/* The frames that follow are this function's. Without a name, in text without one, it is known by the text's beginning.
 */
static const struct rf_source *enter(struct walk *k, const struct rf_lambda *fn)
{
    const struct rf_source *source = source_at(k, fn->nfo);
    bool unnamed = source && rf_source_unfiled(source) && !fn->named;
    k->fn = fn;
    k->fn_file = source ? rf_source_place(source, k->from_client && fn->nfo == k->force[0].nfo) : text("<unknown>");
    k->fn_name = unnamed ? source->title : fn->name;
    k->fn_named = !unnamed;
    return source;
}

/* The frame of an interpreted lambda's call has the lambda in a register or among its lowest words. */
static void enter_uncompiled(struct walk *k, size_t frame)
{
    const struct rf_native *f = &k->native->frame[frame];
    const struct rf_interpreter *in = &k->w->interpreter;
    const struct rf_lambda *fn = NULL;
    uint64_t w;
    if (in->variables && rf_variables_read(in->variables, k->native, frame, k->w->m, RF_FIRST_PARAMETER, &w))
        fn = rf_lambdas_uncompiled(in->lambdas, k->w->m, w, in->epoch);
    for (size_t i = 0; i < sizeof rf_saved_regs && !fn; i++)
        if ((f->known >> rf_saved_regs[i] & 1) && rf_obj_plausible(f->reg[rf_saved_regs[i]]))
            fn = rf_lambdas_uncompiled(in->lambdas, k->w->m, f->reg[rf_saved_regs[i]], in->epoch);
    for (size_t i = 0; i < SWITCH_WORDS && !fn && rf_snapshot_word(k->s, f->sp + 8 * i, &w); i++)
        if (rf_obj_plausible(w))
            fn = rf_lambdas_uncompiled(in->lambdas, k->w->m, w, in->epoch);
    if (!fn)
        return;
    enter(k, fn);
    k->placed = false;
    k->walked = true;
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
    const struct rf_source *source = enter(k, a->fn);
    k->at = a->span;
    k->placed = a->placed;
    k->called = a->called;
    k->operands = a->operands;
    struct rf_frame f = {.file = k->fn_file, .fn = k->fn_name, .named = k->fn_named};
    if (!(k->w->rt->off & RF_OFF_LINES)) {
        f.line = a->line;
        f.source = source_line(k, source, a->line);
        if (a->placed)
            describe(k, &f, source, a->span);
    }
    rf_stack_push(k->w->out, &f);
    note_locals(k, a->fn, a->locals);
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
    struct walk k = {.w = w, .s = s, .native = native, .left = native->n};
    sources_in_force(&k);
    for (size_t i = native->n; i-- > 0;) {
        const struct rf_native *f = &native->frame[i];
        if (rf_symbol_is(f->fn.name, "ray_eval") && k.n_chain < RF_CHAIN_MAX) {
            k.chain[k.n_chain++] = i;
        } else if (f->fn.name && f->fn.addr == w->rt->interpreter) {
            /* Known by its address, not by its name: every build has one. */
            flush(&k, i + 1);
            push_native(&k, i);
            k.left = i;
            k.called = k.operands = 0;
            count(w->stats, rf_interpreter_frame(&w->interpreter, native, i, push_activation, &k));
            push_called(&k, i);
        } else if (switches_source(f->fn.name) || rf_symbol_is(f->fn.name, "call_lambda") ||
                   rf_symbol_is(f->fn.name, "call_lambda_impl")) {
            flush(&k, i);
            if (switches_source(f->fn.name))
                k.fn = NULL; /* what follows is another text, not the function's body */
            else
                enter_uncompiled(&k, i);
        }
    }
    flush(&k, 0);
}
