/* oracle.c: how often is the decoder right about the instruction in progress? Stops a rayforce at random, asks the
 * decoder, then lets the thread run on until the interpreter itself says where it was: into the innermost interpreter
 * frame, and there step by step to its next load of a byte of the bytecode.
 *
 *   oracle PID SAMPLES SEED [-v]
 *
 * Prints for each kind of frame: samples, right lines, function only, wrong lines; and how many samples had no truth:
 * see tests/oracle/run. The target is single-stepped and gets breakpoints, so it must be one that was started for this.
 * With -v, what was not right is described on stderr. */
#include "rayfall/interpreter.h"
#include "slots/slots.h"
#include "tracee.h"

#include <stdlib.h>
#include <sys/ptrace.h>
#include <time.h>

enum { STEPS_MAX = 3000 };

struct oracle {
    struct tracee t;
    struct rf_names *names;
    struct rf_sources *sources;
    struct rf_lambdas *lambdas;
    struct rf_slots *slots;
    struct rf_machine machine;
    uint64_t handler[OP_COUNT];
    struct rf_probe probe;
    uint64_t epoch;
    int verbose;
};

/* What the decoder said of the innermost interpreter frame. */
struct answer {
    struct rf_activation a;
    enum rf_ip_found how;
    size_t k;
    uint64_t exec, pc;
    int32_t rp;
    const char *below;
    struct rf_whereabouts where;
};

/* What happened next. */
struct truth {
    enum { NOTHING, FETCHED, MOVED, LEFT } what;
    uint32_t ip;    /* FETCHED: byte that was loaded */
    int prefetched; /* opcode that had been fetched before the stop, -1 */
    int32_t rp;
    uint32_t back; /* MOVED with a call: where the caller goes on */
};

/* By where the frame was: below it runs something else, in the interpreter itself, in its entry code. */
enum { CALLER, LEAF, ENTRY, KINDS };
static const char *const kinds[KINDS] = {"caller", "leaf", "entry"};

struct tally {
    unsigned samples, right, function, wrong;
};

/* --- one sample --------------------------------------------------------------------------------------------------- */

static void keep(void *ctx, const struct rf_activation *a)
{
    ((struct answer *)ctx)->a = *a;
}

/* Takes a snapshot of the stopped thread and decodes it as far as its innermost interpreter frame. */
static bool ask(struct oracle *o, struct answer *out)
{
    struct rf_native_stack native;
    struct rf_selector selector = {rf_probe_select, &o->probe};
    tracee_snapshot(&o->t, &selector, &native);
    struct tracee_view view = tracee_view(&o->t);
    struct rf_interpreter in = {.rt = &o->t.rt,
                                .lambdas = o->lambdas,
                                .names = o->names,
                                .m = &view.memory,
                                .s = o->t.s,
                                .epoch = ++o->epoch,
                                .slots = o->slots,
                                .variables = o->t.variables};
    rf_names_refresh(o->names, &o->t.process->memory, o->t.s->time_ns);
    *out = (struct answer){.k = native.n};
    for (size_t k = native.n; native.end == RF_UNWIND_ROOT && k-- > 0;) {
        const struct rf_native *f = &native.frame[k];
        if (f->fn.addr != o->t.rt.interpreter || !f->fn.name)
            continue;
        size_t used = in.n_used;
        out->k = k;
        out->pc = f->pc;
        out->how = rf_interpreter_frame(&in, &native, k, keep, out);
        out->exec = in.n_used > used ? in.used[in.n_used - 1] : 0;
        struct rf_slots_frame sf = {.native = f, .snapshot = o->t.s, .leaf = k == 0, .exec = out->exec};
        if (out->a.fn) {
            sf.code = &out->a.fn->code;
            sf.code_addr = out->a.fn->code_addr;
            out->where = rf_slots_locate(o->slots, &sf);
        }
        out->below = k ? native.frame[k - 1].fn.name : "";
    }
    if (out->k == native.n || out->how == RF_IP_NONE)
        return false;
    if (out->exec)
        rf_read_i32(&o->t.process->memory, out->exec + (uint64_t)o->t.rt.layout.exec_rp, &out->rp);
    return out->k == 0 || tracee_run_to(o->t.pid, native.frame[out->k].pc, native.frame[out->k].sp);
}

static uint64_t reg_value(const struct user_regs_struct *r, unsigned char reg)
{
    const unsigned long long v[16] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp,
                                      r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};
    return reg < 16 ? v[reg] : 0;
}

