/* image.h: the ELF files that are mapped in the target: where, which build, which symbols, which CFI.
 *
 * Files are opened through /proc/PID/map_files, else /proc/PID/exe or /proc/PID/root, so that a deleted or
 * replaced binary and one in a container work; a file is used only when its build-id or its inode is that of the
 * mapping. Headers are read at open, symbols at the first question about them, code and CFI page by page; nothing
 * is mapped here (elf_file.h says why). Addresses are the target's, bias included. */
#ifndef RF_IMAGE_H
#define RF_IMAGE_H

#include "../target/process.h"

struct rf_image;
struct rf_images;

struct rf_symbol {
    const char *name; /* lives as long as the images */
    uint64_t addr, size;
    unsigned char type; /* STT_FUNC, STT_OBJECT, STT_TLS (addr is then the offset in the TLS block) */
};

enum rf_status rf_images_open(struct rf_images **out, const struct rf_process *p, struct rf_error *err);
void rf_images_close(struct rf_images *set);
/* Reads the maps again (dlopen, and for rf_images_maps). Returns true when executable mappings changed, and with them
 * what rf_images_at answers; pointers to images stay valid. */
bool rf_images_refresh(struct rf_images *set);
const struct rf_maps *rf_images_maps(const struct rf_images *set);

size_t rf_images_count(const struct rf_images *set);
const struct rf_image *rf_images_get(const struct rf_images *set, size_t i);
/* The image with an executable mapping at addr, or NULL. */
const struct rf_image *rf_images_at(const struct rf_images *set, uint64_t addr);

/* A file by itself, without a process: bias 0. */
enum rf_status rf_image_open_file(struct rf_image **out, const char *path, struct rf_error *err);
void rf_image_close_file(struct rf_image *image);

const char *rf_image_path(const struct rf_image *image); /* as in the maps, " (deleted)" removed; "[vdso]" */
bool rf_image_is_deleted(const struct rf_image *image);  /* the maps said so: that path leads elsewhere now */
uint64_t rf_image_bias(const struct rf_image *image);
const char *rf_image_build_id(const struct rf_image *image); /* lower-case hex, "" when it has none */
bool rf_image_has_symtab(const struct rf_image *image);      /* .symtab, not only .dynsym */
/* Where it has the symbols that .dynsym does not have: ".symtab", ".gnu_debugdata", or the path of the file that they
 * were moved to (debug.h). NULL: nowhere, it is stripped. */
const char *rf_image_symbols_in(const struct rf_image *image);
bool rf_image_has_dwarf(const struct rf_image *image);      /* .debug_info */
const char *rf_image_comment(const struct rf_image *image); /* the compiler, from .comment; "" without */
bool rf_image_is_executable(const struct rf_image *image);  /* a program, at a fixed address or not; else a library */
/* Size and alignment of PT_TLS; false without one. */
bool rf_image_tls(const struct rf_image *image, uint64_t *memsz, uint64_t *align);

/* Looks a symbol up by its exact name, or, with base, by its name before the first dot (the largest one of type
 * `type` then; STT_NOTYPE matches all). False when there is none. */
bool rf_image_find(const struct rf_image *image, const char *name, struct rf_symbol *out);
bool rf_image_find_base(const struct rf_image *image, const char *base, unsigned char type, struct rf_symbol *out);
/* The function that contains addr. */
bool rf_image_function_at(const struct rf_image *image, uint64_t addr, struct rf_symbol *out);
/* The same by symbols that were moved to a file of their own (debug.h), if that file is here. */
bool rf_image_separate_at(const struct rf_image *image, uint64_t addr, struct rf_symbol *out);
/* Is addr in the table of jumps to functions of other files (.plt)? */
bool rf_image_in_plt(const struct rf_image *image, uint64_t addr);
/* Where the function that contains addr begins, by the call frame information: for code without symbols. */
bool rf_image_function_start(const struct rf_image *image, uint64_t addr, uint64_t *start);
/* A line of the source whose code is at an address, and of which function that was inlined there. */
struct rf_place_in_source {
    const char *inlined; /* NULL: of the function itself */
    const char *file;    /* NULL: not known */
    uint32_t line;       /* 0: not known */
};
enum { RF_INLINED_MAX = 16 };
/* Source lines of the instruction at addr, by the debug information (debug.h): where the function is, then, for
 * each call that was inlined there, where that is. Returns how many, 0 without debug information; names live as long
 * as the image. */
size_t rf_image_places(const struct rf_image *image, uint64_t addr, struct rf_place_in_source out[RF_INLINED_MAX]);
/* Calls visit for every symbol with a name and a section; stops when it returns false. */
void rf_image_each_symbol(const struct rf_image *image, bool (*visit)(void *ctx, const struct rf_symbol *s), void *ctx);

/* Bytes of the file that are loaded at addr (code and read-only data; writable data as it was before relocation). */
bool rf_image_read(const struct rf_image *image, uint64_t addr, void *to, size_t n);

/* What an unwinder needs: the .eh_frame_hdr binary search table, or one like it that is made from .eh_frame where the
 * file has none. False without either. Addresses are the target's; the bytes can be had from rf_image_read. */
struct rf_cfi {
    uint64_t start, end;     /* executable range covered */
    uint64_t hdr;            /* what the table's addresses are relative to: .eh_frame_hdr */
    uint64_t table, entries; /* address of the table, number of its entries */
};
bool rf_image_cfi(const struct rf_image *image, struct rf_cfi *out);

/* "vm_exec.part.0" -> 7: length of a symbol's name before the first dot; whole length without one. */
size_t rf_symbol_base(const char *name);
/* Is this its name before the first dot? False for a NULL name. */
bool rf_symbol_is(const char *name, const char *base);

#endif
