/* debug.c: finds the file with an image's debug information, and in it the unit of an address. */
#include "debug.h"

#include "debuginfod.h"
#include "elf_file.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

enum { DEBUG_FILE_MAX = 1 << 30 }; /* larger files are not read */

static void open_dwarf(const struct rf_image *from, struct rf_image_late *late)
{
    if (!from->has_dwarf || from->size > DEBUG_FILE_MAX)
        return;
    elf_version(EV_CURRENT);
    late->debug_elf =
        from->fd >= 0 ? elf_begin(from->fd, ELF_C_READ, NULL) : elf_memory((char *)from->memory, (size_t)from->size);
    late->debug = late->debug_elf ? dwarf_begin_elf(late->debug_elf, DWARF_C_READ, NULL) : NULL;
}

static bool same_build(const struct rf_image *image, const struct rf_image *file)
{
    return !image->build_id[0] || !file->build_id[0] || strcmp(image->build_id, file->build_id) == 0;
}

/* --- a file of its own ------------------------------------------------------------------------------------ */

/* As the linker's own tools compute it (binutils, objcopy --add-gnu-debuglink): zlib's. */
static bool has_crc(const struct rf_image *file, uint32_t wanted)
{
    unsigned char bytes[1 << 16];
    uLong crc = crc32(0, NULL, 0);
    for (uint64_t at = 0; at < file->size;) {
        size_t n = file->size - at < sizeof bytes ? (size_t)(file->size - at) : sizeof bytes;
        if (!rf_elf_bytes(file, at, bytes, n))
            return false;
        crc = crc32(crc, bytes, (uInt)n);
        at += n;
    }
    return crc == wanted;
}

static struct rf_image *open_separate(const struct rf_image *image, const char *path, const uint32_t *crc)
{
    struct rf_image *file;
    if (rf_image_open_file(&file, path, NULL) != RF_OK)
        return NULL;
    if (file->size <= DEBUG_FILE_MAX && same_build(image, file) && (!crc || has_crc(file, *crc)))
        return file;
    rf_image_close_file(file);
    return NULL;
}

static struct rf_image *by_build_id(const struct rf_image *image)
{
    char path[64 + 2 * RF_BUILD_ID_MAX];
    if (strlen(image->build_id) <= 2)
        return NULL;
    snprintf(path, sizeof path, "/usr/lib/debug/.build-id/%.2s/%s.debug", image->build_id, image->build_id + 2);
    struct rf_image *file = open_separate(image, path, NULL);
    if (file && !file->build_id[0]) { /* it is there by that name alone */
        rf_image_close_file(file);
        file = NULL;
    }
    return file;
}

/* The name in .gnu_debuglink and the CRC behind it. */
static bool read_link(const struct rf_image *image, char *name, size_t size, uint32_t *crc)
{
    GElf_Word found = 0;
    elf_version(EV_CURRENT);
    Elf *elf = image->fd >= 0 ? elf_begin(image->fd, ELF_C_READ, NULL)
                              : elf_memory((char *)image->memory, (size_t)image->size);
    const char *link = elf ? dwelf_elf_gnu_debuglink(elf, &found) : NULL;
    bool ok = link && *link && !strchr(link, '/') && strlen(link) < size;
    if (ok)
        snprintf(name, size, "%s", link);
    elf_end(elf);
    *crc = found;
    return ok;
}

/* Beside the executable, in .debug beside it, and below /usr/lib/debug; as the target sees its files, then as we do. */
static struct rf_image *by_link(const struct rf_image *image)
{
    static const char *const pattern[] = {"%s%.*s/%s", "%s%.*s/.debug/%s", "%s/usr/lib/debug%.*s/%s"};
    const char *roots[] = {image->root, ""};
    const char *slash = strrchr(image->path, '/');
    struct rf_image *file = NULL;
    char name[256];
    uint32_t crc;
    if (!slash || !read_link(image, name, sizeof name, &crc))
        return NULL;
    for (size_t r = image->root[0] ? 0 : 1; r < 2 && !file; r++)
        for (size_t i = 0; i < sizeof pattern / sizeof *pattern && !file; i++) {
            char *path;
            if (asprintf(&path, pattern[i], roots[r], (int)(slash - image->path), image->path, name) < 0)
                return NULL;
            file = open_separate(image, path, &crc);
            free(path);
        }
    return file;
}

