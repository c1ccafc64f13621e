/* treewalk.c: how often is the decoder right about the forms that the tree-walking evaluator is at? A breakpoint on
 * every entry of ray_eval tells which node each of its frames evaluates; stopped at random, the decoder is asked the
 * same.
 *
 *   treewalk PID SAMPLES SEED [-v]
 *
 * Prints for each kind of frame: frames, right forms, not found (nothing, or a form around the right one), wrong forms.
 * See tests/oracle/run. The target gets breakpoints in its debug registers and is stepped, so it must be one that was
 * started for this. With -v, what was not right is described on stderr. */
#include "rayfall/probe.h"
#include "rayfall/stack.h"
#include "slots/slots.h"
#include "tracee.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/ptrace.h>

enum { ENTRIES = 2, FRAMES_KNOWN = 4096, ENTRIES_APART = 300, MS_APART = 12, STEPS_AFTER = 1000 };

/* What one frame of ray_eval was called with, by the stack pointer before the call. */
struct entered {
    uint64_t sp, node, nfo;
};

struct oracle {
    struct tracee t;
    struct rf_names *names;
    struct rf_sources *sources;
    struct rf_lambdas *lambdas;
    struct rf_builtins *builtins;
    struct rf_slots *slots;
    struct rf_probe probe;
    struct rf_sites sites;
    struct rf_decode_stats stats;
    uint64_t epoch, handlers;
    uint64_t entry[ENTRIES];
    struct entered known[FRAMES_KNOWN]; /* from the outermost inwards */
    size_t n_known;
    struct rf_stack stack;
    struct rf_form form[RF_NATIVE_MAX];
    int verbose;
};

/* Frames with something evaluated further in; the innermost with a builtin or a special form at work; the evaluator
 * itself. */
enum { OUTER, INNERMOST, LEAF, KINDS };
static const char *const kinds[KINDS] = {"outer", "innermost", "leaf"};

struct tally {
    unsigned frames, right, not_found, wrong;
};

/* --- what happens ------------------------------------------------------------------------------------------------- */

static void set_breakpoints(struct oracle *o)
{
    unsigned long control = 0;
    for (unsigned i = 0; i < ENTRIES && o->entry[i]; i++) {
        size_t reg = offsetof(struct user, u_debugreg) + i * sizeof(long);
        if (ptrace(PTRACE_POKEUSER, o->t.pid, (void *)reg, (void *)o->entry[i]) != 0)
            die("debug register");
        control |= 1ul << 2 * i; /* enabled for this thread, on execution */
    }
    if (ptrace(PTRACE_POKEUSER, o->t.pid, (void *)(offsetof(struct user, u_debugreg) + 7 * sizeof(long)),
               (void *)control) != 0)
        die("debug registers");
}

/* The evaluator and, where the compiler split it, the part that does the work. */
static bool add_entry(void *ctx, const struct rf_symbol *s)
{
    struct oracle *o = ctx;
    bool entry = rf_symbol_is(s->name, "ray_eval") && !strstr(s->name, ".cold");
    if (entry && o->entry[ENTRIES - 1])
        die("more entries than expected");
    if (entry)
        o->entry[o->entry[0] != 0] = s->addr;
    return true;
}

/* Notes an entry, when the thread is at one. What was noted of frames further in is over by then. */
static bool note_entry(struct oracle *o)
{
    struct user_regs_struct r;
    tracee_registers(o->t.pid, &r);
    if (r.rip != o->entry[0] && r.rip != o->entry[1])
        return false;
    struct entered e = {.sp = r.rsp + 8, .node = r.rdi};
    rf_read_u64(&o->t.process->memory, rf_vm_field(&o->t.rt, r.fs_base, o->t.rt.layout.vm_nfo), &e.nfo);
    while (o->n_known && o->known[o->n_known - 1].sp <= e.sp)
        o->n_known--;
    if (o->n_known < FRAMES_KNOWN)
        o->known[o->n_known++] = e;
    return true;
}

/* Lets the thread run: to some entry of the evaluator or for some time, every other time, and then some instructions.
 */
static void run_on(struct oracle *o, bool by_time)
{
    int entries = 1 + rand() % ENTRIES_APART, steps = rand() % STEPS_AFTER;
    long end = tracee_ms() + (by_time ? 1 + rand() % MS_APART : 1000), left;
    while ((by_time || entries-- > 0) && (left = end - tracee_ms()) > 0) {
        ptrace(PTRACE_CONT, o->t.pid, 0, 0);
        if (tracee_wait(o->t.pid, PTRACE_CONT, left) == 0)
            break;
        note_entry(o);
    }
    while (steps-- > 0 && tracee_step(o->t.pid))
        note_entry(o);
    note_entry(o);
}

