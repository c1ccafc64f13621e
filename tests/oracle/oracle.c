/* oracle.c: how often is the decoder right about the instruction in progress? Stops a rayforce at random, asks the
 * decoder, then lets the thread run on until the interpreter itself says where it was: into the innermost interpreter
 * frame, and there step by step to its next load of a byte of the bytecode.
 *
 *   oracle PID SAMPLES SEED [-v]
 *
 * Prints for each kind of frame: samples, right lines, function only, wrong lines; and how many samples had no truth:
 * see tests/oracle/run. The target is single-stepped and gets breakpoints, so it must be one that was started for this.
 * With -v, what was not right is described on stderr. */
#include "image/image.h"
#include "rayfall/interpreter.h"
#include "slots/slots.h"
#include "target/copy.h"
#include "unwind/unwind.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

enum { STEPS_MAX = 3000, WAIT_MS = 3000 };

struct view {
    struct rf_memory memory;
    const struct rf_snapshot *s;
    const struct rf_memory *live;
};

struct oracle {
    pid_t pid;
    struct rf_process *process;
    struct rf_images *images;
    struct rf_runtime rt;
    struct rf_names *names;
    struct rf_sources *sources;
    struct rf_lambdas *lambdas;
    struct rf_slots *slots;
    struct rf_unwinder *unwinder;
    struct rf_machine machine;
    uint64_t handler[OP_COUNT];
    struct rf_snapshot *s;
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

static void die(const char *what)
{
    fprintf(stderr, "oracle: %s: %s\n", what, strerror(errno));
    exit(1);
}

static bool view_read(const struct rf_memory *m, uint64_t addr, void *to, size_t n)
{
    const struct view *v = (const struct view *)m;
    return rf_snapshot_read(&v->s->memory, addr, to, n) || rf_read(v->live, addr, to, n);
}

/* --- the thread ------------------------------------------------------------------------------------------------- */

static void registers(pid_t pid, struct user_regs_struct *r)
{
    struct iovec v = {r, sizeof *r};
    if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &v) != 0)
        die("PTRACE_GETREGSET");
}

static void set_pc(pid_t pid, uint64_t pc)
{
    struct user_regs_struct r;
    struct iovec v = {&r, sizeof r};
    registers(pid, &r);
    r.rip = pc;
    r.orig_rax = (unsigned long long)-1;
    if (ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &v) != 0)
        die("PTRACE_SETREGSET");
}

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits for a stop; signals that are not ours are passed on. False when the process is gone or nothing came in time. */
static bool wait_stop(pid_t pid, int request, int *sig)
{
    long end = now_ms() + WAIT_MS;
    for (;;) {
        int status;
        pid_t got = waitpid(pid, &status, __WALL | WNOHANG);
        if (got == pid) {
            if (!WIFSTOPPED(status))
                die("the target ended");
            *sig = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
            if (*sig == 0 || *sig == SIGTRAP)
                return true;
            ptrace((enum __ptrace_request)request, pid, 0, *sig);
        } else if (now_ms() > end) {
            ptrace(PTRACE_INTERRUPT, pid, 0, 0);
            end += WAIT_MS;
        } else if (request == PTRACE_CONT) {
            nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
        }
    }
}

static bool step(pid_t pid)
{
    int sig;
    if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) != 0)
        die("PTRACE_SINGLESTEP");
    return wait_stop(pid, PTRACE_SINGLESTEP, &sig) && sig == SIGTRAP;
}

