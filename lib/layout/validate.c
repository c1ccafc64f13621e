/* validate.c: does a layout fit the live process? What can be asked without running frames is asked here, before the
 * first sample; what needs them (exec blocks, return stacks) is asked of the first samples. */
#include "layout.h"

#include "rayfall/object.h"
#include "rayfall/text.h"
#include "target/pages.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* A runtime that is up has at least 249 builtins (2.0.0); a few may have been redefined by user code. */
enum { BUILTINS_MIN = 100, DEPTH_MAX = 512, EXEC_LOOK = 512, CODE_LOOK = 4096, SLOTS_MOST = 12 };

static enum rf_status disagree(const struct rf_runtime *rt, struct rf_error *err, const char *what)
{
    char layout[64];
    rf_layout_describe(&rt->layout, layout, sizeof layout);
    rf_fail(err, RF_TARGET, 0, "the layout (%s) does not fit the process: %s", layout, what);
    rf_hint(err, "found: version '%s', build-id %s, %d opcodes", rt->version, rf_image_build_id(rt->image),
            rt->opcodes);
    return RF_TARGET;
}

/* Somewhere in its code a function asks ray_alloc for so many bytes: "mov $size,%edi" (seen on all releases). */
static bool allocates(const struct rf_runtime *rt, uint64_t function, uint64_t code_size, int32_t size)
{
    unsigned char code[CODE_LOOK], want[5] = {0xbf};
    size_t n = code_size < sizeof code ? (size_t)code_size : sizeof code;
    memcpy(want + 1, &size, 4);
    return rf_image_read(rt->image, function, code, n) && memmem(code, n, want, sizeof want) != NULL;
}

/* Does ray_fn make functions with another number of slots? One that leaves it to a helper says nothing. */
static bool other_slots(const struct rf_runtime *rt, int32_t slots)
{
    struct rf_symbol fn;
    bool other = false;
    if (slots == RF_UNKNOWN || !rf_image_find(rt->image, "ray_fn", &fn) || allocates(rt, fn.addr, fn.size, 8 * slots))
        return false;
    for (int32_t n = LAMBDA_SLOTS; n <= SLOTS_MOST; n++)
        other = other || allocates(rt, fn.addr, fn.size, 8 * n);
    return other;
}

static bool has_size(const struct rf_runtime *rt, const char *symbol, int32_t size)
{
    struct rf_symbol s;
    return !rf_image_find(rt->image, symbol, &s) || s.size == (uint64_t)size;
}

/* What the file says. A layout that was read from there need not be asked again. */
static enum rf_status check_file(const struct rf_runtime *rt, struct rf_error *err)
{
    const struct rf_layout *l = &rt->layout;
    if (rt->opcodes != l->opcodes)
        return disagree(rt, err, "the dispatch table has another number of opcodes");
    if (l->origin == RF_ORIGIN_DERIVED || l->origin == RF_ORIGIN_DEBUG_INFO)
        return RF_OK;
    if (!allocates(rt, rt->interpreter, EXEC_LOOK, l->exec_size))
        return disagree(rt, err, "the interpreter does not allocate an exec block of this size");
    if (!has_size(rt, "g_env", l->size_g_env) || !has_size(rt, "g_sym", l->size_g_sym) ||
        !has_size(rt, "g_pool", l->size_g_pool))
        return disagree(rt, err, "a global has another size");
    if (other_slots(rt, l->lambda_slots))
        return disagree(rt, err, "functions are not allocated with so many slots");
    return RF_OK;
}

static bool depth_makes_sense(const struct rf_runtime *rt, const struct rf_memory *live, int32_t field)
{
    int32_t depth;
    return field == RF_UNKNOWN ||
           (rf_read_i32(live, rf_vm_field(rt, 0, field), &depth) && depth >= 0 && depth <= DEPTH_MAX);
}

