/* elf_file.c: one ELF file: its headers through libelf, its bytes through pread and a page cache, its CFI header.
 *
 * Files belong to the target and may be corrupt on purpose: every offset and size is compared with what the file
 * has before it is used, and nothing is trusted because another field agrees with it. */
#include "elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <stdlib.h>
#include <unistd.h>

/* --- bytes ---------------------------------------------------------------------------------------------- */

int rf_elf_open(const char *path, struct stat *st)
{
    /* O_PATH does not open a device; the second open is of the very inode that was looked at. */
    char self[64];
    int fd = -1;
    int looked = open(path, O_PATH | O_CLOEXEC);
    if (looked < 0)
        return -1;
    if (fstat(looked, st) == 0) {
        if (S_ISREG(st->st_mode)) {
            snprintf(self, sizeof self, "/proc/self/fd/%d", looked);
            fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        } else {
            errno = EINVAL;
        }
    }
    int saved = errno;
    close(looked);
    errno = saved;
    return fd;
}

static size_t read_file(int fd, uint64_t off, unsigned char *to, size_t n)
{
    size_t got = 0;
    while (got < n) {
        ssize_t r = pread(fd, to + got, n - got, (off_t)(off + got));
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            break;
        got += (size_t)r;
    }
    return got;
}

bool rf_elf_bytes(const struct rf_image *image, uint64_t off, void *to, size_t n)
{
    if (off > image->size || n > image->size - off)
        return false;
    if (image->fd < 0) {
        memcpy(to, image->memory + off, n);
        return true;
    }
    return read_file(image->fd, off, to, n) == n;
}

/* The same through the page cache, for small reads that come back: code and CFI. */
static bool cached_bytes(const struct rf_image *image, uint64_t off, unsigned char *to, size_t n)
{
    if (image->fd < 0)
        return rf_elf_bytes(image, off, to, n);
    if (off > image->size || n > image->size - off)
        return false;
    while (n > 0) {
        uint64_t start = off & ~(uint64_t)(RF_FILE_PAGE - 1);
        size_t in = (size_t)(off - start), slot = (size_t)(start / RF_FILE_PAGE) % RF_CACHE_PAGES;
        struct rf_file_page *page = &image->late->page[slot];
        if (!page->bytes && !(page->bytes = malloc(RF_FILE_PAGE)))
            return false;
        if (page->n == 0 || page->off != start) {
            page->off = start;
            page->n = read_file(image->fd, start, page->bytes, RF_FILE_PAGE);
        }
        if (in >= page->n)
            return false;
        size_t part = page->n - in < n ? page->n - in : n;
        memcpy(to, page->bytes + in, part);
        if (part < n && page->n < RF_FILE_PAGE)
            return false;
        to += part;
        off += part;
        n -= part;
    }
    return true;
}

bool rf_image_read(const struct rf_image *image, uint64_t addr, void *to, size_t n)
{
    uint64_t at = addr - image->bias, in = at - image->late->made_at;
    for (size_t i = 0; i < image->n_phdrs; i++) {
        const Elf64_Phdr *p = &image->phdr[i];
        if (p->p_type == PT_LOAD && at >= p->p_vaddr && at - p->p_vaddr < p->p_filesz)
            return n <= p->p_filesz - (at - p->p_vaddr) && cached_bytes(image, p->p_offset + (at - p->p_vaddr), to, n);
    }
    if (in >= image->late->made_size || n > image->late->made_size - in)
        return false;
    memcpy(to, image->late->made + in, n);
    return true;
}

/* --- headers -------------------------------------------------------------------------------------------- */

