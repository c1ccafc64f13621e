/* dwarf.c: the layout of a build that has debug information, from the types that it describes.
 *
 * Types and variables are looked for by name in the units of three functions: of the interpreter (execution block, VM,
 * opcodes), of the global environment and of the pool; so no index of the whole program is needed. Names are those of
 * the engine (eval.h, runtime.h, env.c and pool.h of core 2.5.12). What is not a type, the number of slots of a
 * function object, is read from the code as in derive.c. */
#include "derive.h"
#include "image/debug.h"
#include "rayfall/code.h"

#include <dwarf.h>
#include <elf.h>
#include <string.h>

enum { IMPORTS_MAX = 4, ENV_KEY = 8 };
/* A unit of the engine has some thousand entries, a struct some dozen members. Files may say anything. */
enum { ENTRIES_MAX = 200000, MEMBERS_MAX = 4096 };

struct member {
    const char *name;
    size_t at; /* in struct rf_layout */
};

#define AT(member) offsetof(struct rf_layout, member)
static const struct member exec_members[] = {
    {"sp", AT(exec_sp)}, {"fp", AT(exec_fp)}, {"rp", AT(exec_rp)}, {"fn", AT(exec_fn)},
    {"tp", AT(exec_tp)}, {"ps", AT(exec_ps)}, {"rs", AT(exec_rs)}, {NULL, 0},
};
static const struct member vm_members[] = {
    {"eval_depth", AT(vm_eval_depth)},
    {"scope_depth", AT(vm_scope_depth)},
    {"nfo", AT(vm_nfo)},
    {"ipc_handle", AT(vm_ipc_handle)},
    {NULL, 0},
};
static const struct member env_members[] = {
    {"vals", AT(env_vals)}, {"user", AT(env_user)}, {"count", AT(env_count)}, {NULL, 0}};
static const struct member pool_members[] = {{"n_workers", AT(pool_workers)},
                                             {"task_claim", AT(pool_task_claim)},
                                             {"task_limit", AT(pool_task_limit)},
                                             {NULL, 0}};
#undef AT

/* --- types ------------------------------------------------------------------------------------------------- */

static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
    Dwarf_Attribute attribute;
    Dwarf_Die named;
    return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), &named) &&
           dwarf_peel_type(&named, type) == 0;
}

/* A top-level entry by name: one of these tags. dwz moves what several units share into units that they import. left:
 * how many more entries are looked at. */
static bool find_named(Dwarf_Die *unit, const char *name, int tag, int or_tag, unsigned imports, unsigned *left,
                       Dwarf_Die *out)
{
    Dwarf_Die die, imported;
    Dwarf_Attribute attribute;
    if (dwarf_child(unit, &die) != 0)
        return false;
    do {
        const char *is = dwarf_diename(&die);
        if ((dwarf_tag(&die) == tag || dwarf_tag(&die) == or_tag) && is && strcmp(is, name) == 0 &&
            !dwarf_hasattr(&die, DW_AT_declaration)) {
            *out = die;
            return true;
        }
        if (imports && dwarf_tag(&die) == DW_TAG_imported_unit &&
            dwarf_formref_die(dwarf_attr(&die, DW_AT_import, &attribute), &imported) &&
            find_named(&imported, name, tag, or_tag, imports - 1, left, out))
            return true;
    } while (*left && --*left && dwarf_siblingof(&die, &die) == 0);
    return false;
}

/* The struct that a name of the unit stands for: a typedef's, a variable's, or its own. */
static bool find_struct(Dwarf_Die *unit, const char *name, int tag, Dwarf_Die *out)
{
    Dwarf_Die die;
    unsigned left = ENTRIES_MAX;
    if (!find_named(unit, name, tag, DW_TAG_structure_type, IMPORTS_MAX, &left, &die))
        return false;
    *out = die;
    return dwarf_tag(&die) == DW_TAG_structure_type || (type_of(&die, out) && dwarf_tag(out) == DW_TAG_structure_type);
}

static bool member_offset(Dwarf_Die *type, const char *name, int32_t *offset)
{
    Dwarf_Die die;
    Dwarf_Attribute attribute;
    Dwarf_Word at = 0;
    unsigned left = MEMBERS_MAX;
    if (dwarf_child(type, &die) != 0)
        return false;
    do {
        const char *is = dwarf_diename(&die);
        if (dwarf_tag(&die) != DW_TAG_member || !is || strcmp(is, name) != 0)
            continue;
        if (dwarf_formudata(dwarf_attr(&die, DW_AT_data_member_location, &attribute), &at) != 0 || at > INT32_MAX)
            return false;
        *offset = (int32_t)at;
        return true;
    } while (--left && dwarf_siblingof(&die, &die) == 0);
    return false;
}

/* True when all members were found; those that were not stay unknown. */
static bool read_members(struct rf_layout *l, Dwarf_Die *type, const struct member *m)
{
    bool all = true;
    for (; m->name; m++) {
        int32_t offset = RF_UNKNOWN;
        all = member_offset(type, m->name, &offset) && all;
        memcpy((char *)l + m->at, &offset, sizeof offset);
    }
    return all;
}

static int32_t size_of(Dwarf_Die *type)
{
    int n = dwarf_bytesize(type);
    return n > 0 ? n : RF_UNKNOWN;
}

/* --- parts --------------------------------------------------------------------------------------------------- */

/* The unit of the first of these functions that the image has. */
static bool unit_of(const struct rf_runtime *rt, const char *const *functions, Dwarf_Die *unit)
{
    Dwarf *debug = rf_image_dwarf(rt->image);
    struct rf_symbol s;
    for (; debug && *functions; functions++)
        if (rf_image_find_base(rt->image, *functions, STT_FUNC, &s) &&
            rf_dwarf_unit_at(debug, s.addr - rf_image_bias(rt->image), unit))
            return true;
    return false;
}