/* Runs on until the thread is at pc with this stack pointer, by a breakpoint there. */
static bool run_to(pid_t pid, uint64_t pc, uint64_t sp)
{
    struct user_regs_struct r;
    int sig = 0;
    errno = 0;
    long word = ptrace(PTRACE_PEEKTEXT, pid, (void *)pc, 0);
    if (errno)
        die("PTRACE_PEEKTEXT");
    bool there = false;
    for (unsigned tries = 0; !there && tries < 20000; tries++) {
        ptrace(PTRACE_POKETEXT, pid, (void *)pc, (void *)((word & ~0xffl) | 0xcc));
        ptrace(PTRACE_CONT, pid, 0, 0);
        wait_stop(pid, PTRACE_CONT, &sig);
        ptrace(PTRACE_POKETEXT, pid, (void *)pc, (void *)word);
        registers(pid, &r);
        if (sig != SIGTRAP || r.rip != pc + 1)
            return false;
        set_pc(pid, pc);
        there = r.rsp == sp;
        if (!there && !step(pid)) /* the same call, in a frame further in */
            return false;
    }
    return there;
}

/* --- one sample --------------------------------------------------------------------------------------------------- */

static void keep(void *ctx, const struct rf_activation *a)
{
    ((struct answer *)ctx)->a = *a;
}

static uint64_t stack_top(struct oracle *o, uint64_t sp)
{
    const struct rf_map *m = rf_maps_at(rf_images_maps(o->images), sp);
    return m ? m->end : 0;
}

/* Takes a snapshot of the stopped thread and decodes it as far as its innermost interpreter frame. */
static bool ask(struct oracle *o, struct answer *out)
{
    union rf_arch_regs regs;
    struct iovec v = {&regs, sizeof regs};
    struct rf_native_stack native;
    struct rf_selector selector = {rf_probe_select, &o->probe};
    if (ptrace(PTRACE_GETREGSET, o->pid, (void *)NT_PRSTATUS, &v) != 0)
        die("PTRACE_GETREGSET");
    rf_arch_convert(&regs, o->s);
    o->s->tid = o->pid;
    o->s->main_thread = true;
    o->s->time_ns += 1000000000;
    rf_copy_stack(o->s, stack_top(o, o->s->reg[RF_RSP]), RF_STACK_MAX);
    rf_copy_blocks(o->s, &selector);
    rf_unwind(o->unwinder, o->s, &native);
    struct view view = {{view_read}, o->s, &o->process->memory};
    struct rf_interpreter in = {.rt = &o->rt,
                                .lambdas = o->lambdas,
                                .names = o->names,
                                .m = &view.memory,
                                .s = o->s,
                                .epoch = ++o->epoch,
                                .slots = o->slots};
    rf_names_refresh(o->names, &o->process->memory, o->s->time_ns);
    *out = (struct answer){.k = native.n};
    for (size_t k = native.n; native.end == RF_UNWIND_ROOT && k-- > 0;) {
        const struct rf_native *f = &native.frame[k];
        if (f->fn.addr != o->rt.interpreter || !f->fn.name)
            continue;
        size_t used = in.n_used;
        out->k = k;
        out->pc = f->pc;
        out->how = rf_interpreter_frame(&in, &native, k, keep, out);
        out->exec = in.n_used > used ? in.used[in.n_used - 1] : 0;
        struct rf_slots_frame sf = {.native = f, .snapshot = o->s, .leaf = k == 0};
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
        rf_read_i32(&o->process->memory, out->exec + (uint64_t)o->rt.layout.exec_rp, &out->rp);
    return out->k == 0 || run_to(o->pid, native.frame[out->k].pc, native.frame[out->k].sp);
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
    for (int i = 0; i < o->rt.opcodes && i < OP_COUNT; i++)
        if (o->handler[i] == handler)
            return i;
    return -1;
}

/* The return stack as it is now, against the stop. */
static void look_at_returns(const struct oracle *o, const struct answer *a, struct truth *t)
{
    const struct rf_memory *m = &o->process->memory;
    int32_t back = 0;
    t->rp = a->rp;
    rf_read_i32(m, a->exec + (uint64_t)o->rt.layout.exec_rp, &t->rp);
    if (t->rp > a->rp)
        rf_read_i32(m, a->exec + (uint64_t)o->rt.layout.exec_rs + 16 * (uint64_t)(t->rp - 1) + 12, &back);
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
        registers(o->pid, &r);
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
            rf_read(&o->process->memory, at, &byte, 1);
            loaded = byte;
            any_load = true;
        }
        if (i->op == M_CALL) {
            if (!run_to(o->pid, r.rip + i->len, r.rsp))
                return;
            continue;
        }
        bool indirect = i->op == M_JMP && i->o[0].kind != M_IMM;
        if (!step(o->pid))
            return;
        if (!indirect)
            continue;
        registers(o->pid, &r);
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

/* --- the account ----------------------------------------------------------------------------------------------------
 */

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
            a->k ? "other" : "leaf", (unsigned long long)(a->pc - o->rt.interpreter), a->below ? a->below : "?",
            (int)a->a.fn->name.n, a->a.fn->name.s, a->a.line, (int)a->how, whats[t->what], t->ip,
            i ? rf_op_name(i->op) : "-", a->rp, t->rp, t->back, t->prefetched, line_at(a->a.fn, t->ip),
            (int)a->where.at, a->where.ip, (unsigned long long)a->where.ops);
}