static const struct entered *truth_of(const struct oracle *o, uint64_t sp)
{
    for (size_t i = 0; i < o->n_known; i++)
        if (o->known[i].sp == sp)
            return &o->known[i];
    return NULL;
}

/* --- what the decoder says ------------------------------------------------------------------------------------------
 */

static void ask(struct oracle *o, struct rf_native_stack *native, struct tracee_view *view)
{
    struct rf_selector selector = {rf_probe_select, &o->probe};
    struct rf_expressions none = {0};
    tracee_snapshot(&o->t, &selector, native);
    *view = tracee_view(&o->t);
    struct rf_walk w = {.rt = &o->t.rt,
                        .m = &view->memory,
                        .sources = o->sources,
                        .builtins = o->builtins,
                        .sites = &o->sites,
                        .stats = &o->stats,
                        .expressions = &none,
                        .out = &o->stack,
                        .forms = o->form,
                        .interpreter = {.rt = &o->t.rt,
                                        .lambdas = o->lambdas,
                                        .names = o->names,
                                        .m = &view->memory,
                                        .s = o->t.s,
                                        .epoch = ++o->epoch,
                                        .handlers = o->handlers,
                                        .slots = o->slots,
                                        .variables = o->t.variables}};
    o->stack.n = 0;
    memset(o->form, 0, native->n * sizeof *o->form);
    rf_names_refresh(o->names, &o->t.process->memory, o->t.s->time_ns);
    rf_walk(&w, o->t.s, native);
}

/* --- the account -------------------------------------------------------------------------------------------------- */

static void keep_function(void *ctx, const struct rf_activation *a)
{
    *(const struct rf_lambda **)ctx = a->fn;
}

/* Where a node is written: in the text that was in force, or in that of the function that runs. NULL when it is in
 * neither, or when both have that address. */
static const struct rf_source *source_of(struct oracle *o, const struct rf_memory *m, const struct entered *e,
                                         const struct rf_lambda *fn, struct rf_span *span)
{
    const struct rf_source *found = NULL;
    uint64_t nfo[2] = {e->nfo, fn ? fn->nfo : 0};
    for (int i = 0; i < 2; i++) {
        const struct rf_source *s = nfo[i] ? rf_sources_get(o->sources, m, nfo[i], o->epoch) : NULL;
        struct rf_span here;
        if (!s || s == found || !rf_source_node(s, e->node, &here))
            continue;
        if (found)
            return NULL;
        found = s;
        *span = here;
    }
    return found;
}

struct judged {
    const struct rf_source *source;
    struct rf_span span;
};

static void describe(const struct oracle *o, const struct rf_native_stack *native, size_t k, const struct judged *j,
                     const char *verdict)
{
    const struct rf_form *f = &o->form[k];
    struct rf_text is = rf_source_form(j->source, j->span), said = {"-", 1};
    if (f->source)
        said = rf_source_form(f->source, f->span);
    fprintf(stderr, "%s below %s: is %u:%u %.*s | said %u:%u %.*s\n", verdict,
            k && native->frame[k - 1].fn.name ? native->frame[k - 1].fn.name : "-", j->span.line + 1u, j->span.col + 1u,
            is.n < 40 ? (int)is.n : 40, is.s, f->source ? f->span.line + 1u : 0, f->source ? f->span.col + 1u : 0,
            said.n < 40 ? (int)said.n : 40, said.s);
}

