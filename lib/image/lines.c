/* lines.c: which function code without a symbol belongs to, and which source lines an address belongs to.
 *
 * A stripped library still has call frame information, and that has an entry for each function: enough to tell its
 * functions apart; and symbols may be installed apart from it. Source lines come from DWARF (debug.h); images that
 * nobody asks about cost nothing. */
#include "debug.h"
#include "elf_file.h"

#include <dwarf.h>
#include <stdlib.h>

bool rf_image_in_plt(const struct rf_image *image, uint64_t addr)
{
    return addr - image->bias - image->plt.off < image->plt.size;
}

bool rf_image_function_start(const struct rf_image *image, uint64_t addr, uint64_t *start)
{
    struct rf_cfi cfi;
    struct {
        int32_t function, entry; /* relative to the header (LSB Core, "DWARF Extensions") */
    } e;
    if (!rf_image_cfi(image, &cfi) || addr < cfi.start || addr >= cfi.end)
        return false;
    uint64_t low = 0, high = cfi.entries;
    bool found = false;
    while (low < high) {
        uint64_t mid = low + (high - low) / 2;
        if (!rf_image_read(image, cfi.table + mid * sizeof e, &e, sizeof e))
            return false;
        uint64_t at = cfi.hdr + (uint64_t)(int64_t)e.function;
        if (at <= addr) {
            *start = at;
            found = true;
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return found;
}

bool rf_image_separate_at(const struct rf_image *image, uint64_t addr, struct rf_symbol *out)
{
    const struct rf_image *file = rf_elf_separate(image);
    if (!file || !rf_image_function_at(file, addr - image->bias, out))
        return false;
    out->addr += image->bias;
    return true;
}

/* Where the code that was inlined as this entry says was called. */
static void called_at(Dwarf_Die *unit, Dwarf_Die *inlined, struct rf_place_in_source *out)
{
    Dwarf_Attribute attribute;
    Dwarf_Word line = 0, index = 0;
    Dwarf_Files *files;
    size_t n;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) == 0)
        out->line = (uint32_t)line;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &index) == 0 &&
        dwarf_getsrcfiles(unit, &files, &n) == 0 && index < n)
        out->file = dwarf_filesrc(files, (size_t)index, NULL, NULL);
}

/* What is inlined at the address, outermost first: each is called from where the one before it is. */
static size_t add_inlined(Dwarf_Die *unit, Dwarf_Addr at, struct rf_place_in_source out[RF_INLINED_MAX])
{
    Dwarf_Die *scopes = NULL, *nest = NULL;
    size_t n = 1;
    int depth = dwarf_getscopes(unit, at, &scopes);
    depth = depth > 0 ? dwarf_getscopes_die(&scopes[0], &nest) : 0;
    for (int i = depth; i-- > 0 && n < RF_INLINED_MAX;) {
        if (dwarf_tag(&nest[i]) != DW_TAG_inlined_subroutine)
            continue;
        const char *name = dwarf_diename(&nest[i]);
        if (!name)
            continue;
        called_at(unit, &nest[i], &out[n - 1]);
        out[n++] = (struct rf_place_in_source){.inlined = name};
    }
    free(scopes);
    free(nest);
    return n;
}

size_t rf_image_places(const struct rf_image *image, uint64_t addr, struct rf_place_in_source out[RF_INLINED_MAX])
{
    Dwarf_Die unit;
    int number = 0;
    Dwarf_Addr at = addr - image->bias;
    Dwarf *debug = rf_image_dwarf(image);
    if (!debug || !rf_dwarf_unit_at(debug, at, &unit))
        return 0;
    out[0] = (struct rf_place_in_source){.inlined = NULL};
    size_t n = add_inlined(&unit, at, out);
    Dwarf_Line *l = dwarf_getsrc_die(&unit, at);
    if (l && dwarf_lineno(l, &number) == 0) {
        out[n - 1].file = dwarf_linesrc(l, NULL, NULL);
        out[n - 1].line = number > 0 ? (uint32_t)number : 0;
    }
    return n;
}
