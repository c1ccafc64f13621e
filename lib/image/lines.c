/* lines.c: which function code without a symbol belongs to, and which source line an address belongs to.
 *
 * A stripped library still has call frame information, and that has an entry for each function: enough to tell its
 * functions apart; and symbols may be installed apart from it. Source lines come from DWARF through libdw, which reads
 * a section when it is first asked for it; images that nobody asks about cost nothing. */
#include "elf_file.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

enum { DEBUG_FILE_MAX = 1 << 30 }; /* debug information of larger files is not read */

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

static Dwarf *debug_information(const struct rf_image *image)
{
    struct rf_image_late *late = image->late;
    if (late->debug_read)
        return late->debug;
    late->debug_read = true;
    if (!image->has_dwarf || image->size > DEBUG_FILE_MAX)
        return NULL;
    elf_version(EV_CURRENT);
    late->debug_elf = image->fd >= 0 ? elf_begin(image->fd, ELF_C_READ, NULL)
                                     : elf_memory((char *)image->memory, (size_t)image->size);
    late->debug = late->debug_elf ? dwarf_begin_elf(late->debug_elf, DWARF_C_READ, NULL) : NULL;
    return late->debug;
}

bool rf_image_separate_at(const struct rf_image *image, uint64_t addr, struct rf_symbol *out)
{
    struct rf_image_late *late = image->late;
    char path[64 + 2 * RF_BUILD_ID_MAX];
    struct rf_error err;
    if (!late->separate_tried && strlen(image->build_id) > 2) {
        snprintf(path, sizeof path, "/usr/lib/debug/.build-id/%.2s/%s.debug", image->build_id, image->build_id + 2);
        if (rf_image_open_file(&late->separate, path, &err) == RF_OK &&
            strcmp(late->separate->build_id, image->build_id) != 0) {
            rf_image_close_file(late->separate);
            late->separate = NULL;
        }
    }
    late->separate_tried = true;
    if (!late->separate || !rf_image_function_at(late->separate, addr - image->bias, out))
        return false;
    out->addr += image->bias;
    return true;
}

void rf_elf_close_debug(struct rf_image_late *late)
{
    rf_image_close_file(late->separate);
    if (late->debug)
        dwarf_end(late->debug);
    if (late->debug_elf)
        elf_end(late->debug_elf);
}

/* The compilation unit with code at an address. Its index is optional (clang writes none): then each is asked. */
static bool unit_at(Dwarf *debug, Dwarf_Addr at, Dwarf_Die *unit)
{
    if (dwarf_addrdie(debug, at, unit))
        return true;
    Dwarf_Off offset = 0, next;
    size_t header;
    while (dwarf_nextcu(debug, offset, &next, &header, NULL, NULL, NULL) == 0) {
        if (dwarf_offdie(debug, offset + header, unit) && dwarf_haspc(unit, at) > 0)
            return true;
        offset = next;
    }
    return false;
}

/* Code that was inlined at the address belongs to the line that calls it: that of the function which has the symbol. */
static bool inlined_at(Dwarf_Die *unit, Dwarf_Addr at, const char **file, uint32_t *line)
{
    Dwarf_Die *inner = NULL, *outer = NULL;
    Dwarf_Attribute attribute;
    Dwarf_Word number = 0, index = 0;
    Dwarf_Files *files;
    size_t n_files;
    bool found = false;
    int n = dwarf_getscopes(unit, at, &inner);
    n = n > 0 ? dwarf_getscopes_die(&inner[0], &outer) : 0;
    for (int i = n; i-- > 0 && !found;)
        found = dwarf_tag(&outer[i]) == DW_TAG_inlined_subroutine &&
                dwarf_formudata(dwarf_attr(&outer[i], DW_AT_call_line, &attribute), &number) == 0 &&
                dwarf_formudata(dwarf_attr(&outer[i], DW_AT_call_file, &attribute), &index) == 0 &&
                dwarf_getsrcfiles(unit, &files, &n_files) == 0 && index < n_files &&
                (*file = dwarf_filesrc(files, (size_t)index, NULL, NULL)) != NULL;
    free(inner);
    free(outer);
    *line = (uint32_t)number;
    return found;
}

bool rf_image_line(const struct rf_image *image, uint64_t addr, const char **file, uint32_t *line)
{
    Dwarf_Die unit;
    int number = 0;
    Dwarf_Addr at = addr - image->bias;
    Dwarf *debug = debug_information(image);
    if (!debug || !unit_at(debug, at, &unit))
        return false;
    if (inlined_at(&unit, at, file, line))
        return true;
    Dwarf_Line *l = dwarf_getsrc_die(&unit, at);
    if (!l || dwarf_lineno(l, &number) != 0 || !(*file = dwarf_linesrc(l, NULL, NULL)))
        return false;
    *line = number > 0 ? (uint32_t)number : 0;
    return true;
}
