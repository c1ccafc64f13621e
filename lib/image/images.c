/* images.c: the ELF files of a process: which are mapped where, and the right file behind each mapping. */
#include "elf_file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { IMAGES_MAX = 512, RANGES_MAX = 4096 };

struct range { /* an executable mapping */
    uint64_t start, end, offset, dev, inode;
    const struct rf_image *image; /* NULL: its file could not be opened, or is not ELF */
};

struct rf_images {
    const struct rf_process *process;
    struct rf_maps maps;
    struct rf_image **image;
    size_t n;
    struct range *range; /* ascending */
    size_t n_ranges;
};

/* --- the right file ----------------------------------------------------------------------------------------- */

struct first_page { /* the beginning of a file as the target has it in memory */
    const struct rf_process *process;
    uint64_t start, size;
};

static bool read_mapped(void *ctx, uint64_t off, void *to, size_t n)
{
    const struct first_page *m = ctx;
    return off <= m->size && n <= m->size - off && rf_read(&m->process->memory, m->start + off, to, n);
}

/* The build-id in the target's memory, from the mapping that shows the file's beginning. */
static void mapped_build_id(const struct rf_images *set, const struct rf_map *like, char hex[2 * RF_BUILD_ID_MAX + 1])
{
    Elf64_Ehdr ehdr;
    Elf64_Phdr phdr[RF_PHDRS_MAX];
    hex[0] = '\0';
    for (size_t i = 0; i < set->maps.n; i++) {
        const struct rf_map *m = &set->maps.v[i];
        if (m->offset != 0 || m->inode != like->inode || m->dev_major != like->dev_major ||
            m->dev_minor != like->dev_minor)
            continue;
        struct first_page page = {set->process, m->start, m->end - m->start};
        if (read_mapped(&page, 0, &ehdr, sizeof ehdr) && memcmp(ehdr.e_ident, ELFMAG, SELFMAG) == 0 &&
            ehdr.e_phentsize == sizeof *phdr && ehdr.e_phnum <= RF_PHDRS_MAX &&
            read_mapped(&page, ehdr.e_phoff, phdr, ehdr.e_phnum * sizeof *phdr))
            rf_elf_build_id(phdr, ehdr.e_phnum, read_mapped, &page, hex);
        return;
    }
}

/* Opens one candidate; it counts when its inode is that of the mapping or, since overlayfs and btrfs show other
 * numbers in the maps than stat(2) does, when its build-id is the one in memory. */
static struct rf_image *try_file(const struct rf_images *set, const char *file, const char *name,
                                 const struct rf_map *m, bool sure)
{
    struct stat st;
    struct rf_image *image;
    char hex[2 * RF_BUILD_ID_MAX + 1];
    int fd = rf_elf_open(file, &st);
    if (fd < 0 || rf_elf_load(&image, name, fd, NULL, (uint64_t)st.st_size, NULL) != RF_OK)
        return NULL;
    if (sure || (st.st_ino == m->inode && st.st_dev == makedev(m->dev_major, m->dev_minor)))
        return image;
    mapped_build_id(set, m, hex);
    if (hex[0] && strcmp(hex, image->build_id) == 0)
        return image;
    rf_image_close_file(image);
    return NULL;
}

/* Does the maps' " (deleted)" mean that, or is the file named so? */
static bool was_deleted(const struct rf_images *set, const struct rf_map *m, size_t *name_length)
{
    static const char mark[] = " (deleted)";
    struct stat st;
    char *file = NULL;
    size_t n = strlen(m->path), cut = sizeof mark - 1;
    *name_length = n;
    if (n <= cut || strcmp(m->path + n - cut, mark) != 0)
        return false;
    bool there = false;
    if (asprintf(&file, "/proc/%d/root%s", (int)set->process->pid, m->path) >= 0) {
        there = stat(file, &st) == 0 && st.st_ino == m->inode;
        free(file);
    }
    *name_length = there ? n : n - cut;
    return !there;
}

static struct rf_image *open_mapped(const struct rf_images *set, const struct rf_map *m)
{
    struct rf_image *image = NULL;
    size_t n;
    bool deleted = was_deleted(set, m, &n);
    char *file = NULL, *name = strndup(m->path, n);
    if (!name)
        return NULL;
    /* map_files(5) needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE; exe and root need what ptrace needs. */
    if (asprintf(&file, "/proc/%d/map_files/%lx-%lx", (int)set->process->pid, (unsigned long)m->start,
                 (unsigned long)m->end) >= 0) {
        image = try_file(set, file, name, m, true);
        free(file);
    }
    if (!image && asprintf(&file, "/proc/%d/exe", (int)set->process->pid) >= 0) {
        image = try_file(set, file, name, m, false);
        free(file);
    }
    if (!image && name[0] == '/' && asprintf(&file, "/proc/%d/root%s", (int)set->process->pid, name) >= 0) {
        image = try_file(set, file, name, m, false);
        free(file);
    }
    free(name);
    if (image)
        image->deleted = deleted;
    return image;
}

