/* tree.c: candidates for the forms of a chain of ray_eval frames, and the best consistent choice among them. */
#include "tree.h"

#include "object.h"

enum {
    CANDIDATES = 8,   /* of one frame */
    WORDS_MAX = 120,  /* of a frame that are looked at: the rest is argument arrays */
    STRONG_WORDS = 3, /* lowest words of a frame: where compilers spill what they need next */
    LOOK_BACK = 8,    /* frames without candidates that a chain may bridge */
    ELEMENTS_MAX = 256,
};

/* Scores of candidates, by where they were found. */
enum {
    TOLD = 32,
    ASKED = 24, /* what the caller's variables say that it asks for */
    IN_REGISTER = 12,
    IN_STRONG_WORD = 8,
    ELSEWHERE = 4,
    LEFT_OVER = 1,   /* of the innermost frame's words, unless a builtin runs: most are from before */
    HANDED_OVER = 8, /* more for the form that code called the evaluator with */
};

struct candidate {
    struct rf_form form;
    int score;
    int best; /* score of the best chain that ends here */
    int from; /* the one before it, as frame * CANDIDATES + index; -1: none */
};

struct chain {
    const struct rf_tree *t;
    const struct rf_native_stack *native;
    const size_t *frames;
    size_t n;
    const struct rf_source *const *sources;
    size_t n_sources;
    struct candidate c[RF_CHAIN_MAX][CANDIDATES];
    size_t count[RF_CHAIN_MAX];
    bool told[RF_CHAIN_MAX]; /* by debug information: its one candidate, or that it is at no form of its own */
};

/* The form that a node is, when it is a list in one of the sources. A list that is evaluated is written with a
 * parenthesis; the `do` around a file is not written at all, its span starts at the end (internals §2.3). */
static bool form_of(const struct chain *ch, uint64_t node, struct rf_form *out)
{
    struct rf_obj o;
    for (size_t i = 0; i < ch->n_sources; i++) {
        struct rf_span span;
        if (!rf_source_node(ch->sources[i], node, &span))
            continue;
        if (ch->sources[i] == ch->t->within && !rf_span_encloses(ch->t->span, span))
            continue;
        struct rf_text text = rf_source_at(ch->sources[i], span);
        bool written = text.n && text.s[0] == '(';
        if ((!written && text.n) || !rf_obj_vector(ch->t->m, node, RAY_LIST, INT32_MAX, &o))
            continue;
        *out = (struct rf_form){.source = ch->sources[i], .node = node, .root = !written};
        if (written) {
            out->span = span;
            out->depth = rf_source_depth(ch->sources[i], node);
        }
        return true;
    }
    return false;
}

const struct rf_builtin *rf_tree_element(const struct rf_tree *t, uint64_t node, unsigned i)
{
    uint64_t element;
    struct rf_obj o;
    if (!rf_read_u64(t->m, node + RAY_DATA + 8 * i, &element) || !rf_obj_read(t->m, element, &o))
        return NULL;
    return rf_builtins_object(t->builtins, o.type == RAY_SYMBOL_ATOM ? rf_names_value(t->names, o.len) : element);
}

const struct rf_builtin *rf_tree_head(const struct rf_tree *t, uint64_t node)
{
    return rf_tree_element(t, node, 0);
}

static const char *below(const struct chain *ch, size_t k)
{
    size_t f = ch->frames[k];
    return f > 0 ? ch->native->frame[f - 1].fn.name : NULL;
}

static bool builtin_below(const struct chain *ch, size_t k)
{
    const char *runs = below(ch, k);
    return runs && rf_builtins_any_runs(ch->t->builtins, runs);
}

/* Is the form's head the function that runs directly below, where that is a builtin? Drops what a register still holds
 * from before. */
static bool head_agrees(const struct chain *ch, size_t k, uint64_t node)
{
    const struct rf_builtin *head = builtin_below(ch, k) ? rf_tree_head(ch->t, node) : NULL;
    return !head || rf_builtin_runs(head, below(ch, k));
}

static void add(struct chain *ch, size_t k, uint64_t node, int score)
{
    struct rf_form form;
    for (size_t i = 0; i < ch->count[k]; i++)
        if (ch->c[k][i].form.node == node) {
            if (ch->c[k][i].score < score)
                ch->c[k][i].score = score;
            return;
        }
    if (ch->count[k] == CANDIDATES || !form_of(ch, node, &form) || !head_agrees(ch, k, node))
        return;
    ch->c[k][ch->count[k]++] = (struct candidate){.form = form, .score = score};
}