static uint64_t effective(const struct user_regs_struct *r, const struct rf_moperand *m)
{
    return (uint64_t)m->disp + reg_value(r, m->base) + reg_value(r, m->index) * m->scale;
}

static const struct rf_moperand *byte_load(const struct rf_minsn *i)
{
    bool load = (i->op == M_MOVZX || i->op == M_MOVSX || i->op == M_MOV) && i->o[1].kind == M_MEM && i->o[1].size == 1;
    return load && !i->o[1].segment ? &i->o[1] : NULL;
}

static int opcode_of(const struct oracle *o, uint64_t handler)
{
    for (int i = 0; i < o->t.rt.opcodes && i < OP_COUNT; i++)
        if (o->handler[i] == handler)
            return i;
    return -1;
}

/* The return stack as it is now, against the stop. */
static void look_at_returns(const struct oracle *o, const struct answer *a, struct truth *t)
{
    const struct rf_memory *m = &o->t.process->memory;
    int32_t back = 0;
    t->rp = a->rp;
    rf_read_i32(m, a->exec + (uint64_t)o->t.rt.layout.exec_rp, &t->rp);
    if (t->rp > a->rp)
        rf_read_i32(m, a->exec + (uint64_t)o->t.rt.layout.exec_rs + 16 * (uint64_t)(t->rp - 1) + 12, &back);
    t->back = (uint32_t)back;
}

/* From inside the interpreter frame to its next fetch from the bytecode at code. */
static void find_truth(const struct oracle *o, const struct answer *a, struct truth *t)
{
    const struct rf_lambda *fn = a->a.fn;
    struct user_regs_struct r;
    uint64_t loaded = 0;
    bool any_load = false;
    *t = (struct truth){.what = NOTHING, .prefetched = -1};
    for (unsigned n = 0; n < STEPS_MAX; n++) {
        tracee_registers(o->t.pid, &r);
        const struct rf_minsn *i = rf_machine_at(&o->machine, r.rip);
        if (!i || i->op == M_RET) {
            t->what = LEFT;
            return;
        }
        const struct rf_moperand *m = byte_load(i);
        if (m) {
            uint64_t at = effective(&r, m);
            unsigned char byte = 0;
            if (at - fn->code_addr < fn->code.len) {
                look_at_returns(o, a, t);
                t->what = t->rp == a->rp ? FETCHED : MOVED;
                t->ip = (uint32_t)(at - fn->code_addr);
                return;
            }
            rf_read(&o->t.process->memory, at, &byte, 1);
            loaded = byte;
            any_load = true;
        }
        if (i->op == M_CALL) {
            if (!tracee_run_to(o->t.pid, r.rip + i->len, r.rsp))
                return;
            continue;
        }
        bool indirect = i->op == M_JMP && i->o[0].kind != M_IMM;
        if (!tracee_step(o->t.pid))
            return;
        if (!indirect)
            continue;
        tracee_registers(o->t.pid, &r);
        int op = opcode_of(o, r.rip);
        if (op < 0)
            continue;
        if (any_load && (int)loaded == op) {
            look_at_returns(o, a, t);
            t->what = MOVED;
            return;
        }
        t->prefetched = op;
    }
}

/* --- the account -------------------------------------------------------------------------------------------------- */

static uint32_t line_at(const struct rf_lambda *fn, uint32_t ip)
{
    struct rf_span span;
    if (fn->n_debug && ip <= fn->debug[0].offset)
        return fn->first_line;
    return rf_lambda_span(fn, ip, &span) ? span.line + 1u : 0;
}

/* Is what the decoder said what belongs to the instruction that ends at ip? The form itself, where it named one. */
static bool agrees(const struct rf_activation *a, uint32_t ip)
{
    struct rf_span span;
    if (a->line != line_at(a->fn, ip))
        return false;
    return !a->placed || (rf_lambda_span(a->fn, ip, &span) && memcmp(&span, &a->span, sizeof span) == 0);
}

/* The instruction in progress is the one whose byte is loaded next, or that ends there, or a jump that leads there;
 * after a call, the one that the return stack names; else a return. */
