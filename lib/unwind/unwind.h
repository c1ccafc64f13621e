/* unwind.h: native frames out of a snapshot, with the callee-saved registers recovered for each.
 *
 * libunwind does the work, over accessors that know only the snapshot and the ELF files: a word that was not
 * copied fails the step, it is never read as zero. */
#ifndef RF_UNWIND_H
#define RF_UNWIND_H

#include "../image/image.h"
#include "../target/snapshot.h"

enum { RF_NATIVE_MAX = 1024 };

struct rf_native {
    uint64_t pc;                  /* frame 0: the sampled pc; above: the return address */
    uint64_t sp;                  /* rsp of this frame at that point (for a caller: after its call returns) */
    uint64_t reg[RF_REGS];        /* by DWARF number */
    uint32_t known;               /* bit n: reg[n] was recovered (all of them in frame 0) */
    const struct rf_image *image; /* NULL outside every file */
    struct rf_symbol fn;          /* name NULL when unknown */
};

enum rf_unwind_end {
    RF_UNWIND_ROOT,      /* reached the outermost frame */
    RF_UNWIND_TRUNCATED, /* the copied stack ended first */
    RF_UNWIND_NO_CFI,    /* a pc without unwind information */
    RF_UNWIND_BAD,       /* a return address that follows no call, or a stack pointer that went back */
    RF_UNWIND_DEPTH,     /* RF_NATIVE_MAX frames */
};

struct rf_native_stack {
    struct rf_native *frame; /* innermost first; owned by the unwinder until its next call */
    size_t n;
    enum rf_unwind_end end;
};

struct rf_unwinder;

/* images must outlive it. RF_FAILURE on lack of memory. */
enum rf_status rf_unwinder_open(struct rf_unwinder **out, const struct rf_images *images, struct rf_error *err);
void rf_unwinder_close(struct rf_unwinder *u);
/* Forget what was cached: call when rf_images_refresh returned true. */
void rf_unwinder_flush(struct rf_unwinder *u);
void rf_unwind(struct rf_unwinder *u, const struct rf_snapshot *s, struct rf_native_stack *out);

const char *rf_unwind_end_name(enum rf_unwind_end end);

#endif
