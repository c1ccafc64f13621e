/* choose.c: which layout fits the build that is mapped in the target: one that is known, else one that its debug
 * information describes, else one that is derived. */
#include "layout.h"

#include "image/debug.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

bool rf_image_is_rayforce(const struct rf_image *image)
{
    struct rf_symbol s;
    return rf_image_find(image, "__RUNTIME", &s) && rf_image_find(image, "g_env", &s);
}

const struct rf_image *rf_runtime_image(const struct rf_images *images)
{
    for (size_t i = 0; i < rf_images_count(images); i++)
        if (rf_image_is_rayforce(rf_images_get(images, i)))
            return rf_images_get(images, i);
    return NULL;
}

/* ray_version_string is "lea disp32(%rip),%rax; ret", with endbr64 before it on some builds (internals §8), and with a
 * frame of its own where it was not optimised. */
static void read_version(const struct rf_image *image, char *out, size_t size)
{
    static const unsigned char lea[3] = {0x48, 0x8d, 0x05};
    enum { PROLOGUE_MOST = 8 }; /* endbr64; push %rbp; mov %rsp,%rbp */
    struct rf_symbol s;
    unsigned char code[PROLOGUE_MOST + 8];
    int32_t disp;
    out[0] = 0;
    if (!rf_image_find(image, "ray_version_string", &s) || !rf_image_read(image, s.addr, code, sizeof code))
        return;
    const unsigned char *found = memmem(code, PROLOGUE_MOST + sizeof lea, lea, sizeof lea);
    if (!found)
        return;
    size_t at = (size_t)(found - code);
    memcpy(&disp, code + at + sizeof lea, sizeof disp);
    uint64_t text = s.addr + at + sizeof lea + sizeof disp + (uint64_t)(int64_t)disp;
    size_t n = 0;
    while (n + 1 < size && rf_image_read(image, text + n, out + n, 1) && out[n] >= ' ' && out[n] < 0x7f)
        n++;
    out[n] = 0;
}

/* The dispatch table's name is the compiler's choice: dispatch.N (gcc) or vm_exec*.dispatch (clang). */
static bool is_dispatch(const char *name)
{
    if (strncmp(name, "dispatch.", 9) == 0)
        return true;
    const char *dot = strchr(name, '.');
    return strncmp(name, "vm_exec", 7) == 0 && dot && strcmp(dot, ".dispatch") == 0;
}

static bool visit(void *ctx, const struct rf_symbol *s)
{
    struct rf_runtime *rt = ctx;
    if (s->type == STT_OBJECT && is_dispatch(s->name) && s->size >= 8) {
        rt->dispatch = s->addr;
        rt->opcodes = (int32_t)(s->size / 8);
    } else if (s->type == STT_FUNC && strncmp(s->name, "vm_exec", 7) == 0 && !strstr(s->name, ".cold") &&
               s->size > rt->interpreter_size) {
        size_t n = rf_symbol_base(s->name);
        rt->interpreter = s->addr;
        rt->interpreter_size = s->size;
        snprintf(rt->layout.interpreter, sizeof rt->layout.interpreter, "%.*s", (int)n, s->name);
    }
    return true;
}

static bool find(const struct rf_image *image, const char *name, uint64_t *addr, uint64_t *size, struct rf_error *err)
{
    struct rf_symbol s;
    if (!rf_image_find(image, name, &s)) {
        rf_fail(err, RF_TARGET, 0, "%s: no symbol %s", rf_image_path(image), name);
        rf_hint(err, "%s",
                rf_image_has_symtab(image) ? "not a build of rayforce 2.x"
                                           : "the file is stripped: run the executable as it was released");
        return false;
    }
    *addr = s.addr;
    *size = s.size;
    return true;
}