/* The vdso is in no file; its frames are frequent (clock_gettime), so it is copied whole. */
static struct rf_image *copy_vdso(const struct rf_images *set, const struct rf_map *m)
{
    uint64_t size = m->end - m->start;
    struct rf_image *image;
    if (size > RF_VDSO_MAX)
        return NULL;
    unsigned char *bytes = malloc((size_t)size);
    if (!bytes)
        return NULL;
    if (!rf_read(&set->process->memory, m->start, bytes, (size_t)size)) {
        free(bytes);
        return NULL;
    }
    return rf_elf_load(&image, m->path, -1, bytes, size, NULL) == RF_OK ? image : NULL;
}

/* --- the set ------------------------------------------------------------------------------------------------ */

static bool is_vdso(const struct rf_map *m)
{
    return strcmp(m->path, "[vdso]") == 0;
}

static uint64_t device_of(const struct rf_map *m)
{
    return makedev(m->dev_major, m->dev_minor);
}

/* The image of a mapping: one that is known, else a new one. */
static const struct rf_image *image_of(struct rf_images *set, const struct rf_map *m)
{
    uint64_t bias;
    for (size_t i = 0; i < set->n; i++) {
        /* A file that is mapped twice (dlmopen(3)) is two images: each has its own bias. */
        if (set->image[i]->inode == m->inode && set->image[i]->dev == device_of(m) &&
            (m->inode != 0 || strcmp(set->image[i]->path, m->path) == 0) &&
            rf_elf_bias(set->image[i], m->start, m->offset, &bias) && bias == set->image[i]->bias)
            return set->image[i];
    }
    if (set->n == IMAGES_MAX)
        return NULL;
    struct rf_image *image = is_vdso(m) ? copy_vdso(set, m) : open_mapped(set, m);
    if (!image)
        return NULL;
    if (!rf_elf_bias(image, m->start, m->offset, &image->bias)) {
        rf_image_close_file(image);
        return NULL;
    }
    image->inode = m->inode;
    image->dev = device_of(m);
    snprintf(image->root, sizeof image->root, "/proc/%d/root", (int)set->process->pid);
    set->image[set->n++] = image;
    return image;
}

static bool is_code(const struct rf_map *m)
{
    return m->perms[2] == 'x' && (m->inode != 0 || is_vdso(m));
}

/* True when the executable mappings are those that the ranges were made from. */
static bool same_code(const struct rf_images *set)
{
    size_t k = 0;
    for (size_t i = 0; i < set->maps.n && k < RANGES_MAX; i++) {
        const struct rf_map *m = &set->maps.v[i];
        if (!is_code(m))
            continue;
        if (k == set->n_ranges)
            return false;
        const struct range *r = &set->range[k++];
        if (r->start != m->start || r->end != m->end || r->offset != m->offset || r->inode != m->inode ||
            r->dev != device_of(m))
            return false;
    }
    return k == set->n_ranges;
}

static void make_ranges(struct rf_images *set)
{
    set->n_ranges = 0;
    for (size_t i = 0; i < set->maps.n && set->n_ranges < RANGES_MAX; i++) {
        const struct rf_map *m = &set->maps.v[i];
        if (is_code(m))
            set->range[set->n_ranges++] = (struct range){.start = m->start,
                                                         .end = m->end,
                                                         .offset = m->offset,
                                                         .dev = device_of(m),
                                                         .inode = m->inode,
                                                         .image = image_of(set, m)};
    }
}

enum rf_status rf_images_open(struct rf_images **out, const struct rf_process *p, struct rf_error *err)
{
    enum rf_status status = RF_FAILURE;
    struct rf_images *set = calloc(1, sizeof *set);
    *out = NULL;
    if (!set)
        return rf_fail(err, RF_FAILURE, ENOMEM, "out of memory");
    set->process = p;
    set->image = calloc(IMAGES_MAX, sizeof(struct rf_image *));
    set->range = calloc(RANGES_MAX, sizeof *set->range);
    if (!set->image || !set->range) {
        rf_fail(err, RF_FAILURE, ENOMEM, "out of memory");
        goto fail;
    }
    status = rf_maps_read(p, &set->maps, err);
    if (status != RF_OK)
        goto fail;
    make_ranges(set);
    *out = set;
    return RF_OK;
fail:
    rf_images_close(set);
    return status;
}

void rf_images_close(struct rf_images *set)
{
    if (!set)
        return;
    for (size_t i = 0; set->image && i < set->n; i++)
        rf_image_close_file(set->image[i]);
    free(set->image);
    free(set->range);
    rf_maps_free(&set->maps);
    free(set);
}

bool rf_images_refresh(struct rf_images *set)
{
    struct rf_maps now = {0};
    if (rf_maps_read(set->process, &now, NULL) != RF_OK)
        return false;
    rf_maps_free(&set->maps);
    set->maps = now;
    if (same_code(set))
        return false;
    make_ranges(set);
    return true;
}

const struct rf_maps *rf_images_maps(const struct rf_images *set)
{
    return &set->maps;
}

size_t rf_images_count(const struct rf_images *set)
{
    return set->n;
}

const struct rf_image *rf_images_get(const struct rf_images *set, size_t i)
{
    return i < set->n ? set->image[i] : NULL;
}

const struct rf_image *rf_images_at(const struct rf_images *set, uint64_t addr)
{
    size_t lo = 0, hi = set->n_ranges;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (set->range[mid].start <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo > 0 && addr < set->range[lo - 1].end ? set->range[lo - 1].image : NULL;
}