const struct rf_image *rf_elf_separate(const struct rf_image *image)
{
    struct rf_image_late *late = image->late;
    if (!late->separate && !late->separate_tried) {
        late->separate = by_build_id(image);
        if (!late->separate)
            late->separate = by_link(image);
    }
    late->separate_tried = true;
    return late->separate;
}

/* --- answers ---------------------------------------------------------------------------------------------- */

Dwarf *rf_image_dwarf(const struct rf_image *image)
{
    struct rf_image_late *late = image->late;
    if (late->debug_read)
        return late->debug;
    late->debug_read = true;
    bool own = image->has_dwarf && !late->given;
    const struct rf_image *from = own ? image : rf_elf_separate(image);
    if (from)
        open_dwarf(from, late);
    return late->debug;
}

const char *rf_image_dwarf_path(const struct rf_image *image)
{
    const struct rf_image_late *late = image->late;
    if (!rf_image_dwarf(image))
        return NULL;
    return late->given || !image->has_dwarf ? late->separate->path : image->path;
}

void rf_elf_close_debug(struct rf_image_late *late)
{
    if (late->debug)
        dwarf_end(late->debug);
    if (late->debug_elf)
        elf_end(late->debug_elf);
    rf_image_close_file(late->separate);
    late->debug = NULL;
    late->debug_elf = NULL;
    late->separate = NULL;
    late->debug_read = late->separate_tried = late->given = false;
}

static void use(const struct rf_image *image, struct rf_image *file)
{
    struct rf_image_late *late = image->late;
    rf_elf_close_debug(late);
    late->separate = file;
    late->separate_tried = late->given = true;
}

static const char *id_of(const struct rf_image *image)
{
    return image->build_id[0] ? image->build_id : "none";
}

enum rf_status rf_image_use_debug_file(const struct rf_image *image, const char *path, struct rf_error *err)
{
    struct rf_image *file;
    if (rf_image_open_file(&file, path, err) != RF_OK)
        return err ? (err->status = RF_USAGE) : RF_USAGE;
    if (!image->build_id[0] || strcmp(file->build_id, image->build_id) != 0) {
        rf_fail(err, RF_USAGE, 0, "%s belongs to another build: its build-id is %s, that of %s is %s", path,
                id_of(file), image->path, id_of(image));
        rf_hint(err, "give the debug file that was split off this very executable");
    } else if (!file->has_dwarf) {
        rf_fail(err, RF_USAGE, 0, "%s has no debug information (.debug_info)", path);
        rf_hint(err, "it has to be built with -g");
    } else {
        use(image, file);
        return RF_OK;
    }
    rf_image_close_file(file);
    return RF_USAGE;
}

enum rf_status rf_image_ask_debuginfod(const struct rf_image *image, struct rf_error *err)
{
    struct stat st;
    struct rf_image *file;
    int fd = -1;
    if (rf_image_dwarf(image))
        return RF_OK;
    if (!image->build_id[0])
        return rf_fail(err, RF_FAILURE, 0, "%s has no build-id to ask debuginfod for", image->path);
    enum rf_status status = rf_debuginfod_fetch(image->build_id, &fd, err);
    if (status != RF_OK)
        return status;
    if (fstat(fd, &st) != 0) {
        close(fd);
        return rf_fail(err, RF_FAILURE, errno, "cannot look at what debuginfod returned: %s", strerror(errno));
    }
    status = rf_elf_load(&file, "debuginfod", fd, NULL, (uint64_t)st.st_size, err);
    if (status != RF_OK)
        return status;
    if (!file->has_dwarf || strcmp(file->build_id, image->build_id) != 0) {
        rf_fail(err, RF_FAILURE, 0, "debuginfod returned a file with build-id %s%s, asked for was %s", id_of(file),
                file->has_dwarf ? "" : " and without debug information", image->build_id);
        rf_image_close_file(file);
        return RF_FAILURE;
    }
    use(image, file);
    return RF_OK;
}

/* --- in it ------------------------------------------------------------------------------------------------- */

/* The index of units is optional (clang writes none): then each is asked. */
bool rf_dwarf_unit_at(Dwarf *debug, Dwarf_Addr at, Dwarf_Die *unit)
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

bool rf_dwarf_function_at(Dwarf_Die *unit, Dwarf_Addr at, Dwarf_Die *function)
{
    if (dwarf_child(unit, function) != 0)
        return false;
    do {
        if (dwarf_tag(function) == DW_TAG_subprogram && dwarf_haspc(function, at) > 0)
            return true;
    } while (dwarf_siblingof(function, function) == 0);
    return false;
}