static bool same(struct rf_span a, struct rf_span b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void judge(const struct oracle *o, const struct rf_native_stack *native, size_t k, const struct judged *j,
                  struct tally *y)
{
    const struct rf_form *f = &o->form[k];
    bool here = f->source == j->source && !f->root;
    y->frames++;
    if (here && (f->node ? same(f->span, j->span) : f->span.line == j->span.line)) {
        y->right++;
        return;
    }
    bool around = here && f->node && rf_span_encloses(f->span, j->span);
    bool wrong = f->source && !f->root && !around;
    y->wrong += wrong;
    y->not_found += !wrong;
    if (o->verbose)
        describe(o, native, k, j, wrong ? "wrong" : "not found");
}

/* Is frame k's form inside that of the next older frame with one, if that is written in the same text? */
static bool inside_last(const struct judged *j, size_t n, size_t k)
{
    for (size_t i = k + 1; i < n; i++)
        if (j[i].source == j[k].source)
            return rf_span_encloses(j[i].span, j[k].span);
        else if (j[i].source)
            break;
    return true;
}

/* Accounts for every frame of the evaluator whose node is a form. True when the innermost is one, and something runs
 * below. */
static bool account(struct oracle *o, struct rf_native_stack *native, const struct rf_memory *m, struct tally *tally,
                    unsigned *open)
{
    struct rf_interpreter in = {.rt = &o->t.rt,
                                .lambdas = o->lambdas,
                                .names = o->names,
                                .m = m,
                                .s = o->t.s,
                                .epoch = o->epoch,
                                .handlers = o->handlers,
                                .slots = o->slots,
                                .variables = o->t.variables};
    const struct rf_lambda *fn = NULL;
    struct judged j[RF_NATIVE_MAX] = {{0}};
    size_t innermost = native->n;
    for (size_t k = native->n; k-- > 0;) {
        const struct rf_native *f = &native->frame[k];
        const struct entered *e;
        struct rf_obj obj;
        if (f->fn.name && f->fn.addr == o->t.rt.interpreter) {
            rf_interpreter_frame(&in, native, k, keep_function, (void *)&fn);
            innermost = native->n;
        } else if (rf_symbol_is(f->fn.name, "ray_load_file_fn") || rf_symbol_is(f->fn.name, "ray_eval_str")) {
            fn = NULL;
        }
        if (!rf_symbol_is(f->fn.name, "ray_eval") || k + 1 == native->n)
            continue;
        innermost = k;
        if (!(e = truth_of(o, f[1].sp))) {
            ++*open;
            continue;
        }
        j[k].source = source_of(o, m, e, fn, &j[k].span);
        struct rf_text text = j[k].source ? rf_source_at(j[k].source, j[k].span) : (struct rf_text){"", 0};
        bool form = rf_obj_vector(m, e->node, RAY_LIST, INT32_MAX, &obj) && text.n && text.s[0] == '(';
        if (!form)
            j[k].source = NULL; /* a name, a number, the `do` around a file: no line of its own */
        if (j[k].source && !inside_last(j, native->n, k)) {
            j[k].source = NULL; /* made at run time, at the address of a form that is gone */
            ++*open;
        }
    }
    for (size_t k = 0; k < native->n; k++)
        if (j[k].source)
            judge(o, native, k, &j[k], &tally[k != innermost ? OUTER : k ? INNERMOST : LEAF]);
    return innermost < native->n && innermost > 0 && j[innermost].source;
}

static void open_all(struct oracle *o, pid_t pid)
{
    tracee_open(&o->t, pid);
    const struct rf_memory *live = &o->t.process->memory;
    o->names = rf_names_new(&o->t.rt);
    o->sources = rf_sources_new();
    o->lambdas = rf_lambdas_new(&o->t.rt, live, o->names, o->sources);
    o->builtins = rf_builtins_new(&o->t.rt, live);
    o->slots = rf_slots_new(&o->t.rt, live);
    o->handlers = rf_interpreter_handlers(&o->t.rt, live);
    o->probe = (struct rf_probe){.rt = &o->t.rt, .lambdas = o->lambdas};
    rf_image_each_symbol(o->t.rt.image, add_entry, o);
    if (!o->lambdas || !o->builtins || !o->slots || !o->entry[0])
        die("preparing");
    tracee_stop(&o->t);
    set_breakpoints(o);
}

int main(int argc, char **argv)
{
    static struct oracle o;
    struct tally tally[KINDS] = {{0}};
    unsigned want, open = 0, n = 0;
    if (argc < 4)
        return 2;
    want = (unsigned)atoi(argv[2]);
    srand((unsigned)atoi(argv[3]));
    o.verbose = argc > 4;
    open_all(&o, (pid_t)atoi(argv[1]));
    for (unsigned tries = 0; n < want && tries < 40 * want; tries++) {
        struct rf_native_stack native;
        struct tracee_view view;
        run_on(&o, tries & 1);
        ask(&o, &native, &view);
        if (native.end == RF_UNWIND_ROOT)
            n += account(&o, &native, &view.memory, tally, &open);
    }
    memset(o.entry, 0, sizeof o.entry);
    set_breakpoints(&o);
    tracee_detach(&o.t);
    for (int k = 0; k < KINDS; k++)
        printf("%s %u %u %u %u\n", kinds[k], tally[k].frames, tally[k].right, tally[k].not_found, tally[k].wrong);
    printf("open %u\n", open);
    return 0;
}
