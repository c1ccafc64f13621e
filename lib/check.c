/* check.c: what can be found out about a process without sampling it: what a user is told to run and to send. */
#include "rfprof.h"

#include "calibrate.h"
#include "image/debug.h"
#include "runtime.h"
#include "slots/slots.h"
#include "starting.h"

#include <stdarg.h>
#include <string.h>
#include <time.h>

enum { CALIBRATION_NS = 800000000 };
enum { LOOKS_AT_RUNNING = 20, LOOKS = 60, LOOK_NS = 10 * 1000000 }; /* for the owner of the VM */

struct report {
    struct rf_finding *v;
    size_t n, max;
};

static void __attribute__((format(printf, 4, 5)))
say(struct report *r, const char *name, enum rf_finding_state state, const char *fmt, ...)
{
    if (r->n == r->max)
        return;
    struct rf_finding *f = &r->v[r->n++];
    va_list ap;
    snprintf(f->name, sizeof f->name, "%s", name);
    va_start(ap, fmt);
    vsnprintf(f->value, sizeof f->value, fmt, ap);
    va_end(ap);
    f->state = state;
}

static void say_container(struct report *r, const struct rf_process *p)
{
    struct rf_container c;
    char pid[48] = "";
    if (!rf_process_container(p, &c))
        return;
    if (c.pid)
        snprintf(pid, sizeof pid, "pid %d in its own namespace, ", (int)c.pid);
    say(r, "container", RF_FINE, "%s%s", pid,
        c.mounts ? "mounts of its own"
        : c.root ? "a root directory of its own"
                 : "mounts as here");
}

static void say_build(struct report *r, const struct rf_image *image)
{
    const char *symbols = rf_image_symbols_in(image), *id = rf_image_build_id(image),
               *compiler = rf_image_comment(image);
    say(r, "file", RF_FINE, "%s%s", rf_image_path(image),
        rf_image_is_deleted(image) ? " (deleted or replaced since; what is mapped is used)" : "");
    say(r, "build-id", *id ? RF_FINE : RF_NOTE, "%s", *id ? id : "none");
    say(r, "compiler", RF_FINE, "%s", *compiler ? compiler : "not recorded");
    say(r, "symbols", symbols ? RF_FINE : RF_BAD, "%s", symbols ? symbols : "stripped: .dynsym only");
}

static void say_debug_info(struct report *r, const struct rf_image *image)
{
    const char *path = rf_image_dwarf_path(image);
    bool own = path && strcmp(path, rf_image_path(image)) == 0;
    say(r, "debug-info", RF_FINE, "%s%s", own ? "in the file" : path ? "in " : "none", path && !own ? path : "");
}

/* One look after the other, until a thread has `vm` in its thread-local __VM. Of those that have another there, the
 * last is in *tid and *own. */