/* A word may be the node itself or its elements, 32 bytes further. */
static void add_word(struct chain *ch, size_t k, uint64_t w, int score)
{
    if (!rf_obj_plausible(w))
        return;
    add(ch, k, w, score);
    add(ch, k, w - RAY_DATA, score);
}

static size_t words_of(const struct chain *ch, size_t frame)
{
    const struct rf_native *f = &ch->native->frame[frame];
    uint64_t end = frame + 1 < ch->native->n ? f[1].sp : f->sp + 8 * WORDS_MAX;
    uint64_t n = end > f->sp ? (end - f->sp) / 8 : 0;
    return n < WORDS_MAX ? (size_t)n : WORDS_MAX;
}

/* The same where debug information tells what `args` and `i` are: ray_do_fn and the like call ray_eval(args[i]). */
static bool add_asked(struct chain *ch, size_t k)
{
    uint64_t args, i, node;
    struct rf_form parent;
    struct rf_obj o;
    size_t form = ch->frames[k] + 1;
    if (!ch->t->variables ||
        !rf_variables_read(ch->t->variables, ch->native, form, ch->t->m, RF_FIRST_PARAMETER, &args) ||
        !rf_variables_read(ch->t->variables, ch->native, form, ch->t->m, RF_VARIABLE_I, &i) || args % 32 != 8 ||
        !form_of(ch, args - RAY_DATA - 8, &parent) || !rf_obj_vector(ch->t->m, parent.node, RAY_LIST, INT32_MAX, &o) ||
        o.len < 1 || i >= (uint64_t)o.len - 1 || !rf_read_u64(ch->t->m, args + 8 * i, &node))
        return false;
    add(ch, k, node, ASKED);
    return true;
}

/* A special form that evaluates its arguments in a loop has, in registers, the pointer to the first and the index of
 * the one in progress (ray_do_fn and the like, all releases): that one is what the frame below it evaluates. */
static void add_argument(struct chain *ch, size_t k, const struct rf_native *form)
{
    uint64_t args = 0, node;
    struct rf_obj o;
    for (size_t i = 0; i < sizeof rf_saved_regs && !args; i++) {
        uint64_t w = form->reg[rf_saved_regs[i]];
        struct rf_form parent;
        if ((form->known >> rf_saved_regs[i] & 1) && w % 32 == 8 && form_of(ch, w - RAY_DATA - 8, &parent) &&
            rf_obj_vector(ch->t->m, parent.node, RAY_LIST, INT32_MAX, &o) && o.len > 1)
            args = w;
    }
    for (size_t i = 0; args && i < sizeof rf_saved_regs; i++) {
        uint64_t index = form->reg[rf_saved_regs[i]];
        if ((form->known >> rf_saved_regs[i] & 1) && index < (uint64_t)o.len - 1 &&
            rf_read_u64(ch->t->m, args + 8 * index, &node))
            add(ch, k, node, ELSEWHERE);
    }
}

/* The evaluator's argument, or what it derived from that. */
static bool told(const struct chain *ch, size_t k, uint64_t *node)
{
    const struct rf_tree *t = ch->t;
    if (!t->variables)
        return false;
    if (rf_variables_read(t->variables, ch->native, ch->frames[k], t->m, RF_FIRST_PARAMETER, node))
        return true;
    bool found = rf_variables_read(t->variables, ch->native, ch->frames[k], t->m, RF_VARIABLE_ELEMS, node);
    *node -= found ? RAY_DATA : 0;
    return found;
}

/* A register that holds the same as in the caller was not set by this frame: it is the caller's. */
static bool inherited(const struct chain *ch, size_t frame, unsigned char reg)
{
    const struct rf_native *f = &ch->native->frame[frame];
    return frame + 1 < ch->native->n && (f[1].known >> reg & 1) && f[1].reg[reg] == f->reg[reg];
}

