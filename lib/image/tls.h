/* tls.h: where the thread-local variables of a file are, for any thread of the process.
 *
 * An executable's block ends at the thread pointer, by the ABI (ELF Handling For Thread-Local Storage, variant II). A
 * shared object has a number, and each thread a vector (dtv) with the address of its block at that number; or, where
 * it was linked for the start of the process (initial-exec), a fixed distance from the thread pointer. The number and
 * the distance are what the dynamic linker wrote into the file's own relocated words, so that no libthread_db and no
 * private structure of the linker is needed. */
#ifndef RF_IMAGE_TLS_H
#define RF_IMAGE_TLS_H

#include "image.h"

struct rf_tls {
    enum rf_tls_kind {
        RF_TLS_NONE,  /* the file has no such block, or nothing that tells where it is */
        RF_TLS_FIXED, /* the block is at fs_base + offset */
        RF_TLS_DTV,   /* it is where the thread's dtv says, at this number */
    } kind;
    int64_t offset;
    uint64_t module;
};

/* Reads the file, and of the process at most one word of each of its thread-local relocations. */
struct rf_tls rf_tls_of(const struct rf_image *image, const struct rf_memory *live);

/* The address, in the thread with this fs_base, of the variable at `offset` in the block; 0 where the thread has not
 * touched the block yet, which is then not allocated. False where it cannot be told: m does not have the words. */
bool rf_tls_at(const struct rf_tls *t, const struct rf_memory *m, uint64_t fs_base, uint64_t offset, uint64_t *addr);

/* glibc's dtv (sysdeps/x86_64/nptl/tls.h, sysdeps/generic/dl-dtv.h; the same since 2.4): tcbhead_t.dtv is the second
 * word at fs_base; entries have two words, the first of which is the block; the one before the first is the number of
 * entries. musl's entries have one word: shared objects of such a process are not found. */
enum { RF_DTV_POINTER = 8, RF_DTV_ENTRY = 16 };

#endif
