/* symbols.c: names for addresses and addresses for names.
 *
 * The table is read at the first question: most libraries of a target are never asked. A rayforce release has
 * 2,000 to 5,000 symbols, so a name is found by a plain scan (some 20 us) and an address by bisection. */
#include "elf_file.h"

#include <stdlib.h>

size_t rf_symbol_base(const char *name)
{
    return (size_t)(strchrnul(name, '.') - name);
}

bool rf_symbol_is(const char *name, const char *base)
{
    while (name && *base && *name == *base) {
        name++;
        base++;
    }
    return name && !*base && (!*name || *name == '.');
}

/* Of several names for one address: global before weak before local, then one with a size. */
static unsigned char rank_of(const Elf64_Sym *s)
{
    unsigned bind = ELF64_ST_BIND(s->st_info);
    unsigned rank = bind == STB_GLOBAL || bind == STB_GNU_UNIQUE ? 4 : bind == STB_WEAK ? 2 : 0;
    return (unsigned char)(rank + (s->st_size != 0));
}

/* "$x", ".L12": marks of assemblers and compilers, not names of anything. */
static bool is_mapping_symbol(const char *name)
{
    return name[0] == '$' || strncmp(name, ".L", 2) == 0;
}

static bool is_function(unsigned char type)
{
    return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

static int by_address(const void *a, const void *b)
{
    const struct rf_elf_symbol *x = a, *y = b;
    if ((x->type == STT_TLS) != (y->type == STT_TLS))
        return x->type == STT_TLS ? 1 : -1;
    if (x->addr != y->addr)
        return x->addr < y->addr ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static void *read_section(const struct rf_image *image, struct rf_section s, size_t extra)
{
    if (s.size == 0 || s.size > RF_SECTION_MAX || s.off > image->size || s.size > image->size - s.off)
        return NULL;
    void *bytes = malloc((size_t)s.size + extra);
    if (bytes && !rf_elf_bytes(image, s.off, bytes, (size_t)s.size)) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

/* A symbol table that is being put together out of several. */
struct table {
    struct rf_elf_symbol *symbol;
    size_t n;
    char *names;
    size_t names_size;
};

/* True when the symbol is one to keep: it has a name, a section and a type of its own. */
static bool keep(const char *names, size_t names_size, const Elf64_Sym *s)
{
    unsigned char type = ELF64_ST_TYPE(s->st_info);
    if (s->st_shndx == SHN_UNDEF || s->st_shndx >= SHN_LORESERVE || s->st_name >= names_size)
        return false;
    return type != STT_SECTION && type != STT_FILE && names[s->st_name] != '\0' &&
           !is_mapping_symbol(names + s->st_name);
}

/* Room for so many more of both. */
static bool grow(struct table *t, size_t symbols, size_t names)
{
    if (t->names_size + names > UINT32_MAX)
        return false;
    struct rf_elf_symbol *s = realloc(t->symbol, (t->n + symbols) * sizeof *s);
    if (s)
        t->symbol = s;
    char *more = s ? realloc(t->names, t->names_size + names) : NULL;
    if (more)
        t->names = more;
    return more != NULL;
}

/* Adds the symbols of a file. */
static void add(struct table *t, const struct rf_image *image)
{
    Elf64_Sym *raw = read_section(image, image->symtab, 0);
    Elf64_Shdr *sections = read_section(image, image->shdrs, 0);
    char *names = read_section(image, image->strtab, 1);
    size_t n = (size_t)(image->symtab.size / sizeof *raw), size = (size_t)image->strtab.size;
    size_t n_sections = (size_t)(image->shdrs.size / sizeof *sections);
    if (!raw || !sections || !names || n == 0 || !grow(t, n, size + 1))
        goto out;
    names[size] = '\0';
    for (size_t i = 0; i < n; i++) {
        const Elf64_Sym *s = &raw[i];
        if (!keep(names, size, s))
            continue;
        t->symbol[t->n++] = (struct rf_elf_symbol){.addr = s->st_value,
                                                   .size = s->st_size,
                                                   .limit = s->st_shndx < n_sections ? sections[s->st_shndx].sh_addr +
                                                                                           sections[s->st_shndx].sh_size
                                                                                     : s->st_value,
                                                   .name = (uint32_t)(t->names_size + s->st_name),
                                                   .type = ELF64_ST_TYPE(s->st_info),
                                                   .rank = rank_of(s)};
    }
    memcpy(t->names + t->names_size, names, size + 1);
    t->names_size += size + 1;
out:
    free(raw);
    free(sections);
    free(names);
}

/* A stripped file may carry its symbols along compressed, or have them in a file of their own. */
static void add_from_elsewhere(struct table *t, const struct rf_image *image)
{
    struct rf_image *embedded = rf_elf_embedded(image);
    const struct rf_image *from = embedded ? embedded : rf_elf_separate(image);
    if (from && from->has_symtab) {
        add(t, from);
        image->late->symbols_in = strdup(embedded ? ".gnu_debugdata" : from->path);
    }
    rf_image_close_file(embedded);
}

void rf_elf_read_symbols(const struct rf_image *image)
{
    struct rf_image_late *late = image->late;
    struct table t = {.n = 0};
    if (late->symbols_read)
        return;
    late->symbols_read = true;
    add(&t, image);
    if (image->has_symtab)
        late->symbols_in = strdup(".symtab");
    else
        add_from_elsewhere(&t, image);
    if (t.n)
        qsort(t.symbol, t.n, sizeof *t.symbol, by_address);
    struct rf_elf_symbol *fit = t.n ? realloc(t.symbol, t.n * sizeof *t.symbol) : NULL;
    late->symbol = fit ? fit : t.symbol;
    late->n_symbols = t.n;
    late->names = t.names;
    while (late->n_addressed < t.n && late->symbol[late->n_addressed].type != STT_TLS)
        late->n_addressed++;
}

static void answer(const struct rf_image *image, const struct rf_elf_symbol *s, struct rf_symbol *out)
{
    *out = (struct rf_symbol){.name = image->late->names + s->name,
                              .addr = s->addr + (s->type == STT_TLS ? 0 : image->bias),
                              .size = s->size,
                              .type = s->type};
}

const char *rf_image_symbols_in(const struct rf_image *image)
{
    rf_elf_read_symbols(image);
    return image->late->symbols_in;
}

bool rf_image_find(const struct rf_image *image, const char *name, struct rf_symbol *out)
{
    const struct rf_elf_symbol *best = NULL;
    rf_elf_read_symbols(image);
    for (size_t i = 0; i < image->late->n_symbols; i++) {
        const struct rf_elf_symbol *s = &image->late->symbol[i];
        if ((!best || s->rank > best->rank) && strcmp(image->late->names + s->name, name) == 0)
            best = s;
    }
    if (best)
        answer(image, best, out);
    return best != NULL;
}

bool rf_image_find_base(const struct rf_image *image, const char *base, unsigned char type, struct rf_symbol *out)
{
    const struct rf_elf_symbol *best = NULL;
    size_t n = strlen(base);
    rf_elf_read_symbols(image);
    for (size_t i = 0; i < image->late->n_symbols; i++) {
        const struct rf_elf_symbol *s = &image->late->symbol[i];
        const char *name = image->late->names + s->name;
        if ((type == STT_NOTYPE || s->type == type) && (!best || s->size > best->size) && strncmp(name, base, n) == 0 &&
            (name[n] == '\0' || name[n] == '.'))
            best = s;
    }
    if (best)
        answer(image, best, out);
    return best != NULL;
}

bool rf_image_function_at(const struct rf_image *image, uint64_t addr, struct rf_symbol *out)
{
    /* A sized symbol that encloses addr may begin before smaller ones that lie in it (asm labels, .cold parts):
     * look back a little. One without a size counts only when it is the nearest. */
    enum { LOOK_BACK = 32 };
    uint64_t at = addr - image->bias;
    rf_elf_read_symbols(image);
    const struct rf_elf_symbol *v = image->late->symbol, *nearest = NULL;
    size_t lo = 0, hi = image->late->n_addressed;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (v[mid].addr <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (size_t i = lo, seen = 0; i > 0 && seen < LOOK_BACK; i--, seen++) {
        const struct rf_elf_symbol *s = &v[i - 1];
        if (!is_function(s->type))
            continue;
        if (s->size > 0 && at - s->addr < s->size) {
            answer(image, s, out);
            return true;
        }
        if (!nearest)
            nearest = s;
    }
    if (!nearest || nearest->size > 0 || at >= nearest->limit)
        return false;
    answer(image, nearest, out);
    return true;
}

void rf_image_each_symbol(const struct rf_image *image, bool (*visit)(void *ctx, const struct rf_symbol *s), void *ctx)
{
    rf_elf_read_symbols(image);
    for (size_t i = 0; i < image->late->n_symbols; i++) {
        struct rf_symbol s;
        answer(image, &image->late->symbol[i], &s);
        if (!visit(ctx, &s))
            return;
    }
}