static bool is_right(const struct rf_activation *a, int32_t rp, const struct truth *t)
{
    const struct rf_lambda *fn = a->fn;
    if (t->what == MOVED && t->rp > rp)
        return agrees(a, t->back);
    if (t->what == FETCHED && t->ip == 0)
        return a->line == fn->first_line;
    if (t->what == FETCHED && agrees(a, t->ip))
        return true;
    for (size_t i = 0; i < fn->code.n; i++) {
        const struct rf_instruction *in = &fn->code.v[i];
        bool jump = t->what == FETCHED && (in->op == OP_JMP || in->op == OP_JMPF) && rf_code_target(in) == t->ip;
        if ((jump || (t->what != FETCHED && in->op == OP_RET)) && agrees(a, in->end))
            return true;
    }
    return false;
}

/* An error was raised and caught: the handler's address says nothing about where. */
static bool after_error(const struct answer *a, const struct truth *t)
{
    const struct rf_code *c = &a->a.fn->code;
    for (size_t i = 0; t->what == FETCHED && i < c->n; i++)
        if (c->v[i].op == OP_TRAP && rf_code_target(&c->v[i]) == t->ip)
            return true;
    return false;
}

static void print_sample(const struct oracle *o, const struct answer *a, const struct truth *t)
{
    static const char *const whats[] = {"nothing", "fetched", "moved", "left"};
    const struct rf_instruction *i = rf_code_ending(&a->a.fn->code, t->ip);
    fprintf(stderr,
            "%s+0x%llx below %s: said %.*s:%u (how %d), truth %s ip %u (%s) rp %d->%d back %u prefetched %d line %u; "
            "at %d ip %u ops 0x%llx\n",
            a->k ? "other" : "leaf", (unsigned long long)(a->pc - o->t.rt.interpreter), a->below ? a->below : "?",
            (int)a->a.fn->name.n, a->a.fn->name.s, a->a.line, (int)a->how, whats[t->what], t->ip,
            i ? rf_op_name(i->op) : "-", a->rp, t->rp, t->back, t->prefetched, line_at(a->a.fn, t->ip),
            (int)a->where.at, a->where.ip, (unsigned long long)a->where.ops);
}

static void open_all(struct oracle *o, pid_t pid)
{
    tracee_open(&o->t, pid);
    const struct rf_memory *live = &o->t.process->memory;
    o->names = rf_names_new(&o->t.rt);
    o->sources = rf_sources_new();
    o->lambdas = rf_lambdas_new(&o->t.rt, live, o->names, o->sources);
    o->slots = rf_slots_new(&o->t.rt, live);
    o->probe = (struct rf_probe){.rt = &o->t.rt, .lambdas = o->lambdas};
    unsigned char *code = malloc(o->t.rt.interpreter_size);
    if (!o->lambdas || !o->slots || !code || !rf_read(live, o->t.rt.interpreter, code, o->t.rt.interpreter_size) ||
        !rf_read(live, o->t.rt.dispatch, o->handler, 8 * (size_t)o->t.rt.opcodes) ||
        !rf_machine_decode(&o->machine, code, o->t.rt.interpreter_size, o->t.rt.interpreter))
        die("preparing");
    free(code);
}

int main(int argc, char **argv)
{
    static struct oracle o;
    struct tally tally[KINDS] = {{0}};
    unsigned want, open_truth = 0, n = 0;
    if (argc < 4)
        return 2;
    want = (unsigned)atoi(argv[2]);
    srand((unsigned)atoi(argv[3]));
    o.verbose = argc > 4;
    open_all(&o, (pid_t)atoi(argv[1]));
    for (unsigned tries = 0; n < want && tries < 40 * want; tries++) {
        struct answer a;
        struct truth t;
        nanosleep(&(struct timespec){.tv_nsec = 200000 + rand() % 6000000}, NULL);
        tracee_stop(&o.t);
        if (ask(&o, &a)) {
            find_truth(&o, &a, &t);
            if (t.what == NOTHING || after_error(&a, &t)) {
                open_truth++;
            } else {
                struct tally *y = &tally[a.how == RF_IP_PROLOGUE ? ENTRY : a.k ? CALLER : LEAF];
                bool right = a.a.line && is_right(&a.a, a.rp, &t);
                n++;
                y->samples++;
                y->right += right;
                y->function += a.a.line == 0;
                y->wrong += a.a.line && !right;
                if (o.verbose && !right)
                    print_sample(&o, &a, &t);
            }
        }
        ptrace(PTRACE_CONT, o.t.pid, 0, 0);
    }
    tracee_stop(&o.t);
    tracee_detach(&o.t);
    for (int k = 0; k < KINDS; k++)
        printf("%s %u %u %u %u\n", kinds[k], tally[k].samples, tally[k].right, tally[k].function, tally[k].wrong);
    printf("open %u\n", open_truth);
    return 0;
}