static void open_all(struct oracle *o)
{
    struct rf_error err;
    if (rf_process_open(&o->process, o->pid, &err) || rf_images_open(&o->images, o->process, &err) ||
        rf_layout_choose(&o->rt, rf_runtime_image(o->images), true, &err) ||
        rf_layout_validate(&o->rt, &o->process->memory, NULL, &err) ||
        rf_unwinder_open(&o->unwinder, o->images, &err)) {
        fprintf(stderr, "oracle: %s\n", err.what);
        exit(1);
    }
    const struct rf_memory *live = &o->process->memory;
    o->names = rf_names_new(&o->rt);
    o->sources = rf_sources_new();
    o->lambdas = rf_lambdas_new(&o->rt, live, o->names, o->sources);
    o->slots = rf_slots_new(&o->rt, live);
    o->s = rf_snapshot_new();
    o->probe = (struct rf_probe){&o->rt, o->lambdas};
    unsigned char *code = malloc(o->rt.interpreter_size);
    if (!o->lambdas || !o->slots || !o->s || !code || !rf_read(live, o->rt.interpreter, code, o->rt.interpreter_size) ||
        !rf_read(live, o->rt.dispatch, o->handler, 8 * (size_t)o->rt.opcodes) ||
        !rf_machine_decode(&o->machine, code, o->rt.interpreter_size, o->rt.interpreter))
        die("preparing");
    free(code);
}

int main(int argc, char **argv)
{
    static struct oracle o;
    struct tally tally[KINDS] = {{0}};
    unsigned want, open_truth = 0, n = 0;
    int sig;
    if (argc < 4)
        return 2;
    o.pid = (pid_t)atoi(argv[1]);
    want = (unsigned)atoi(argv[2]);
    srand((unsigned)atoi(argv[3]));
    o.verbose = argc > 4;
    open_all(&o);
    if (ptrace(PTRACE_SEIZE, o.pid, 0, 0) != 0)
        die("PTRACE_SEIZE");
    for (unsigned tries = 0; n < want && tries < 40 * want; tries++) {
        struct answer a;
        struct truth t;
        nanosleep(&(struct timespec){.tv_nsec = 200000 + rand() % 6000000}, NULL);
        ptrace(PTRACE_INTERRUPT, o.pid, 0, 0);
        wait_stop(o.pid, PTRACE_CONT, &sig);
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
        ptrace(PTRACE_CONT, o.pid, 0, 0);
    }
    ptrace(PTRACE_INTERRUPT, o.pid, 0, 0);
    wait_stop(o.pid, PTRACE_CONT, &sig);
    ptrace(PTRACE_DETACH, o.pid, 0, 0);
    for (int k = 0; k < KINDS; k++)
        printf("%s %u %u %u %u\n", kinds[k], tally[k].samples, tally[k].right, tally[k].function, tally[k].wrong);
    printf("open %u\n", open_truth);
    return 0;
}
