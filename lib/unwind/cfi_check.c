/* cfi_check.c: reads an FDE before libunwind does, since libunwind 1.6 trusts what it reads.
 *
 * A return address column, or a register in DW_CFA_register, beyond its arrays is used as an index; DW_OP_div may
 * trap; jumps in an expression may loop. The files are the target's, so such CFI is refused. What is only wrong is
 * left to libunwind, which then fails the step. (DWARF 5, sections 2.5, 6.4 and 7.24; LSB Core, "Exception Frames".) */
#include "cfi_check.h"

#include <dwarf.h>

enum {
    FDE_MAX = 64 * 1024, /* the longest in rayforce and glibc have some KB */
    CIE_MAX = 512,
    REMEMBER_MAX = 64, /* states on the stack of DW_CFA_remember_state */
    COLUMNS = 17,      /* rax to r15 and the return address */
};

struct bytes { /* a part of a record that was read; at moves on, ok turns false at its end and stays so */
    const unsigned char *v;
    size_t at, n;
    bool ok;
};

static void skip(struct bytes *b, uint64_t n)
{
    if (n > b->n - b->at)
        b->ok = false;
    else
        b->at += (size_t)n;
}

static unsigned char byte(struct bytes *b)
{
    if (b->at >= b->n) {
        b->ok = false;
        return 0;
    }
    return b->v[b->at++];
}

/* Signed ones are skipped with this, too. */
static uint64_t uleb(struct bytes *b)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        unsigned char c = byte(b);
        value |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80))
            return value;
    }
    b->ok = false;
    return 0;
}

/* --- expressions ------------------------------------------------------------------------------------------ */

static void check_operation(struct bytes *b)
{
    unsigned op = byte(b);
    if ((op >= DW_OP_lit0 && op <= DW_OP_lit31) || (op >= DW_OP_dup && op <= DW_OP_rot && op != DW_OP_pick) ||
        (op >= DW_OP_abs && op <= DW_OP_xor && op != DW_OP_div && op != DW_OP_mod && op != DW_OP_plus_uconst) ||
        (op >= DW_OP_eq && op <= DW_OP_ne) || op == DW_OP_deref || op == DW_OP_nop)
        return;
    if (op >= DW_OP_breg0 && op < DW_OP_breg0 + COLUMNS)
        uleb(b);
    else if (op >= DW_OP_const1u && op <= DW_OP_const8s)
        skip(b, (uint64_t)1 << (op - DW_OP_const1u) / 2);
    else if (op == DW_OP_constu || op == DW_OP_consts || op == DW_OP_plus_uconst)
        uleb(b);
    else
        b->ok = false;
}

static void check_expression(struct bytes *b)
{
    uint64_t n = uleb(b);
    size_t from = b->at;
    skip(b, n);
    if (!b->ok)
        return;
    struct bytes part = {b->v + from, 0, (size_t)n, true};
    while (part.ok && part.at < part.n)
        check_operation(&part);
    b->ok = part.ok;
}

/* --- instructions ------------------------------------------------------------------------------------------- */

static void check_column(struct bytes *b)
{
    if (uleb(b) >= COLUMNS)
        b->ok = false;
}

static void check_instruction(struct bytes *b, size_t address_size, unsigned *remembered)
{
    unsigned op = byte(b);
    switch (op & 0xc0) {
    case DW_CFA_offset:
        uleb(b);
        return;
    case DW_CFA_advance_loc:
    case DW_CFA_restore:
        return;
    }
    switch (op) {
    case DW_CFA_nop:
        return;
    case DW_CFA_restore_state:
        *remembered -= *remembered > 0;
        return;
    case DW_CFA_remember_state:
        if (++*remembered > REMEMBER_MAX)
            b->ok = false;
        return;
    case DW_CFA_set_loc:
        skip(b, address_size);
        return;
    case DW_CFA_advance_loc1:
        skip(b, 1);
        return;
    case DW_CFA_advance_loc2:
        skip(b, 2);
        return;
    case DW_CFA_advance_loc4:
        skip(b, 4);
        return;
    case DW_CFA_undefined:
    case DW_CFA_same_value:
    case DW_CFA_restore_extended:
    case DW_CFA_def_cfa_register:
        check_column(b);
        return;
    case DW_CFA_register:
        check_column(b);
        check_column(b);
        return;
    case DW_CFA_def_cfa_offset:
    case DW_CFA_def_cfa_offset_sf:
    case DW_CFA_GNU_args_size:
        uleb(b);
        return;
    case DW_CFA_offset_extended:
    case DW_CFA_offset_extended_sf:
    case DW_CFA_GNU_negative_offset_extended:
    case DW_CFA_def_cfa:
    case DW_CFA_def_cfa_sf:
        check_column(b);
        uleb(b);
        return;
    case DW_CFA_expression:
    case DW_CFA_val_expression:
        check_column(b);
        check_expression(b);
        return;
    case DW_CFA_def_cfa_expression:
        check_expression(b);
        return;
    }
    b->ok = false;
}