static bool read_exec(struct rf_layout *l, Dwarf_Die *unit)
{
    Dwarf_Die type;
    /* Before 2.0.1 the type of the same purpose was called as the VM is now. */
    if (!find_struct(unit, "ray_exec_t", DW_TAG_typedef, &type) &&
        !find_struct(unit, "ray_vm_t", DW_TAG_typedef, &type))
        return false;
    if (!read_members(l, &type, exec_members) || (l->exec_size = size_of(&type)) == RF_UNKNOWN)
        return false;
    l->exec_order = rf_derive_order(l->exec_size);
    return true;
}

/* A unit describes the types that its own variables have. */
static void read_vm(struct rf_runtime *rt, Dwarf_Die *unit)
{
    static const char *const functions[] = {"ray_vm_init", "ray_eval_get_nfo", NULL};
    struct rf_layout *l = &rt->layout;
    Dwarf_Die type, other;
    bool found = find_struct(unit, "ray_vm_t", DW_TAG_typedef, &type) ||
                 (unit_of(rt, functions, &other) && find_struct(&other, "ray_vm_t", DW_TAG_typedef, &type));
    if (found && read_members(l, &type, vm_members))
        snprintf(l->vm_via, sizeof l->vm_via, "runtime");
    else
        rf_derive_vm(rt);
}

static bool read_env(const struct rf_runtime *rt, struct rf_layout *l)
{
    static const char *const functions[] = {"ray_env_resolve", "ray_env_set", "ray_env_scope_depth", NULL};
    Dwarf_Die unit, type;
    int32_t keys;
    if (!unit_of(rt, functions, &unit) || !find_struct(&unit, "g_env", DW_TAG_variable, &type) ||
        size_of(&type) != l->size_g_env || !member_offset(&type, "keys", &keys) || keys != 0 ||
        !read_members(l, &type, env_members))
        return false;
    l->env_max = l->env_vals / ENV_KEY; /* the keys come first, up to the values */
    return l->env_max > 0;
}

static void read_pool(struct rf_runtime *rt)
{
    static const char *const functions[] = {"worker_loop", "ray_pool_dispatch", "ray_pool_dispatch_n", NULL};
    struct rf_layout *l = &rt->layout;
    Dwarf_Die unit, type;
    bool found = unit_of(rt, functions, &unit) && find_struct(&unit, "g_pool", DW_TAG_variable, &type) &&
                 size_of(&type) == l->size_g_pool;
    if (found)
        read_members(l, &type, pool_members);
    if (!found || l->pool_workers == RF_UNKNOWN)
        rf_derive_pool(rt);
}

/* --- opcodes -------------------------------------------------------------------------------------------------- */

static bool says_otherwise(Dwarf_Die *enumerator)
{
    static const char prefix[] = "OP_";
    Dwarf_Attribute attribute;
    Dwarf_Sword value = 0;
    const char *name = dwarf_diename(enumerator);
    if (!name || strncmp(name, prefix, sizeof prefix - 1) != 0 ||
        dwarf_formsdata(dwarf_attr(enumerator, DW_AT_const_value, &attribute), &value) != 0)
        return false;
    for (int op = 0; op < OP_COUNT; op++)
        if (strcmp(rf_op_name((enum rf_op)op), name + sizeof prefix - 1) == 0)
            return value != op;
    return false;
}

/* Is there an opcode that has another number than the one we know it by? The enumeration has OP_RET in it. Where *left
 * became 0 not all was looked at, and false says nothing. */
static bool opcodes_differ(Dwarf_Die *unit, unsigned imports, unsigned *left)
{
    Dwarf_Die die, enumerator;
    Dwarf_Attribute attribute;
    if (dwarf_child(unit, &die) != 0)
        return false;
    do {
        if (imports && dwarf_tag(&die) == DW_TAG_imported_unit &&
            dwarf_formref_die(dwarf_attr(&die, DW_AT_import, &attribute), &enumerator) &&
            opcodes_differ(&enumerator, imports - 1, left))
            return true;
        if (dwarf_tag(&die) != DW_TAG_enumeration_type || dwarf_child(&die, &enumerator) != 0)
            continue;
        const char *first = dwarf_diename(&enumerator);
        if (!first || strcmp(first, "OP_RET") != 0)
            continue;
        do {
            if (says_otherwise(&enumerator))
                return true;
        } while (*left && --*left && dwarf_siblingof(&enumerator, &enumerator) == 0);
    } while (*left && --*left && dwarf_siblingof(&die, &die) == 0);
    return false;
}

bool rf_layout_from_debug(struct rf_runtime *rt)
{
    struct rf_layout before = rt->layout, *l = &rt->layout;
    Dwarf *debug = rf_image_dwarf(rt->image);
    Dwarf_Die unit;
    unsigned left = ENTRIES_MAX;
    if (!debug || !rf_dwarf_unit_at(debug, rt->interpreter - rf_image_bias(rt->image), &unit) || !read_exec(l, &unit) ||
        !read_env(rt, l)) {
        *l = before;
        return false;
    }
    l->origin = RF_ORIGIN_DEBUG_INFO;
    rf_derive_identity(rt);
    read_vm(rt, &unit);
    read_pool(rt);
    rf_derive_lambda(rt);
    if (opcodes_differ(&unit, IMPORTS_MAX, &left) || !left)
        rt->off |= RF_OFF_LINES | RF_OFF_CALLERS;
    return true;
}
