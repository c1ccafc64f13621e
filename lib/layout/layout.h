/* layout.h: the shapes of rayforce's structs in one build, as named numbers with their origin.
 *
 * A layout is data: text lines "name value" as the catalog stores them (lib/layout/catalog/, one file a release),
 * parsed by one function and checked by one validator whatever its origin. The object model (header, type
 * codes, strings, symbols, nfo, spans) never changed from 2.0.0 to 2.4.0 and stands in rayfall/object.h; what
 * stands here did change. Source of the numbers: the disassembly of each release, confirmed on live processes. */
#ifndef RF_LAYOUT_H
#define RF_LAYOUT_H

#include "../image/image.h"

enum rf_origin { RF_ORIGIN_NONE, RF_ORIGIN_BUILD_ID, RF_ORIGIN_FINGERPRINT };

enum { RF_LAYOUT_IDS = 4 };

struct rf_layout {
    enum rf_origin origin;
    char release[16];  /* of the rayforce-py wheel */
    char core[16];     /* what ray_version_string answers */
    char compiler[32];
    char build_id[RF_LAYOUT_IDS][64];
    char interpreter[32]; /* base name of the bytecode interpreter's symbol */
    /* Fingerprint: number of opcodes (dispatch table / 8) and sizes of objects in .symtab. */
    int32_t opcodes, size_interpreter, size_g_env, size_g_sym, size_g_pool;
    /* ray_exec_t: one per run of the interpreter, in a buddy block of 2^order bytes, behind its header. */
    int32_t exec_size, exec_order, exec_sp, exec_fp, exec_rp, exec_fn, exec_tp, exec_ps, exec_rs;
    /* ray_vm_t: one per process, __RUNTIME->vms[0]. */
    int32_t vm_eval_depth, vm_scope_depth, vm_nfo, vm_ipc_handle;
    int32_t lambda_slots;
    int32_t env_vals, env_user, env_count, env_max;
    int32_t pool_workers, pool_task_claim, pool_task_limit;
};

/* Where the layout's globals are in this process. */
struct rf_runtime {
    const struct rf_image *image;
    struct rf_layout layout;
    uint64_t runtime;           /* &__RUNTIME */
    uint64_t vm;                /* __RUNTIME->vms[0]; 0 until rf_layout_validate found it */
    uint64_t vm_tls_offset;     /* __VM of a thread is at fs_base - this; 0 when it has no such symbol */
    uint64_t g_env, g_sym, g_pool, parallel_flag;
    uint64_t interpreter, interpreter_size;
    uint64_t dispatch;          /* the table of handlers, opcodes * 8 bytes */
    char version[32];           /* what ray_version_string answers, "" when it cannot be read */
    int32_t opcodes;            /* found in the image */
};

/* The image that holds a rayforce runtime: the one that defines __RUNTIME and g_env. NULL when none does. */
const struct rf_image *rf_runtime_image(const struct rf_images *images);
/* True when this file has the symbols of a rayforce runtime. */
bool rf_image_is_rayforce(const struct rf_image *image);

/* Resolves the symbols and chooses a layout: by build-id, else by fingerprint. RF_TARGET with a message that says
 * what was found and what is missing when the image is a stripped or unknown build. Reads no process memory. */
enum rf_status rf_layout_choose(struct rf_runtime *out, const struct rf_image *image, struct rf_error *err);

/* Checks the layout against the live process: VM, globals, symbols, builtin objects and their C entries. RF_TARGET with
 * what disagreed. Sets rt->vm. *builtins (may be NULL) is the number of builtin objects that were checked. */
enum rf_status rf_layout_validate(struct rf_runtime *rt, const struct rf_memory *live, unsigned *builtins,
                                  struct rf_error *err);

/* "catalog 2.4.0 (build-id)" */
void rf_layout_describe(const struct rf_layout *l, char *out, size_t n);

/* Parses catalog text into *out. False, with the number of the line in *line, when a line is not understood or a
 * field is missing (*line is then 0). */
bool rf_layout_parse(struct rf_layout *out, const char *text, unsigned *line);

/* The catalog: texts of the known releases, ends with NULL. */
extern const char *const rf_catalog[];

#endif