static void candidates(struct chain *ch, size_t k)
{
    size_t index = ch->frames[k];
    const struct rf_native *f = &ch->native->frame[index];
    uint64_t w;
    ch->told[k] = told(ch, k, &w);
    if (ch->told[k]) {
        if (form_of(ch, w, &ch->c[k][0].form)) {
            ch->c[k][0].score = TOLD;
            ch->count[k] = 1;
        }
        return;
    }
    bool last = k + 1 == ch->n, busy = last && builtin_below(ch, k);
    for (size_t i = 0; i < sizeof rf_saved_regs; i++)
        if (f->known >> rf_saved_regs[i] & 1)
            add_word(ch, k, f->reg[rf_saved_regs[i]],
                     !busy && inherited(ch, index, rf_saved_regs[i]) ? ELSEWHERE : IN_REGISTER);
    size_t n = words_of(ch, index);
    for (size_t i = 0; i < n && rf_snapshot_word(ch->t->s, f->sp + 8 * i, &w); i++)
        add_word(ch, k, w, last && !busy ? LEFT_OVER : i < STRONG_WORDS ? IN_STRONG_WORD : ELSEWHERE);
    if (index + 1 < ch->native->n && !rf_symbol_is(f[1].fn.name, "ray_eval") && !add_asked(ch, k))
        add_argument(ch, k, f + 1);
    /* A special form is called with a pointer to its first argument: the elements, and 8. */
    if (index == 0 || (k + 1 < ch->n && ch->frames[k + 1] == index - 1))
        return;
    const struct rf_native *younger = f - 1;
    for (size_t i = 0; i < sizeof rf_saved_regs; i++)
        if ((younger->known >> rf_saved_regs[i] & 1) && younger->reg[rf_saved_regs[i]] % 32 == 8)
            add(ch, k, younger->reg[rf_saved_regs[i]] - RAY_DATA - 8, ELSEWHERE);
    n = words_of(ch, index - 1);
    for (size_t i = 0; i < n && rf_snapshot_word(ch->t->s, younger->sp + 8 * i, &w); i++)
        if (w % 32 == 8 && w > RAY_DATA + 8)
            add(ch, k, w - RAY_DATA - 8, ELSEWHERE);
}

/* Can inner be evaluated `frames` frames further in than outer? Every frame goes one form deeper. */
static bool inside(const struct rf_form *outer, const struct rf_form *inner, size_t frames)
{
    if (outer->source != inner->source || inner->root || outer->node == inner->node ||
        inner->depth != outer->depth + frames)
        return false;
    return outer->root ||
           (rf_span_encloses(outer->span, inner->span) && memcmp(&outer->span, &inner->span, sizeof outer->span) != 0);
}

static bool handed_over(const struct chain *ch, const struct rf_form *f)
{
    return f->source == ch->t->within && memcmp(&f->span, &ch->t->span, sizeof f->span) == 0;
}

/* Scores every candidate by the best chain of forms, each inside the one before, that ends with it; returns the best of
 * all, as frame * CANDIDATES + index, -1 without any. */
static int solve(struct chain *ch)
{
    int winner = -1, top = 0;
    for (size_t k = 0; k < ch->n; k++)
        for (size_t i = 0; i < ch->count[k]; i++) {
            struct candidate *c = &ch->c[k][i];
            c->best = c->score + (k == 0 && handed_over(ch, &c->form) ? HANDED_OVER : 0);
            c->from = -1;
            for (size_t j = k > LOOK_BACK ? k - LOOK_BACK : 0; j < k; j++)
                for (size_t p = 0; p < ch->count[j]; p++)
                    if (inside(&ch->c[j][p].form, &c->form, k - j) && ch->c[j][p].best + c->score > c->best) {
                        c->best = ch->c[j][p].best + c->score;
                        c->from = (int)(j * CANDIDATES + p);
                    }
            if (c->best > top) {
                top = c->best;
                winner = (int)(k * CANDIDATES + i);
            }
        }
    return winner;
}

/* The frame above a known form is at the form that encloses it most closely, or at the root. */
static void fill_outer(const struct chain *ch, struct rf_form *out)
{
    for (size_t k = ch->n - 1; k-- > 0;) {
        const struct rf_form *inner = &out[k + 1];
        if (out[k].source || ch->told[k] || !inner->source || inner->root)
            continue;
        out[k].source = inner->source;
        out[k].root = !rf_source_parent(inner->source, inner->span, &out[k].node, &out[k].span);
        if (inner->source == ch->t->within && (out[k].root || !rf_span_encloses(ch->t->span, out[k].span)))
            out[k] = (struct rf_form){0};
    }
}