static enum rf_status check_vm(struct rf_runtime *rt, const struct rf_memory *live, struct rf_error *err)
{
    const struct rf_layout *l = &rt->layout;
    uint64_t runtime, vms, nfo;
    int32_t n;
    int64_t handle;
    struct rf_obj o;
    if (!rf_read_u64(live, rt->runtime, &runtime) || !runtime)
        return disagree(rt, err, "__RUNTIME is not set: the runtime is not up");
    if (rt->vm_in_tls) /* of which thread, and where, is known when one is stopped */
        return RF_OK;
    if (!rf_read_u64(live, runtime, &vms) || !rf_read_i32(live, runtime + 8, &n) || n != 1 ||
        !rf_read_u64(live, vms, &rt->vm) || !rt->vm)
        return disagree(rt, err, "__RUNTIME holds no VM");
    if (!depth_makes_sense(rt, live, l->vm_eval_depth) || !depth_makes_sense(rt, live, l->vm_scope_depth))
        return disagree(rt, err, "the VM's depths make no sense");
    if (l->vm_ipc_handle != RF_UNKNOWN &&
        (!rf_read(live, rf_vm_field(rt, 0, l->vm_ipc_handle), &handle, sizeof handle) || handle < -1))
        return disagree(rt, err, "the VM's client handle makes no sense");
    if (l->vm_nfo != RF_UNKNOWN && (!rf_read_u64(live, rf_vm_field(rt, 0, l->vm_nfo), &nfo) ||
                                    (nfo && (!rf_obj_vector(live, nfo, RAY_LIST, 4, &o) || o.len != 4))))
        return disagree(rt, err, "the VM's source information is none");
    return RF_OK;
}

/* One global: if it is a builtin, its C entry must be the start of a function and its inline name (13 characters at
 * most) that of the global, unless user code gave it another. Returns 1 for a sound builtin, 0 for another value, -1
 * for one that disagrees. */
static int check_global(const struct rf_runtime *rt, const struct rf_memory *live, int64_t key, uint64_t value,
                        bool user)
{
    unsigned char h[RAY_HEADER];
    uint64_t native;
    struct rf_symbol fn;
    struct rf_text name;
    if (!rf_obj_plausible(value) || !rf_read(live, value, h, sizeof h))
        return -1;
    if ((int8_t)h[RAY_TYPE] < RAY_UNARY || (int8_t)h[RAY_TYPE] > RAY_VARY)
        return 0;
    memcpy(&native, h + RAY_NATIVE, sizeof native);
    if (!rf_image_function_at(rt->image, native, &fn) || fn.addr != native)
        return -1;
    if (user)
        return 0;
    if (!rf_symbol_read(live, rt, key, &name))
        return -1;
    h[RAY_MMOD] = 0; /* the inline name may fill its field: this byte behind it becomes its end */
    const char *inlined = (const char *)h + RAY_INLINE_NAME;
    size_t n = strlen(inlined);
    bool same = n <= name.n && memcmp(inlined, name.s, n) == 0 && (n == name.n || n == 13);
    free((char *)name.s);
    return same ? 1 : -1;
}

static enum rf_status check_globals(const struct rf_runtime *rt, const struct rf_memory *live, unsigned *builtins,
                                    struct rf_error *err)
{
    const struct rf_layout *l = &rt->layout;
    int32_t count;
    unsigned bad = 0;
    *builtins = 0;
    if (!rf_read_i32(live, rt->g_env + (uint64_t)l->env_count, &count) || count < 1 || count > l->env_max)
        return disagree(rt, err, "the global environment has no sensible size");
    for (uint64_t i = 0; i < (uint64_t)count; i++) {
        int64_t key;
        uint64_t value;
        unsigned char user;
        if (!rf_read(live, rt->g_env + 8 * i, &key, sizeof key) ||
            !rf_read_u64(live, rt->g_env + (uint64_t)l->env_vals + 8 * i, &value) ||
            !rf_read(live, rt->g_env + (uint64_t)l->env_user + i, &user, 1))
            return disagree(rt, err, "the global environment cannot be read");
        int r = check_global(rt, live, key, value, user);
        *builtins += r > 0;
        bad += r < 0;
    }
    /* A global that is being replaced at this moment may look wrong. */
    if (bad > 4 || *builtins < BUILTINS_MIN)
        return disagree(rt, err, "the builtins in the global environment are not where they should be");
    return RF_OK;
}

bool rf_thread_vm(const struct rf_runtime *rt, const struct rf_memory *m, uint64_t fs_base, uint64_t *vm)
{
    uint64_t at;
    *vm = 0;
    return rt->has_vm_tls && rf_tls_at(&rt->tls, m, fs_base, rt->vm_tls, &at) && (!at || rf_read_u64(m, at, vm));
}

enum rf_status rf_layout_validate(struct rf_runtime *rt, const struct rf_memory *live, unsigned *builtins,
                                  struct rf_error *err)
{
    unsigned n = 0;
    rt->tls = rf_tls_of(rt->image, live);
    enum rf_status s = check_file(rt, err);
    if (s == RF_OK)
        s = check_vm(rt, live, err);
    if (s == RF_OK) {
        struct rf_pages pages;
        rf_pages_open(&pages, live);
        s = check_globals(rt, &pages.memory, &n, err);
        rf_pages_close(&pages);
    }
    if (builtins)
        *builtins = n;
    return s;
}
