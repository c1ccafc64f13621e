/* tls.c: places of thread-local blocks, out of a file's dynamic relocations. */
#include "tls.h"
#include "elf_file.h"

enum { RELOCATIONS_MAX = 1 << 20, DYNAMIC_MAX = 512, BATCH = 64 };
static const uint64_t MODULES_MAX = 1 << 16; /* loaded objects with thread-locals: more is nonsense */
static const uint64_t STATIC_MAX = 1 << 28;  /* thread-locals that are allocated with each stack */

/* What the dynamic section says about relocations; addresses are as in the file. */
struct dynamic {
    uint64_t rela[2], size[2], symtab, flags;
};

static const Elf64_Phdr *segment(const struct rf_image *image, uint32_t type)
{
    for (size_t i = 0; i < image->n_phdrs; i++)
        if (image->phdr[i].p_type == type)
            return &image->phdr[i];
    return NULL;
}

static void read_dynamic(const struct rf_image *image, struct dynamic *d)
{
    const Elf64_Phdr *p = segment(image, PT_DYNAMIC);
    *d = (struct dynamic){.symtab = 0};
    for (uint64_t i = 0; p && i < DYNAMIC_MAX && i < p->p_filesz / sizeof(Elf64_Dyn); i++) {
        Elf64_Dyn e;
        if (!rf_image_read(image, image->bias + p->p_vaddr + i * sizeof e, &e, sizeof e) || e.d_tag == DT_NULL)
            break;
        uint64_t *to = e.d_tag == DT_RELA       ? &d->rela[0]
                       : e.d_tag == DT_RELASZ   ? &d->size[0]
                       : e.d_tag == DT_JMPREL   ? &d->rela[1]
                       : e.d_tag == DT_PLTRELSZ ? &d->size[1]
                       : e.d_tag == DT_SYMTAB   ? &d->symtab
                       : e.d_tag == DT_FLAGS_1  ? &d->flags
                                                : NULL;
        if (to)
            *to = e.d_un.d_val;
    }
}

/* A program that is linked to run at any address is a shared object by its type. Linkers mark it; those that did not
 * yet (binutils before 2.26) gave no library an interpreter, and static ones of theirs have a fixed address. */
bool rf_image_is_executable(const struct rf_image *image)
{
    struct dynamic d;
    if (image->type == ET_EXEC)
        return true;
    read_dynamic(image, &d);
    return (d.flags & DF_1_PIE) || segment(image, PT_INTERP);
}

/* Offset in the file's own block of what a relocation is about; false for another file's variable. */
static bool own_offset(const struct rf_image *image, const struct dynamic *d, const Elf64_Rela *r, int64_t *offset)
{
    Elf64_Sym s = {.st_value = 0};
    uint64_t n = ELF64_R_SYM(r->r_info);
    if (n && (!rf_image_read(image, image->bias + d->symtab + n * sizeof s, &s, sizeof s) || s.st_shndx == SHN_UNDEF))
        return false;
    *offset = (int64_t)(s.st_value + (uint64_t)r->r_addend);
    return true;
}

static struct rf_tls numbered(uint64_t module)
{
    bool sane = module > 0 && module < MODULES_MAX;
    return (struct rf_tls){.kind = sane ? RF_TLS_DTV : RF_TLS_NONE, .module = module};
}

static struct rf_tls fixed(int64_t place, int64_t offset)
{
    const int64_t most = (int64_t)STATIC_MAX;
    bool sane = place < 0 && place > -most && offset >= 0 && offset < most;
    return (struct rf_tls){.kind = sane ? RF_TLS_FIXED : RF_TLS_NONE, .offset = sane ? place - offset : 0};
}

/* What the dynamic linker made of one relocation (ABI, table 4.10). A descriptor's second word is the distance, or
 * points to module and offset (glibc, sysdeps/x86_64/dl-tlsdesc.h). */
static struct rf_tls relocated(const struct rf_image *image, const struct dynamic *d, const Elf64_Rela *r,
                               const struct rf_memory *live)
{
    uint64_t word, at = image->bias + r->r_offset, type = ELF64_R_TYPE(r->r_info);
    int64_t offset;
    struct rf_tls none = {.kind = RF_TLS_NONE};
    if ((type != R_X86_64_DTPMOD64 && type != R_X86_64_TPOFF64 && type != R_X86_64_TLSDESC) ||
        !own_offset(image, d, r, &offset) || !rf_read_u64(live, type == R_X86_64_TLSDESC ? at + 8 : at, &word))
        return none;
    if (type == R_X86_64_DTPMOD64)
        return numbered(word);
    if (type == R_X86_64_TPOFF64 || (int64_t)word < 0)
        return fixed((int64_t)word, offset);
    return rf_read_u64(live, word, &word) ? numbered(word) : none;
}

static struct rf_tls by_relocation(const struct rf_image *image, const struct rf_memory *live)
{
    struct dynamic d;
    struct rf_tls t = {.kind = RF_TLS_NONE};
    Elf64_Rela batch[BATCH];
    read_dynamic(image, &d);
    for (unsigned table = 0; table < 2; table++) {
        uint64_t n = d.size[table] / sizeof *batch;
        if (!d.rela[table] || n > RELOCATIONS_MAX)
            continue;
        for (uint64_t i = 0; i < n; i += BATCH) {
            size_t some = n - i < BATCH ? (size_t)(n - i) : BATCH;
            if (!rf_image_read(image, image->bias + d.rela[table] + i * sizeof *batch, batch, some * sizeof *batch))
                break;
            for (size_t k = 0; k < some; k++) {
                t = relocated(image, &d, &batch[k], live);
                if (t.kind != RF_TLS_NONE)
                    return t;
            }
        }
    }
    return t;
}

struct rf_tls rf_tls_of(const struct rf_image *image, const struct rf_memory *live)
{
    uint64_t size, align;
    if (!rf_image_tls(image, &size, &align) || size > STATIC_MAX || align > STATIC_MAX)
        return (struct rf_tls){.kind = RF_TLS_NONE};
    if (!rf_image_is_executable(image))
        return by_relocation(image, live);
    align += align == 0;
    return fixed(-(int64_t)((size + align - 1) / align * align), 0);
}

bool rf_tls_at(const struct rf_tls *t, const struct rf_memory *m, uint64_t fs_base, uint64_t offset, uint64_t *addr)
{
    uint64_t dtv, entries, block = 0;
    *addr = 0;
    if (t->kind == RF_TLS_NONE || fs_base == 0)
        return false;
    if (t->kind == RF_TLS_FIXED) {
        *addr = fs_base + (uint64_t)t->offset + offset;
        return true;
    }
    if (!rf_read_u64(m, fs_base + RF_DTV_POINTER, &dtv) || !rf_read_u64(m, dtv - RF_DTV_ENTRY, &entries))
        return false;
    if (t->module > entries) /* it grows when a thread first needs it */
        return true;
    if (!rf_read_u64(m, dtv + RF_DTV_ENTRY * t->module, &block))
        return false;
    if (block != 0 && block != UINT64_MAX) /* TLS_DTV_UNALLOCATED */
        *addr = block + offset;
    return true;
}