/* Frame k is inside form `parent`, and a builtin runs below it: of the parent's arguments, those with that head. If
 * they stand on one line, that line is sure even if it is not which of them. */
static bool by_head(const struct chain *ch, size_t k, const struct rf_form *parent, struct rf_form *out)
{
    uint64_t element[ELEMENTS_MAX];
    struct rf_obj o;
    const char *runs = below(ch, k);
    size_t hits = 0;
    if (!runs || !parent->node || !rf_obj_vector(ch->t->m, parent->node, RAY_LIST, ELEMENTS_MAX, &o) ||
        !rf_read(ch->t->m, parent->node + RAY_DATA, element, (size_t)o.len * 8))
        return false;
    for (int64_t i = 0; i < o.len; i++) {
        struct rf_form form;
        const struct rf_builtin *head;
        if (!rf_obj_plausible(element[i]) || !form_of(ch, element[i], &form) ||
            !(head = rf_tree_head(ch->t, element[i])) || !rf_builtin_runs(head, runs))
            continue;
        if (hits && form.span.line != out->span.line)
            return false;
        if (hits++)
            out->node = 0;
        else
            *out = form;
    }
    return hits > 0;
}

/* A function's body of one form leaves no choice. */
static bool only_form(const struct chain *ch, uint64_t body, struct rf_form *out)
{
    struct rf_obj o;
    uint64_t node;
    return rf_obj_vector(ch->t->m, body, RAY_LIST, 1, &o) && o.len == 1 &&
           rf_read_u64(ch->t->m, body + RAY_DATA, &node) && form_of(ch, node, out);
}

static void fill_inner(const struct chain *ch, struct rf_form *out)
{
    struct rf_form body = {.node = ch->t->body}, first = {0};
    if (!out[0].source && !ch->told[0] && body.node &&
        (only_form(ch, body.node, &first) || by_head(ch, 0, &body, &first)))
        out[0] = first;
    for (size_t k = 1; k < ch->n; k++) {
        struct rf_form form = {0};
        if (!out[k].source && !ch->told[k] && out[k - 1].source && by_head(ch, k, &out[k - 1], &form))
            out[k] = form;
    }
}

/* The values of the dict that is a query's argument. They are counted from 1, as the arguments of other forms. */
static bool values_of(const struct chain *ch, const struct rf_asking *form, struct rf_asking *out)
{
    uint64_t argument, values;
    struct rf_obj o;
    if (form->n != 2 || !rf_read_u64(ch->t->m, form->elements + 8, &argument) || !rf_obj_read(ch->t->m, argument, &o) ||
        o.type != RAY_DICT || !rf_read_u64(ch->t->m, argument + RAY_DATA + 8, &values) ||
        !rf_obj_vector(ch->t->m, values, RAY_LIST, ELEMENTS_MAX, &o))
        return false;
    *out = (struct rf_asking){form->frame, form->s, values + RAY_DATA - 8, o.len + 1};
    return true;
}

/* `if` ends in a jump to the evaluator, so the call seems to be that of the form's own frame, whichever branch it took.
 */
static bool jumped(const struct chain *ch, size_t caller, uint64_t node)
{
    const struct rf_builtin *head = caller < ch->native->n ? rf_tree_head(ch->t, node) : NULL;
    return head && (head->attrs & RAY_ATTR_SPECIAL) && rf_symbol_is(ch->native->frame[caller].fn.name, "ray_eval");
}

/* Which forms the frame that called frame k can have asked for. */
static bool asking(const struct chain *ch, size_t k, const struct rf_form *parent, struct rf_asking *a)
{
    struct rf_obj o;
    struct rf_asking form;
    size_t caller = ch->frames[k] + 1;
    if (!parent->node || caller >= ch->native->n || jumped(ch, caller, parent->node) ||
        !rf_obj_vector(ch->t->m, parent->node, RAY_LIST, ELEMENTS_MAX, &o))
        return false;
    form = (struct rf_asking){&ch->native->frame[caller], ch->t->s, parent->node + RAY_DATA, o.len};
    if (!values_of(ch, &form, a))
        *a = form;
    return true;
}