void rf_elf_build_id(const Elf64_Phdr *phdr, size_t n, bool (*read)(void *ctx, uint64_t off, void *to, size_t size),
                     void *ctx, char hex[2 * RF_BUILD_ID_MAX + 1])
{
    hex[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (phdr[i].p_type != PT_NOTE)
            continue;
        /* gabi, "Note Section": a header of three words, then name and contents, each padded to a word. (Notes
         * aligned to 8 hold properties, never a build-id, and their paddings differ.) */
        uint64_t off = phdr[i].p_offset, end = off + phdr[i].p_filesz;
        for (unsigned step = 0; step < 64 && end >= off && end - off >= sizeof(Elf64_Nhdr); step++) {
            Elf64_Nhdr note;
            unsigned char id[RF_BUILD_ID_MAX];
            char name[4];
            if (!read(ctx, off, &note, sizeof note))
                break;
            uint64_t name_at = off + sizeof note, desc_at = name_at + (((uint64_t)note.n_namesz + 3) & ~(uint64_t)3);
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof name && note.n_descsz > 0 &&
                note.n_descsz <= sizeof id && read(ctx, name_at, name, sizeof name) && memcmp(name, "GNU", 4) == 0 &&
                read(ctx, desc_at, id, note.n_descsz)) {
                for (size_t k = 0; k < note.n_descsz; k++)
                    snprintf(hex + 2 * k, 3, "%02x", id[k]);
                return;
            }
            off = desc_at + (((uint64_t)note.n_descsz + 3) & ~(uint64_t)3);
        }
    }
}

static bool read_image(void *ctx, uint64_t off, void *to, size_t n)
{
    return rf_elf_bytes(ctx, off, to, n);
}

/* Each object that was linked left a string, those of the C library's start files too. The project's own compiler is
 * clang where that is named, else the newest. */
static void read_comment(struct rf_image *image, const Elf64_Shdr *s)
{
    char text[1024];
    size_t n = s->sh_size < sizeof text - 1 ? (size_t)s->sh_size : sizeof text - 1;
    if (!rf_elf_bytes(image, s->sh_offset, text, n))
        return;
    text[n] = '\0';
    for (const char *at = text; at < text + n; at += strlen(at) + 1) {
        bool better = strstr(at, "clang version") || strverscmp(at, image->comment) > 0;
        if (better && !strstr(image->comment, "clang version"))
            snprintf(image->comment, sizeof image->comment, "%.127s", at);
    }
}

/* Reads what the section headers tell. Files without them (sstrip) are fine: they just have no symbols. */
static void scan_sections(struct rf_image *image, Elf *elf, const Elf64_Ehdr *ehdr)
{
    size_t names;
    bool dynsym = false;
    if (elf_getshdrstrndx(elf, &names) != 0 || ehdr->e_shentsize != sizeof(Elf64_Shdr))
        return;
    image->shdrs = (struct rf_section){ehdr->e_shoff, (uint64_t)ehdr->e_shnum * sizeof(Elf64_Shdr)};
    for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
        const Elf64_Shdr *s = elf64_getshdr(scn);
        const char *name = s ? elf_strptr(elf, names, s->sh_name) : NULL;
        if (!name || s->sh_type == SHT_NOBITS)
            continue;
        if (s->sh_type == SHT_SYMTAB || (s->sh_type == SHT_DYNSYM && !image->has_symtab && !dynsym)) {
            Elf_Scn *link = elf_getscn(elf, s->sh_link);
            const Elf64_Shdr *str = link ? elf64_getshdr(link) : NULL;
            if (!str || str->sh_type != SHT_STRTAB || s->sh_entsize != sizeof(Elf64_Sym))
                continue;
            image->symtab = (struct rf_section){s->sh_offset, s->sh_size};
            image->strtab = (struct rf_section){str->sh_offset, str->sh_size};
            image->has_symtab = s->sh_type == SHT_SYMTAB;
            dynsym = s->sh_type == SHT_DYNSYM;
        } else if (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0) {
            image->has_dwarf = true;
        } else if (strcmp(name, ".plt") == 0) {
            image->plt = (struct rf_section){s->sh_addr, s->sh_size};
        } else if (strcmp(name, ".eh_frame") == 0) {
            image->eh_frame = (struct rf_section){s->sh_addr, s->sh_size};
        } else if (strcmp(name, ".gnu_debugdata") == 0) {
            image->debugdata = (struct rf_section){s->sh_offset, s->sh_size};
        } else if (strcmp(name, ".comment") == 0) {
            read_comment(image, s);
        }
    }
}

