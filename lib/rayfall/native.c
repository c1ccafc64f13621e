/* native.c: names and source lines of native frames, kept by address. */
#include "native.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(item) ((void)(item))
#include <uthash.h>

enum { KEPT_MAX = 1 << 16, ADDRESS_SIZE = 20 };

struct known {
    UT_hash_handle hh;
    struct known_key {
        const struct rf_image *image;
        uint64_t at; /* of the instruction: of a caller, the last byte of its call */
    } key;
    char address[ADDRESS_SIZE]; /* what fn is without a symbol */
    size_t n;
    struct rf_frame frame[]; /* the function's own, then those that were inlined there */
};

struct rf_natives {
    const struct rf_runtime *rt;
    struct known *known;
};

struct rf_natives *rf_natives_new(const struct rf_runtime *rt)
{
    struct rf_natives *n = calloc(1, sizeof *n);
    if (n)
        n->rt = rt;
    return n;
}

static void forget(struct rf_natives *n)
{
    struct known *k, *next;
    HASH_ITER (hh, n->known, k, next) {
        HASH_DEL(n->known, k);
        free(k);
    }
}

void rf_natives_free(struct rf_natives *n)
{
    if (n)
        forget(n);
    free(n);
}

void rf_natives_trim(struct rf_natives *n)
{
    if (HASH_COUNT(n->known) > KEPT_MAX)
        forget(n);
}

static struct rf_text text(const char *s)
{
    return (struct rf_text){s, strlen(s)};
}

static struct rf_text base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return text(slash && slash[1] ? slash + 1 : path);
}

bool rf_native_passes_on(const struct rf_native *f)
{
    static const char *const glue[] = {"call_fn1", "call_fn2", "call_lambda", "call_lambda_impl", "vm_call_binary"};
    for (size_t i = 0; i < sizeof glue / sizeof *glue; i++)
        if (rf_symbol_is(f->fn.name, glue[i]))
            return true;
    return false;
}

static bool is_interpreter(const struct rf_runtime *rt, const struct rf_native *f)
{
    return f->fn.name && (f->fn.addr == rt->interpreter || rf_symbol_is(f->fn.name, "ray_eval") ||
                          rf_symbol_is(f->fn.name, "ray_lazy_materialize") || rf_native_passes_on(f));
}

/* The function's own name, else one that begins where it does. */
static struct rf_text name_of(const struct rf_native *f, struct known *k)
{
    const struct rf_image *image = f->image;
    struct rf_symbol apart;
    uint64_t at = k->key.at, start;
    if (f->fn.name)
        return text(f->fn.name);
    if (image && rf_image_separate_at(image, at, &apart))
        return text(apart.name);
    if (image && rf_image_in_plt(image, at))
        return text("[plt]"); /* no function: jumps to those of other files */
    if (image && rf_image_function_start(image, at, &start))
        at = start;
    snprintf(k->address, sizeof k->address, "0x%" PRIx64, image ? at - rf_image_bias(image) : at);
    return text(k->address);
}

/* What compilers inlined into the interpreter belongs to it. NULL when out of memory. */
static struct known *look_up(const struct rf_natives *n, const struct rf_native *f, struct known_key key)
{
    struct rf_place_in_source place[RF_INLINED_MAX];
    const struct rf_image *image = f->image;
    size_t places = image ? rf_image_places(image, key.at, place) : 0;
    bool interpreter = is_interpreter(n->rt, f);
    size_t frames = places && !interpreter ? places : 1;
    struct known *k = calloc(1, sizeof *k + frames * sizeof *k->frame);
    if (!k)
        return NULL;
    k->key = key;
    k->n = frames;
    for (size_t i = 0; i < frames; i++) {
        struct rf_frame *frame = &k->frame[i];
        *frame = (struct rf_frame){.kind = interpreter ? RF_KIND_INTERPRETER : RF_KIND_NATIVE,
                                   .file = image ? base_name(rf_image_path(image)) : text("[unknown]"),
                                   .named = true};
        if (places && place[i].file)
            frame->file = base_name(place[i].file);
        if (places)
            frame->line = place[i].line;
        frame->fn = i ? text(place[i].inlined) : name_of(f, k);
    }
    return k;
}

size_t rf_natives_frames(struct rf_natives *n, const struct rf_native_stack *native, size_t i,
                         const struct rf_frame **out)
{
    static const struct rf_frame lost = {.kind = RF_KIND_NATIVE, .file = {"[unknown]", 9}, .fn = {"[unknown]", 9}};
    const struct rf_native *f = &native->frame[i];
    struct known_key key = {f->image, i ? f->pc - 1 : f->pc};
    struct known *k;
    HASH_FIND(hh, n->known, &key, sizeof key, k);
    if (!k && (k = look_up(n, f, key))) {
        HASH_ADD(hh, n->known, key, sizeof key, k);
        if (!k->hh.tbl) {
            free(k);
            k = NULL;
        }
    }
    *out = k ? k->frame : &lost;
    return k ? k->n : 1;
}