/* Symbols that every 2.x build has; sizes are part of the fingerprint. */
static enum rf_status resolve(struct rf_runtime *rt, struct rf_error *err)
{
    const struct rf_image *image = rt->image;
    uint64_t size, env, sym, pool, memsz, align;
    if (!find(image, "__RUNTIME", &rt->runtime, &size, err) || !find(image, "g_env", &rt->g_env, &env, err) ||
        !find(image, "g_sym", &rt->g_sym, &sym, err) || !find(image, "g_pool", &rt->g_pool, &pool, err) ||
        !find(image, "ray_parallel_flag", &rt->parallel_flag, &size, err))
        return RF_TARGET;
    rf_image_each_symbol(image, visit, rt);
    if (!rt->interpreter || !rt->dispatch) {
        rf_fail(err, RF_TARGET, 0, "%s: no symbol %s", rf_image_path(image),
                rt->interpreter ? "for the dispatch table" : "for the interpreter (vm_exec...)");
        rf_hint(err, "this build of rayforce is not known");
        return RF_TARGET;
    }
    /* The executable's TLS block ends at fs_base (x86-64 TLS variant II); where a shared object's is, only the process
     * knows. */
    struct rf_symbol vm;
    if (rf_image_is_executable(image) && rf_image_tls(image, &memsz, &align) && align)
        rt->tls_size = (memsz + align - 1) / align * align;
    rt->has_vm_tls = rf_image_find(image, "__VM", &vm) && vm.type == STT_TLS;
    rt->vm_tls = rt->has_vm_tls ? vm.addr : 0;
    struct rf_layout *found = &rt->layout;
    found->opcodes = rt->opcodes;
    found->size_interpreter = (int32_t)rt->interpreter_size;
    found->size_g_env = (int32_t)env;
    found->size_g_sym = (int32_t)sym;
    found->size_g_pool = (int32_t)pool;
    return RF_OK;
}

static bool has_build_id(const struct rf_layout *l, const char *id)
{
    for (unsigned i = 0; i < RF_LAYOUT_IDS; i++)
        if (*id && strcmp(l->build_id[i], id) == 0)
            return true;
    return false;
}

/* Same version and same sizes of everything whose layout is in the catalog. The interpreter's size is left out: the
 * same source built with other flags has the same structs. */
static bool same_fingerprint(const struct rf_layout *l, const struct rf_layout *found, const char *version)
{
    return strcmp(l->core, version) == 0 && l->opcodes == found->opcodes && l->size_g_env == found->size_g_env &&
           l->size_g_sym == found->size_g_sym && l->size_g_pool == found->size_g_pool;
}

/* The entry of this build, else one of the same fingerprint. Leaves origin as it is when there is neither. */
static bool look_up(struct rf_layout *out, const struct rf_layout *found, const char *id, const char *version,
                    struct rf_error *err)
{
    struct rf_layout entry;
    unsigned line;
    for (const char *const *text = rf_catalog; *text; text++) {
        if (!rf_layout_parse(&entry, *text, &line)) {
            rf_fail(err, RF_FAILURE, 0, "the catalog is damaged: entry '%s', line %u", entry.release, line);
            return false;
        }
        if (has_build_id(&entry, id)) {
            *out = entry;
            out->origin = RF_ORIGIN_BUILD_ID;
            return true;
        }
        if (!out->origin && same_fingerprint(&entry, found, version)) {
            *out = entry;
            out->origin = RF_ORIGIN_FINGERPRINT;
        }
    }
    return true;
}

/* Thread-local fields can be placed in the executable only: where a shared object's block is, the dtv alone knows. */
static void settle_vm(struct rf_runtime *rt)
{
    struct rf_layout *l = &rt->layout;
    rt->vm_in_tls = strcmp(l->vm_via, "tls") == 0;
    if (rt->vm_in_tls && !rt->tls_size)
        l->vm_eval_depth = l->vm_scope_depth = l->vm_nfo = l->vm_ipc_handle = RF_UNKNOWN;
    if (l->vm_nfo == RF_UNKNOWN)
        rt->off |= RF_OFF_SOURCE;
    if (l->vm_ipc_handle == RF_UNKNOWN)
        rt->off |= RF_OFF_CLIENTS;
}