/* Outer frames are known by what they hold; from them is learned who evaluates which argument. */
static void learn(const struct chain *ch, const struct rf_form *out)
{
    for (size_t k = 1; k + 1 < ch->n; k++) {
        struct rf_asking a;
        uint64_t node;
        if (!out[k].node || !out[k - 1].node || !asking(ch, k, &out[k - 1], &a))
            continue;
        for (int64_t i = 1; i < a.n; i++)
            if (rf_read_u64(ch->t->m, a.elements + 8 * (uint64_t)i, &node) && node == out[k].node) {
                rf_sites_learn(ch->t->sites, &a, i);
                break;
            }
    }
}

static bool in_register(const struct chain *ch, size_t k, uint64_t node)
{
    for (size_t i = 0; i < ch->count[k]; i++)
        if (ch->c[k][i].form.node == node)
            return ch->c[k][i].score >= IN_REGISTER;
    return false;
}

/* Does the frame hold another form of the same parent, on another line, just as well? One of the two is from before. */
static bool rivalled(const struct chain *ch, size_t k, const struct rf_form *chosen, const struct rf_form *parent)
{
    int score = 0;
    for (size_t i = 0; i < ch->count[k]; i++)
        if (ch->c[k][i].form.node == chosen->node)
            score = ch->c[k][i].score;
    for (size_t i = 0; i < ch->count[k]; i++) {
        const struct candidate *c = &ch->c[k][i];
        if (c->score >= score && c->form.node != chosen->node && c->form.span.line != chosen->span.line &&
            inside(parent, &c->form, 1))
            return true;
    }
    return false;
}

/* The innermost frame holds least of its form, and most from before. What its caller waits for goes before what it
 * holds; when that is a name or a number, it is at no form of its own. Where that is not known either, only what is in
 * a register counts, or what a builtin below it speaks for and for nothing else. */
static void settle_innermost(const struct chain *ch, struct rf_form *out)
{
    size_t k = ch->n - 1;
    struct rf_asking a;
    uint64_t node;
    if (k == 0 || ch->told[k] || !out[k - 1].source)
        return;
    if (out[k - 1].node && jumped(ch, ch->frames[k] + 1, out[k - 1].node)) {
        if (!in_register(ch, k, out[k].node))
            out[k] = (struct rf_form){0}; /* of two branches alike the frame may hold either */
        return;
    }
    if (!asking(ch, k, &out[k - 1], &a))
        return;
    int64_t i = rf_sites_element(ch->t->sites, &a);
    bool spoken_for = builtin_below(ch, k) && !rivalled(ch, k, &out[k], &out[k - 1]);
    if (i < 0 && !spoken_for && !in_register(ch, k, out[k].node))
        out[k] = (struct rf_form){0};
    if (i < 0 || !rf_read_u64(ch->t->m, a.elements + 8 * (uint64_t)i, &node) || node == out[k].node)
        return;
    struct rf_form form;
    bool found = form_of(ch, node, &form) && head_agrees(ch, k, node);
    out[k] = found ? form : (struct rf_form){0};
}

void rf_tree_chain(const struct rf_tree *t, const struct rf_native_stack *native, const size_t *frames, size_t n,
                   const struct rf_source *const *sources, size_t n_sources, struct rf_form *out)
{
    struct chain ch; /* large: set as far as it is used */
    ch.t = t;
    ch.native = native;
    ch.frames = frames;
    ch.n = n < RF_CHAIN_MAX ? n : RF_CHAIN_MAX;
    ch.sources = sources;
    ch.n_sources = n_sources;
    memset(ch.count, 0, sizeof ch.count);
    memset(out, 0, n * sizeof *out);
    if (!ch.n || !n_sources)
        return;
    for (size_t k = 0; k < ch.n; k++)
        candidates(&ch, k);
    for (int at = solve(&ch); at >= 0;) {
        const struct candidate *c = &ch.c[at / CANDIDATES][at % CANDIDATES];
        out[at / CANDIDATES] = c->form;
        at = c->from;
    }
    for (size_t k = 0; k < ch.n; k++)
        if (ch.told[k] && ch.count[k])
            out[k] = ch.c[k][0].form;
    learn(&ch, out);
    fill_outer(&ch, out);
    settle_innermost(&ch, out);
    fill_inner(&ch, out);
}
