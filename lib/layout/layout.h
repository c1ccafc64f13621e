/* layout.h: the shapes of rayforce's structs in one build, as named numbers with their origin.
 *
 * A layout is data: text lines "name value" as the catalog stores them (lib/layout/catalog/, one file a release),
 * parsed by one function and checked by one validator whatever its origin. The object model (header, type
 * codes, strings, symbols, nfo, spans) never changed from 2.0.0 to 2.4.0 and stands in rayfall/object.h; what
 * stands here did change. Source of the numbers: the disassembly of each release, confirmed on live processes. */
#ifndef RF_LAYOUT_H
#define RF_LAYOUT_H

#include "../image/tls.h"

enum rf_origin {
    RF_ORIGIN_NONE,
    RF_ORIGIN_BUILD_ID,
    RF_ORIGIN_FINGERPRINT,
    RF_ORIGIN_DEBUG_INFO,
    RF_ORIGIN_DERIVED,
};

enum { RF_LAYOUT_IDS = 4, RF_STACKS_MAX = 4 };
/* A number that could not be established: "unknown" in the text form. Only where the comment says "may be unknown". */
enum { RF_UNKNOWN = -1 };

/* What an unknown build is profiled without; rf_off_name names each bit. */
enum rf_off {
    RF_OFF_LINES = 1,   /* of compiled code: the function is known, its line is not */
    RF_OFF_CALLERS = 2, /* functions that called within one run of the interpreter */
    RF_OFF_SOURCE = 4,  /* which text is in force: lines of text that is walked and not compiled */
    RF_OFF_CLIENTS = 8, /* whether a client is served */
};
enum { RF_OFF_COUNT = 4 };

struct rf_layout {
    enum rf_origin origin;
    char release[16]; /* of the rayforce-py wheel */
    char core[16];    /* what ray_version_string answers */
    char compiler[32];
    char build_id[RF_LAYOUT_IDS][64];
    char interpreter[32]; /* base name of the bytecode interpreter's symbol */
    /* Fingerprint: number of opcodes (dispatch table / 8) and sizes of objects in .symtab. */
    int32_t opcodes, size_interpreter, size_g_env, size_g_sym, size_g_pool;
    /* ray_exec_t: one per run of the interpreter, in a buddy block of 2^order bytes, behind its header. */
    int32_t exec_size, exec_order, exec_sp, exec_fp, exec_rp, exec_fn, exec_tp, exec_ps, exec_rs;
    /* ray_vm_t: one per process, __RUNTIME->vms[0]. Before 2.0.1 it had none: its fields are thread-local variables,
     * and these numbers then are their places in the TLS block of the executable. Each may be unknown. */
    char vm_via[12]; /* "runtime" or "tls" */
    int32_t vm_eval_depth, vm_scope_depth, vm_nfo, vm_ipc_handle;
    int32_t lambda_slots;
    int32_t env_vals, env_user, env_count, env_max;
    int32_t pool_workers, pool_task_claim, pool_task_limit; /* the last two may be unknown */
};

/* Where a block of known size can have its operand and its return stack. */
struct rf_stacks {
    int32_t ps, rs;
};

/* Where the layout's globals are in this process. */
struct rf_runtime {
    const struct rf_image *image;
    struct rf_layout layout;
    uint64_t runtime; /* &__RUNTIME */
    uint64_t vm;      /* __RUNTIME->vms[0]; 0 until rf_layout_validate found it, and where it is thread-local */
    bool has_vm_tls;
    uint64_t vm_tls;   /* where in the TLS block each thread has its __VM, if has_vm_tls */
    uint64_t tls_size; /* the executable's TLS block is so far below fs_base; 0 in a shared object */
    struct rf_tls tls; /* where that block is; set by rf_layout_validate */
    bool vm_in_tls;
    unsigned off;                           /* enum rf_off */
    struct rf_stacks stacks[RF_STACKS_MAX]; /* of a derived layout: what else its size allows, likeliest first */
    unsigned n_stacks;
    unsigned agreed; /* live observations that confirmed a derived layout */
    uint64_t g_env, g_sym, g_pool, parallel_flag;
    uint64_t interpreter, interpreter_size;
    uint64_t dispatch; /* the table of handlers, opcodes * 8 bytes */
    char version[32];  /* what ray_version_string answers, "" when it cannot be read */
    int32_t opcodes;   /* found in the image */
};

/* The image that holds a rayforce runtime: the one that defines __RUNTIME and g_env. NULL when none does. */
const struct rf_image *rf_runtime_image(const struct rf_images *images);
/* True when this file has the symbols of a rayforce runtime. */
bool rf_image_is_rayforce(const struct rf_image *image);

/* Address of a field of the VM as a thread with this fs_base sees it; 0, which nobody can read, when it is unknown. */
static inline uint64_t rf_vm_field(const struct rf_runtime *rt, uint64_t fs_base, int32_t field)
{
    if (field < 0)
        return 0;
    return (rt->vm_in_tls ? fs_base - rt->tls_size : rt->vm) + (uint64_t)field;
}

/* The __VM of the thread with this fs_base. False where that cannot be told; a thread that runs no Rayfall has none
 * (0).
 */
bool rf_thread_vm(const struct rf_runtime *rt, const struct rf_memory *m, uint64_t fs_base, uint64_t *vm);

/* Resolves the symbols and chooses a layout: by build-id, else from debug information, else derived from the code; by
 * fingerprint where the code does not show all of it. o (NULL: all defaults) says what is left out, and where debug
 * information is to be had (image/debug.h): RF_USAGE or RF_FAILURE when that fails. RF_TARGET with a message that says
 * what was found and what is missing when no layout can be had. Reads no process memory. */
enum rf_status rf_layout_choose(struct rf_runtime *out, const struct rf_image *image, const struct rf_layout_options *o,
                                struct rf_error *err);

/* Reads rt->layout from the debug information of rt->image, whose symbols are resolved (dwarf.c). False, with nothing
 * changed, when that does not describe an execution block and the global environment. */
bool rf_layout_from_debug(struct rf_runtime *rt);

/* Derives rt->layout from the machine code of rt->image, whose symbols are resolved. *whole: nothing that decoders use
 * is missing; what is, is named in rt->off. RF_TARGET when it does not suffice to find functions (derive.c). */
enum rf_status rf_layout_derive(struct rf_runtime *rt, bool *whole, struct rf_error *err);

/* Checks the layout against the live process: VM, globals, symbols, builtin objects and their C entries. RF_TARGET with
 * what disagreed. Sets rt->vm. *builtins (may be NULL) is the number of builtin objects that were checked. */
enum rf_status rf_layout_validate(struct rf_runtime *rt, const struct rf_memory *live, unsigned *builtins,
                                  struct rf_error *err);

/* "catalog 2.4.0, by build-id", "debug info", "derived from the code" */
void rf_layout_describe(const struct rf_layout *l, char *out, size_t n);
/* "catalog", "debug-info", "code": where it is from, for programs */
const char *rf_layout_origin(const struct rf_layout *l);
/* What users call a part that is off; bit 0 to RF_OFF_COUNT - 1. */
const char *rf_off_name(unsigned bit);

/* Parses catalog text into *out. False, with the number of the line in *line, when a line is not understood or a
 * field is missing (*line is then 0). */
bool rf_layout_parse(struct rf_layout *out, const char *text, unsigned *line);

/* Writes the form that rf_layout_parse reads and the catalog stores. */
void rf_layout_write(const struct rf_layout *l, FILE *to);

/* The catalog: texts of the known releases, ends with NULL. */
extern const char *const rf_catalog[];

#endif