static enum rf_status find_debug_info(const struct rf_image *image, const struct rf_layout_options *o,
                                      struct rf_error *err)
{
    enum rf_status status = o->debug_file ? rf_image_use_debug_file(image, o->debug_file, err) : RF_OK;
    if (status == RF_OK && o->debuginfod)
        status = rf_image_ask_debuginfod(image, err);
    return status;
}

enum rf_status rf_layout_choose(struct rf_runtime *rt, const struct rf_image *image, const struct rf_layout_options *o,
                                struct rf_error *err)
{
    static const struct rf_layout_options defaults;
    struct rf_layout known = {0};
    const struct rf_layout *found = &rt->layout;
    const char *id = rf_image_build_id(image);
    bool whole = false;
    o = o ? o : &defaults;
    memset(rt, 0, sizeof *rt);
    rt->image = image;
    if (resolve(rt, err) != RF_OK)
        return RF_TARGET;
    read_version(image, rt->version, sizeof rt->version);
    enum rf_status status = find_debug_info(image, o, err);
    if (status != RF_OK)
        return status;
    if (!o->no_catalog && !look_up(&known, found, id, rt->version, err))
        return RF_FAILURE;
    if (known.origin != RF_ORIGIN_BUILD_ID) {
        whole = !o->no_debug_info && rf_layout_from_debug(rt);
        if (!whole)
            status = rf_layout_derive(rt, &whole, err);
    }
    if (known.origin && !whole) {
        rt->layout = known;
        rt->off = rt->n_stacks = 0;
        status = RF_OK;
    }
    if (status == RF_OK)
        settle_vm(rt);
    else
        rf_hint(err, "found: version '%s', build-id %s, %d opcodes, g_env %d, g_sym %d, g_pool %d bytes", rt->version,
                *id ? id : "none", found->opcodes, found->size_g_env, found->size_g_sym, found->size_g_pool);
    return status;
}

void rf_layout_describe(const struct rf_layout *l, char *out, size_t n)
{
    static const char *const by[] = {"none", "build-id", "fingerprint"};
    if (l->origin == RF_ORIGIN_DERIVED)
        snprintf(out, n, "derived from the code");
    else if (l->origin == RF_ORIGIN_DEBUG_INFO)
        snprintf(out, n, "debug info");
    else
        snprintf(out, n, "catalog %s, by %s", l->release, by[l->origin]);
}

const char *rf_layout_origin(const struct rf_layout *l)
{
    static const char *const name[] = {[RF_ORIGIN_NONE] = "none",
                                       [RF_ORIGIN_BUILD_ID] = "catalog",
                                       [RF_ORIGIN_FINGERPRINT] = "catalog",
                                       [RF_ORIGIN_DEBUG_INFO] = "debug-info",
                                       [RF_ORIGIN_DERIVED] = "code"};
    return name[l->origin];
}

const char *rf_off_name(unsigned bit)
{
    static const char *const names[RF_OFF_COUNT] = {"lines of compiled code", "callers", "lines of text that is walked",
                                                    "clients"};
    return names[bit];
}

enum rf_status rf_layout_of_file(const char *path, const struct rf_layout_options *o, FILE *to, struct rf_error *err)
{
    struct rf_layout_options without = o ? *o : (struct rf_layout_options){.no_catalog = true};
    struct rf_image *image;
    struct rf_runtime rt;
    enum rf_status status = rf_image_open_file(&image, path, err);
    without.no_catalog = true;
    if (status != RF_OK)
        return status;
    if (!rf_image_is_rayforce(image)) {
        status = rf_fail(err, RF_TARGET, 0, "%s holds no rayforce runtime", path);
        rf_hint(err, "it does not define __RUNTIME and g_env%s", rf_image_has_symtab(image) ? "" : ": it is stripped");
    } else {
        status = rf_layout_choose(&rt, image, &without, err);
    }
    if (status == RF_OK && rt.layout.origin == RF_ORIGIN_DEBUG_INFO)
        fprintf(to, "# From debug information.\n");
    else if (status == RF_OK)
        fprintf(to, "# Derived from the machine code.\n");
    if (status == RF_OK)
        rf_layout_write(&rt.layout, to);
    rf_image_close_file(image);
    return status;
}