static bool find_owner(struct rf_engine *engine, const struct rf_process *p, const struct rf_runtime *rt, pid_t *tid,
                       uint64_t *own)
{
    struct rf_snapshot *const *v;
    struct rf_error ignored;
    uint64_t vm;
    size_t n;
    for (unsigned look = 0; look < LOOKS; look++) {
        if (look == LOOKS_AT_RUNNING) /* it sleeps, then: all are stopped once, as for a dump */
            rf_engine_once(engine);
        else if (look > LOOKS_AT_RUNNING && !rf_engine_left(engine))
            break;
        if (rf_engine_tick(engine, &v, &n, &ignored) != RF_OK)
            break;
        for (size_t i = 0; i < n; i++) {
            if (!rf_thread_vm(rt, &p->memory, v[i]->fs_base, &vm) || !vm)
                continue;
            *tid = v[i]->tid;
            *own = vm;
            if (vm == rt->vm)
                return true;
        }
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    return false;
}

/* The thread that owns the VM has it in its thread-local __VM, too, on the releases of the catalog. Where that is takes
 * a register, so threads are stopped: those that happen to run, and where the owner is not among them, each once. */
static void say_vm(struct report *r, const struct rf_process *p, const struct rf_runtime *rt)
{
    struct rf_engine *engine = NULL;
    struct rf_error why = {0};
    struct rf_selector none = {NULL, NULL};
    unsigned long long own_vm, vm = rt->vm;
    uint64_t own = 0;
    pid_t owner = 0;
    if (rt->vm_in_tls) {
        say(r, "vm", RF_FINE, "thread-local");
        return;
    }
    if (!rt->has_vm_tls) {
        say(r, "vm", RF_FINE, "0x%llx (no thread-local __VM is exported)", vm);
        return;
    }
    bool same = rf_engine_open(&engine, p, &none, &why) == RF_OK && find_owner(engine, p, rt, &owner, &own);
    rf_engine_close(engine);
    own_vm = own;
    if (same)
        say(r, "vm", RF_FINE, "0x%llx, thread-local __VM of thread %d the same", vm, (int)owner);
    else if (owner)
        say(r, "vm", RF_BAD, "0x%llx, thread-local __VM of thread %d differs: 0x%llx", vm, (int)owner, own_vm);
    else
        say(r, "vm", RF_NOTE, "0x%llx (thread-local __VM not compared: no thread has one that could be read)", vm);
}

/* Of a build without optimisation the code alone tells less; nothing is said where lines are as sure as of releases. */
static void say_lines(struct report *r, const struct rf_process *p, const struct rf_runtime *rt)
{
    bool unknown = rt->layout.origin == RF_ORIGIN_DERIVED && !rf_image_dwarf_path(rt->image);
    struct rf_slots *s = unknown ? rf_slots_new(rt, &p->memory) : NULL;
    static const char next[] = "build with -g, or give the debug file with --debug-file";
    if (s && rf_slots_blind(s))
        say(r, "lines", RF_NOTE,
            rf_slots_tells(s) ? "the code was not optimised: of some functions the line may stay 0; for all lines %s"
                              : "none, functions only: code that was not optimised does not show them; %s",
            next);
    rf_slots_free(s);
}

static void say_runtime(struct report *r, const struct rf_process *p, const struct rf_runtime *rt, unsigned builtins)
{
    int32_t workers = 0, globals = 0;
    char layout[256];
    rf_calibration_describe(rt, layout, sizeof layout);
    bool waiting = rt->layout.origin == RF_ORIGIN_DERIVED && !rt->agreed;
    say(r, "layout", rt->off || waiting ? RF_NOTE : RF_FINE, "%s; fits the process: VM, globals and %u builtins agree",
        layout, builtins);
    say_lines(r, p, rt);
    rf_read_i32(&p->memory, rt->g_env + (uint64_t)rt->layout.env_count, &globals);
    say(r, "globals", RF_FINE, "%d", globals);
    say_vm(r, p, rt);
    rf_read_i32(&p->memory, rt->g_pool + (uint64_t)rt->layout.pool_workers, &workers);
    say(r, "threads", RF_FINE, "%u, of them %d pool worker%s", rf_process_threads(p), workers, workers == 1 ? "" : "s");
}

enum rf_status rf_check(pid_t pid, const struct rf_layout_options *layout, struct rf_finding *findings, size_t max,
                        size_t *n, struct rf_error *err)
{
    struct report r = {findings, 0, max};
    struct rf_process *p = NULL;
    struct rf_images *images = NULL;
    struct rf_runtime rt;
    enum rf_verdict verdict;
    unsigned builtins = 0;
    enum rf_status status = rf_process_open(&p, pid, err);
    if (status != RF_OK) {
        say(&r, status == RF_PERMISSION ? "permission" : "process", RF_BAD, "%s", err->what);
        goto out;
    }
    say(&r, "process", RF_FINE, "%d (%s)%s", (int)p->pid, p->comm, p->was_tid ? ", of which a thread was named" : "");
    if (rf_process_stopped(p))
        say(&r, "state", RF_NOTE, "it is stopped (SIGSTOP): kill -CONT %d", (int)p->pid);
    say_container(&r, p);
    say(&r, "permission", RF_FINE, "its memory can be read");
    status = rf_images_open(&images, p, err);
    if (status != RF_OK)
        goto out;
    const struct rf_image *image = rf_runtime_image(images);
    if (!image) {
        if (rf_starting_later(images, p)) {
            say(&r, "release", RF_NOTE, "none yet: a Python that has not imported rayforce; a recording waits for it");
            goto out;
        }
        status = rf_no_runtime(p, images, err);
        rf_hint_inner_pid(p->pid, err);
        say(&r, "release", RF_BAD, "none: no file mapped there has the symbols of a rayforce runtime");
        goto out;
    }
    say_build(&r, image);
    status = rf_layout_choose(&rt, image, layout, err);
    say_debug_info(&r, image);
    if (status == RF_OK) {
        say(&r, "release", RF_FINE, "%s, core %s", rt.layout.release, rt.version);
        status = rf_layout_validate(&rt, &p->memory, &builtins, err);
        if (status != RF_OK)
            rf_hint_starting(err);
    }
    if (status == RF_TARGET && rf_starting_later(images, p)) {
        say(&r, "vm", RF_NOTE, "none yet: the runtime is just being set up; a recording waits for it");
        status = RF_OK;
        goto out;
    }
    if (status == RF_OK)
        status = rf_calibrate_once(&rt, p, images, CALIBRATION_NS, &verdict, err);
    if (status == RF_OK)
        say_runtime(&r, p, &rt, builtins);
    else
        say(&r, "layout", RF_BAD, "%s", err->what);
out:
    rf_images_close(images);
    rf_process_close(p);
    *n = r.n;
    return status;
}