/* Headers through libelf, on our descriptor or bytes. */
static bool scan_headers(struct rf_image *image)
{
    bool ok = false;
    size_t n = 0;
    unsigned char ident[EI_NIDENT];
    elf_version(EV_CURRENT);
    /* libelf would take archives, too. */
    if (!rf_elf_bytes(image, 0, ident, sizeof ident) || memcmp(ident, ELFMAG, SELFMAG) != 0)
        return false;
    Elf *elf = image->fd >= 0 ? elf_begin(image->fd, ELF_C_READ, NULL)
                              : elf_memory((char *)image->memory, (size_t)image->size);
    const Elf64_Ehdr *ehdr = elf ? elf64_getehdr(elf) : NULL;
    if (!ehdr || ehdr->e_machine != EM_X86_64 || ehdr->e_ident[EI_DATA] != ELFDATA2LSB ||
        (ehdr->e_type != ET_EXEC && ehdr->e_type != ET_DYN))
        goto out;
    if (ehdr->e_shnum == 0 && ehdr->e_shoff != 0) /* more than 65279 sections: nothing that anyone runs */
        goto out;
    const Elf64_Phdr *phdr = elf64_getphdr(elf);
    if (!phdr || elf_getphdrnum(elf, &n) != 0 || n == 0 || n > RF_PHDRS_MAX)
        goto out;
    memcpy(image->phdr, phdr, n * sizeof *phdr);
    image->n_phdrs = n;
    image->type = ehdr->e_type;
    rf_elf_build_id(image->phdr, n, read_image, image, image->build_id);
    scan_sections(image, elf, ehdr);
    ok = true;
out:
    elf_end(elf);
    return ok;
}

enum rf_status rf_elf_load(struct rf_image **out, const char *path, int fd, unsigned char *memory, uint64_t size,
                           struct rf_error *err)
{
    struct rf_image *image = calloc(1, sizeof *image);
    *out = NULL;
    if (!image) {
        if (fd >= 0)
            close(fd);
        free(memory);
        return rf_fail(err, RF_FAILURE, ENOMEM, "out of memory");
    }
    image->fd = fd;
    image->memory = memory;
    image->size = size;
    image->path = strdup(path);
    image->late = calloc(1, sizeof *image->late);
    if (!image->path || !image->late) {
        rf_image_close_file(image);
        return rf_fail(err, RF_FAILURE, ENOMEM, "out of memory");
    }
    if (!scan_headers(image)) {
        rf_image_close_file(image);
        return rf_fail(err, RF_FAILURE, 0, "%s: not an x86-64 ELF executable or library", path);
    }
    *out = image;
    return RF_OK;
}

enum rf_status rf_image_open_file(struct rf_image **out, const char *path, struct rf_error *err)
{
    struct stat st;
    *out = NULL;
    int fd = rf_elf_open(path, &st);
    if (fd < 0)
        return rf_fail(err, RF_FAILURE, errno, "cannot open %s: %s", path, strerror(errno));
    return rf_elf_load(out, path, fd, NULL, (uint64_t)st.st_size, err);
}

void rf_image_close_file(struct rf_image *image)
{
    if (!image)
        return;
    if (image->late) {
        for (size_t i = 0; i < RF_CACHE_PAGES; i++)
            free(image->late->page[i].bytes);
        rf_elf_close_debug(image->late);
        free(image->late->made);
        free(image->late->symbol);
        free(image->late->symbols_in);
        free(image->late->names);
    }
    free(image->late);
    if (image->fd >= 0)
        close(image->fd);
    free(image->memory);
    free(image->path);
    free(image);
}