static bool check_program(struct bytes *b, size_t address_size)
{
    unsigned remembered = 0;
    while (b->ok && b->at < b->n)
        check_instruction(b, address_size, &remembered);
    return b->ok;
}

/* --- records ---------------------------------------------------------------------------------------------------- */

/* Reads the record at addr behind its length, which must be of the 32-bit format. */
static bool read_record(const struct rf_image *image, uint64_t addr, unsigned char *to, size_t max, struct bytes *out)
{
    uint32_t n;
    if (!rf_image_read(image, addr, &n, sizeof n) || n < 4 || n > max || !rf_image_read(image, addr + 4, to, n))
        return false;
    *out = (struct bytes){to, 0, n, true};
    return true;
}

/* Bytes of a pointer in this encoding, 0 when compilers do not use it here. */
static size_t pointer_size(unsigned encoding)
{
    switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        return 8;
    case DW_EH_PE_udata4:
    case DW_EH_PE_sdata4:
        return 4;
    }
    return 0;
}

/* The CIE: augmentations z, R, P, L and S, in the order that they come; the size of the FDE's pointers into *size. */
static bool check_cie(struct bytes *b, size_t *size)
{
    char augmentation[5] = "";
    size_t n = 0;
    skip(b, 4); /* the id */
    unsigned version = byte(b);
    for (char c; (c = (char)byte(b)) != '\0';) {
        if (n == sizeof augmentation - 1) /* libunwind looks at four */
            return false;
        augmentation[n++] = c;
    }
    if (!b->ok || (version != 1 && version != 3) || augmentation[0] != 'z')
        return false;
    uleb(b);
    uleb(b);
    if ((version == 1 ? byte(b) : uleb(b)) != COLUMNS - 1)
        return false;
    uint64_t data = uleb(b);
    if (!b->ok || data > b->n - b->at)
        return false;
    struct bytes part = {b->v + b->at, 0, (size_t)data, true};
    b->at += (size_t)data;
    *size = 8;
    for (const char *c = augmentation + 1; *c; c++) {
        if (*c == 'R')
            *size = pointer_size(byte(&part));
        else if (*c == 'P')
            skip(&part, pointer_size(byte(&part)));
        else if (*c == 'L')
            byte(&part);
        else if (*c != 'S')
            return false;
    }
    return part.ok && *size != 0 && check_program(b, *size);
}

/* The search table's entry for addr: the last one that starts at or below it. */
static bool find_fde(const struct rf_image *image, const struct rf_cfi *cfi, uint64_t addr, uint64_t *fde)
{
    int32_t entry[2];
    int64_t wanted = (int64_t)(addr - cfi->hdr);
    uint64_t lo = 0, hi = cfi->entries;
    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        if (!rf_image_read(image, cfi->table + mid * sizeof entry, entry, sizeof entry))
            return false;
        if (entry[0] <= wanted)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0 || !rf_image_read(image, cfi->table + (lo - 1) * sizeof entry, entry, sizeof entry))
        return false;
    *fde = cfi->hdr + (uint64_t)(int64_t)entry[1];
    return true;
}

bool rf_cfi_is_sane(const struct rf_image *image, const struct rf_cfi *cfi, uint64_t addr)
{
    unsigned char cie_bytes[CIE_MAX], fde_bytes[FDE_MAX];
    struct bytes cie, fde;
    uint64_t at;
    uint32_t back;
    size_t size;
    if (!find_fde(image, cfi, addr, &at) || !read_record(image, at, fde_bytes, sizeof fde_bytes, &fde))
        return false;
    memcpy(&back, fde_bytes, sizeof back);
    if (back == 0 || !read_record(image, at + 4 - back, cie_bytes, sizeof cie_bytes, &cie) || !check_cie(&cie, &size))
        return false;
    skip(&fde, 4 + 2 * size);
    skip(&fde, uleb(&fde));
    return check_program(&fde, size);
}
