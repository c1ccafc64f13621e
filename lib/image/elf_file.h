/* elf_file.h: what the files of lib/image/ share: one ELF file as bytes, headers and symbols. Private to this room.
 *
 * Nothing is mapped: a file that its owner truncates while it is mapped here would kill us with SIGBUS (mmap(2)), and
 * mapped pages of a 5 MB executable count as ours in RSS. libelf reads the headers once (ELF_C_READ), symbols are
 * read into a compact table when somebody first asks for one, and code and CFI come page by page with pread(2)
 * through a small cache. */
#ifndef RF_ELF_FILE_H
#define RF_ELF_FILE_H

#include "image.h"

#include <elf.h>
#include <sys/stat.h>

enum {
    RF_PHDRS_MAX = 128,
    RF_BUILD_ID_MAX = 64, /* bytes; 20 with every linker that we know */
    RF_FILE_PAGE = 4096,
    RF_CACHE_PAGES = 32,       /* direct mapped, allocated as they are used */
    RF_SECTION_MAX = 64 << 20, /* a larger symbol or string table is not read: a hostile file must not eat our memory */
    RF_VDSO_MAX = 64 << 10,
};

struct rf_section {
    uint64_t off, size;
};

/* A symbol as it is kept: sorted by address, thread-locals (whose value is an offset in the TLS block) at the end. */
struct rf_elf_symbol {
    uint64_t addr, size; /* addr without bias */
    uint64_t limit;      /* a function without a size reaches to the next symbol, at most to here (its section's end) */
    uint32_t name;       /* offset in names */
    unsigned char type, rank; /* rank: better names are greater (see symbols.c) */
};

struct rf_file_page {
    uint64_t off;
    size_t n; /* bytes that the file had there */
    unsigned char *bytes;
};

/* What is filled in at the first question, behind a pointer so that questions take a const image. */
struct rf_image_late {
    bool symbols_read, cfi_read, cfi_found;
    struct rf_elf_symbol *symbol;
    size_t n_symbols, n_addressed; /* the first n_addressed have an address */
    char *names;
    char *symbols_in;    /* see rf_image_symbols_in; NULL also without memory */
    struct rf_cfi cfi;   /* without bias */
    unsigned char *made; /* its search table, where the file has none; NULL: it has, or no frames either */
    uint64_t made_at, made_size;
    struct rf_file_page page[RF_CACHE_PAGES];
    bool debug_read, separate_tried;
    bool given;                /* separate is what was asked for, and goes before what the image itself has */
    struct rf_image *separate; /* the file that symbols and debug information were moved to */
    struct Elf *debug_elf;     /* libelf's and libdw's, of the file with debug information */
    struct Dwarf *debug;
};

struct rf_image {
    char *path;
    char root[24]; /* of the process that has it mapped: "/proc/PID/root"; "" for a file by itself */
    int fd;        /* -1: the bytes are in memory */
    unsigned char *memory;
    uint64_t size;
    uint64_t bias;
    uint64_t dev, inode; /* as the maps have them */
    char build_id[2 * RF_BUILD_ID_MAX + 1];
    char comment[128];
    bool has_symtab, has_dwarf, deleted;
    uint16_t type; /* ET_EXEC or ET_DYN */
    Elf64_Phdr phdr[RF_PHDRS_MAX];
    size_t n_phdrs;
    struct rf_section symtab, strtab; /* .symtab, else .dynsym; size 0: none */
    struct rf_section shdrs;          /* the section headers: entries of 64 bytes */
    struct rf_section eh_frame;       /* its address, not its offset */
    struct rf_section plt;            /* its address, not its offset */
    struct rf_section debugdata;      /* .gnu_debugdata: see rf_elf_embedded; size 0: none */
    struct rf_image_late *late;
};

/* Takes fd or memory (malloc'ed, fd -1) over, also when it fails. path is copied. */
enum rf_status rf_elf_load(struct rf_image **out, const char *path, int fd, unsigned char *memory, uint64_t size,
                           struct rf_error *err);
/* Opens path when it is a regular file; a device or a FIFO is not touched. -1 with errno else. */
int rf_elf_open(const char *path, struct stat *st);
/* Exactly n bytes of the file from off. */
bool rf_elf_bytes(const struct rf_image *image, uint64_t off, void *to, size_t n);
/* The bias of the file when its mapping at start shows the file from offset; false when no segment fits. */
bool rf_elf_bias(const struct rf_image *image, uint64_t start, uint64_t offset, uint64_t *bias);
/* The build-id in the notes of a program header table, as hex; "" when there is none. read gets file offsets. */
void rf_elf_build_id(const Elf64_Phdr *phdr, size_t n, bool (*read)(void *ctx, uint64_t off, void *to, size_t size),
                     void *ctx, char hex[2 * RF_BUILD_ID_MAX + 1]);
/* The file that symbols and debug information were moved to, NULL when there is none (debug.c). */
const struct rf_image *rf_elf_separate(const struct rf_image *image);
/* Gives back what debug.c holds; it is looked for again at the next question. */
void rf_elf_close_debug(struct rf_image_late *late);
/* The file that .gnu_debugdata holds, for symbols that a stripped file keeps (gdb's manual, "MiniDebugInfo"); NULL
 * without one. The caller closes it. */
struct rf_image *rf_elf_embedded(const struct rf_image *image);
/* Makes the search table of a file that has .eh_frame and no table for it; entries stays 0 where it has neither. */
void rf_elf_make_cfi(const struct rf_image *image, struct rf_cfi *cfi);
/* Reads the symbols unless that was tried already. */
void rf_elf_read_symbols(const struct rf_image *image);

#endif