bool rf_elf_bias(const struct rf_image *image, uint64_t start, uint64_t offset, uint64_t *bias)
{
    for (size_t i = 0; i < image->n_phdrs; i++) {
        const Elf64_Phdr *p = &image->phdr[i];
        uint64_t first = p->p_offset & ~(uint64_t)(RF_FILE_PAGE - 1);
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && offset >= first &&
            offset - first < p->p_filesz + RF_FILE_PAGE && offset < p->p_offset + p->p_filesz) {
            *bias = start - offset + p->p_offset - p->p_vaddr;
            return true;
        }
    }
    return false;
}

/* --- answers from the headers ----------------------------------------------------------------------------- */

const char *rf_image_path(const struct rf_image *image)
{
    return image->path;
}

bool rf_image_is_deleted(const struct rf_image *image)
{
    return image->deleted;
}

uint64_t rf_image_bias(const struct rf_image *image)
{
    return image->bias;
}

const char *rf_image_build_id(const struct rf_image *image)
{
    return image->build_id;
}

bool rf_image_has_symtab(const struct rf_image *image)
{
    return image->has_symtab;
}

bool rf_image_has_dwarf(const struct rf_image *image)
{
    return image->has_dwarf;
}

const char *rf_image_comment(const struct rf_image *image)
{
    return image->comment;
}

bool rf_image_tls(const struct rf_image *image, uint64_t *memsz, uint64_t *align)
{
    for (size_t i = 0; i < image->n_phdrs; i++) {
        if (image->phdr[i].p_type == PT_TLS) {
            *memsz = image->phdr[i].p_memsz;
            *align = image->phdr[i].p_align;
            return true;
        }
    }
    return false;
}

/* --- call frame information --------------------------------------------------------------------------------- */

/* LSB Core, "DWARF Extensions": version, three encodings, the address of .eh_frame, the count, the table. Linkers
 * have written one set of encodings since 2002; with any other there is no table for a binary search. */
static bool read_cfi(const struct rf_image *image, struct rf_cfi *cfi)
{
    enum { VERSION = 1, PCREL_SDATA4 = 0x1b, UDATA4 = 0x03, DATAREL_SDATA4 = 0x3b };
    unsigned char head[4];
    uint32_t count;
    const Elf64_Phdr *hdr = NULL;
    *cfi = (struct rf_cfi){.start = UINT64_MAX};
    for (size_t i = 0; i < image->n_phdrs; i++) {
        const Elf64_Phdr *p = &image->phdr[i];
        if (p->p_type == PT_GNU_EH_FRAME) {
            hdr = p;
        } else if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && p->p_vaddr + p->p_memsz > p->p_vaddr) {
            if (p->p_vaddr < cfi->start)
                cfi->start = p->p_vaddr;
            if (p->p_vaddr + p->p_memsz > cfi->end)
                cfi->end = p->p_vaddr + p->p_memsz;
        }
    }
    if (cfi->start >= cfi->end)
        return false;
    if (!hdr) {
        rf_elf_make_cfi(image, cfi);
        return cfi->entries > 0;
    }
    if (hdr->p_filesz < 12)
        return false;
    if (!rf_image_read(image, hdr->p_vaddr + image->bias, head, sizeof head) || head[0] != VERSION ||
        head[1] != PCREL_SDATA4 || head[2] != UDATA4 || head[3] != DATAREL_SDATA4 ||
        !rf_image_read(image, hdr->p_vaddr + image->bias + 8, &count, sizeof count))
        return false;
    cfi->hdr = hdr->p_vaddr;
    cfi->table = hdr->p_vaddr + 12;
    cfi->entries = count;
    return count > 0 && count <= (hdr->p_filesz - 12) / 8;
}

bool rf_image_cfi(const struct rf_image *image, struct rf_cfi *out)
{
    if (!image->late->cfi_read) {
        image->late->cfi_found = read_cfi(image, &image->late->cfi);
        image->late->cfi_read = true;
    }
    if (!image->late->cfi_found)
        return false;
    *out = image->late->cfi;
    out->start += image->bias;
    out->end += image->bias;
    out->hdr += image->bias;
    out->table += image->bias;
    return true;
}
