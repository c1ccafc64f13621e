/* frames.c: a search table of call frame information for files without one: linkers are not asked for .eh_frame_hdr in
 * static executables, which register their frames when they start.
 *
 * The table is made from .eh_frame, in the form that the header would have had, and is served at an address behind the
 * file's segments, where nothing of it can be. */
#include "elf_file.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

enum { FRAMES_MAX = 16 << 20 };

struct entry { /* LSB Core, "DWARF Extensions": both relative to the header, here to the table itself */
    int32_t function, fde;
};

struct table {
    struct entry *v;
    size_t n, room;
    uint64_t addr; /* where it is to be served */
};

static int by_function(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return (x->function > y->function) - (x->function < y->function);
}

static size_t pointer_size(unsigned encoding)
{
    unsigned form = encoding & 0x0f;
    return form == DW_EH_PE_udata4 || form == DW_EH_PE_sdata4                              ? 4
           : form == DW_EH_PE_absptr || form == DW_EH_PE_udata8 || form == DW_EH_PE_sdata8 ? 8
                                                                                           : 0;
}

/* How the FDEs of this CIE write addresses: the byte for R among its augmentation's data. */
static unsigned encoding_of(const Dwarf_CIE *cie)
{
    size_t at = 0, n = cie->augmentation_data_size;
    const char *a = cie->augmentation;
    if (!a || *a != 'z')
        return DW_EH_PE_absptr;
    while (*++a && at < n) {
        if (*a == 'R')
            return cie->augmentation_data[at];
        at += *a == 'P' ? 1 + pointer_size(cie->augmentation_data[at]) : *a == 'L';
    }
    return DW_EH_PE_absptr;
}

/* The address that an FDE begins with; it has been seen to be inside of the section. */
static bool begins_at(const unsigned char *bytes, size_t left, uint64_t place, unsigned encoding, uint64_t *to)
{
    int32_t word;
    size_t size = pointer_size(encoding);
    unsigned relative = encoding & 0xf0;
    if (size == 0 || size > left || (relative != DW_EH_PE_absptr && relative != DW_EH_PE_pcrel))
        return false;
    if (size == 4) {
        memcpy(&word, bytes, sizeof word);
        *to = (encoding & 0x0f) == DW_EH_PE_udata4 ? (uint32_t)word : (uint64_t)(int64_t)word;
    } else {
        memcpy(to, bytes, sizeof *to);
    }
    *to += relative == DW_EH_PE_pcrel ? place : 0;
    return true;
}

static bool add(struct table *t, uint64_t function, uint64_t fde)
{
    int64_t f = (int64_t)(function - t->addr), e = (int64_t)(fde - t->addr);
    if (f != (int32_t)f || e != (int32_t)e)
        return true; /* farther than the form can say */
    if (t->n == t->room) {
        size_t more = t->room ? 2 * t->room : 1024;
        struct entry *v = realloc(t->v, more * sizeof *v);
        if (!v)
            return false;
        t->v = v;
        t->room = more;
    }
    t->v[t->n++] = (struct entry){(int32_t)f, (int32_t)e};
    return true;
}

static void collect(struct table *t, unsigned char *bytes, size_t size, uint64_t addr)
{
    static const unsigned char ident[EI_NIDENT] = {[EI_CLASS] = ELFCLASS64, [EI_DATA] = ELFDATA2LSB};
    Elf_Data data = {.d_buf = bytes, .d_size = size, .d_type = ELF_T_BYTE, .d_version = EV_CURRENT};
    Dwarf_CFI_Entry e, cie;
    Dwarf_Off at = 0, next, of_cie = (Dwarf_Off)-1;
    unsigned encoding = 0;
    uint64_t function;
    /* 1: at the end, -1: damaged from there on */
    for (; dwarf_next_cfi(ident, &data, true, at, &next, &e) == 0 && next > at; at = next) {
        if (dwarf_cfi_cie_p(&e))
            continue;
        if (e.fde.CIE_pointer != of_cie) {
            Dwarf_Off behind;
            if (dwarf_next_cfi(ident, &data, true, e.fde.CIE_pointer, &behind, &cie) != 0 || !dwarf_cfi_cie_p(&cie))
                continue;
            of_cie = e.fde.CIE_pointer;
            encoding = encoding_of(&cie.cie);
        }
        size_t in = (size_t)(e.fde.start - bytes);
        if (in < size && begins_at(e.fde.start, size - in, addr + in, encoding, &function) &&
            !add(t, function, addr + at))
            return;
    }
}

void rf_elf_make_cfi(const struct rf_image *image, struct rf_cfi *cfi)
{
    const struct rf_section *s = &image->eh_frame;
    struct table t = {.addr = 0};
    if (s->size == 0 || s->size > FRAMES_MAX)
        return;
    for (size_t i = 0; i < image->n_phdrs; i++) {
        const Elf64_Phdr *p = &image->phdr[i];
        if (p->p_type == PT_LOAD && p->p_vaddr + p->p_memsz > t.addr)
            t.addr = p->p_vaddr + p->p_memsz;
    }
    t.addr = (t.addr + RF_FILE_PAGE - 1) & ~(uint64_t)(RF_FILE_PAGE - 1);
    unsigned char *bytes = malloc((size_t)s->size);
    if (bytes && rf_image_read(image, image->bias + s->off, bytes, (size_t)s->size))
        collect(&t, bytes, (size_t)s->size, s->off);
    free(bytes);
    if (t.n)
        qsort(t.v, t.n, sizeof *t.v, by_function);
    image->late->made = (unsigned char *)t.v;
    image->late->made_at = t.addr;
    image->late->made_size = t.n * sizeof *t.v;
    cfi->hdr = cfi->table = t.addr;
    cfi->entries = t.n;
}
