/* stack.c: walks the native frames from the outermost inwards and puts the Rayfall frames on a stack.
 *
 * A stretch of evaluator frames is a chain, solved as a whole. It ends where something else takes over: an interpreter
 * frame, an interpreted lambda's call, or a function that puts another source in force. */
#include "stack.h"

#include "tree.h"

enum { SWITCHES_MAX = 16, SWITCH_WORDS = 64 };

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
    struct rf_text fn_file;
};

void rf_stack_push(struct rf_stack *st, struct rf_text file, uint32_t line, struct rf_text fn)
{
    if (st->n < RF_FRAMES_MAX)
        st->frame[st->n++] = (struct rf_frame){.file = file, .fn = fn, .line = line};
    st->how = line ? RF_BY_A_LINE : RF_BY_A_FUNCTION;
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

/* A form on the line that is already innermost says nothing new. */
static void push_form(struct rf_stack *st, struct rf_text file, uint32_t line, struct rf_text fn)
{
    const struct rf_frame *last = st->n ? &st->frame[st->n - 1] : NULL;
    if (!last || last->line != line || !same_text(last->file, file) || !same_text(last->fn, fn))
        rf_stack_push(st, file, line, fn);
}

/* Top-level text has no function. A file's is <top>; a client's is known by its own beginning. */
static struct rf_text top_name(const struct rf_source *s)
{
    return s->title.n ? s->title : text("<top>");
}

/* Ends the chain: its forms become frames of the function they are in, or of the top level. */
static void flush(struct walk *k)
{
    struct rf_form form[RF_CHAIN_MAX];
    const struct rf_source *sources[2];
    size_t n_sources = 0, shown = 0;
    if (!k->n_chain)
        return;
    const struct rf_source *own = k->fn ? source_at(k, k->fn->nfo) : NULL;
    const struct rf_source *top = source_at(k, source_of_frame(k, k->chain[k->n_chain - 1]));
    if (own)
        sources[n_sources++] = own;
    if (top && top != own)
        sources[n_sources++] = top;
    struct rf_tree tree = {k->w->interpreter.names, k->w->builtins, k->w->m, k->s};
    rf_tree_chain(&tree, k->native, k->chain, k->n_chain, sources, n_sources, form);
    for (size_t i = 0; i < k->n_chain; i++) {
        if (!form[i].source || form[i].root)
            continue;
        bool in_fn = form[i].source == own;
        struct rf_text file = in_fn ? k->fn_file : rf_source_place(form[i].source, k->from_client);
        push_form(k->w->out, file, form[i].span.line + 1u, in_fn ? k->fn->name : top_name(form[i].source));
        shown++;
    }
    if (!shown && !own && top)
        push_form(k->w->out, rf_source_place(top, k->from_client), 0, top_name(top));
    k->n_chain = 0;
}

static void push_activation(void *ctx, const struct rf_activation *a)
{
    struct walk *k = ctx;
    k->fn = a->fn;
    k->fn_file = a->fn->file;
    if (a->fn->file.n == 0)
        k->fn_file = text("<unknown>");
    else if (same_text(a->fn->file, text("repl")))
        k->fn_file = text(k->from_client && a->fn->nfo == k->force[0].nfo ? "<ipc>" : "<repl>");
    rf_stack_push(k->w->out, k->fn_file, k->w->rt->off & RF_OFF_LINES ? 0 : a->line, a->fn->name);
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
        }
    }
    flush(&k);
}
