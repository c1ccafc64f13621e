/* span.c: named spans. They are read out of the snapshot only: the texts may be gone as soon as the thread runs on. */
#include "span.h"

#include "rfprof_span.h"

#include <elf.h>
#include <string.h>

void rf_spans_find(struct rf_spans *spans, const struct rf_images *images, const struct rf_memory *live)
{
    struct rf_symbol s;
    uint64_t size, align;
    spans->n = 0;
    for (size_t i = 0; i < rf_images_count(images) && spans->n < RF_SPANS_MAX; i++) {
        const struct rf_image *image = rf_images_get(images, i);
        if (!rf_image_tls(image, &size, &align) || size < sizeof(struct rfprof_span)) /* so its symbols are not read */
            continue;
        if (!rf_image_find(image, "rfprof_span", &s) || s.type != STT_TLS || s.size < sizeof(struct rfprof_span))
            continue;
        spans->at[spans->n].tls = rf_tls_of(image, live);
        spans->at[spans->n].offset = s.addr;
        spans->n += spans->at[spans->n].tls.kind != RF_TLS_NONE;
    }
}

/* Bytes of a text that lie on the page where it begins: the next one may not be there. */
static uint32_t on_page(uint64_t addr, uint32_t size)
{
    uint32_t left = RF_PAGE - (uint32_t)(addr % RF_PAGE);
    return left < size ? left : size;
}

static void ask_text(const char *text, uint32_t size, void (*ask)(void *ctx, uint64_t addr, uint32_t size), void *ctx)
{
    uint64_t addr = (uint64_t)(uintptr_t)text;
    uint32_t first = on_page(addr, size);
    ask(ctx, addr, first);
    if (first < size)
        ask(ctx, addr + first, size - first);
}

void rf_spans_select(const struct rf_spans *spans, const struct rf_snapshot *s,
                     void (*ask)(void *ctx, uint64_t addr, uint32_t size), void *ctx)
{
    for (size_t i = 0; i < spans->n; i++) {
        const struct rf_tls *t = &spans->at[i].tls;
        struct rfprof_span span;
        uint64_t dtv, addr;
        if (t->kind == RF_TLS_DTV) {
            ask(ctx, s->fs_base + RF_DTV_POINTER, 8);
            if (!rf_read_u64(&s->memory, s->fs_base + RF_DTV_POINTER, &dtv))
                continue;
            ask(ctx, dtv - RF_DTV_ENTRY, 8);
            ask(ctx, dtv + RF_DTV_ENTRY * t->module, 8);
        }
        if (!rf_tls_at(t, &s->memory, s->fs_base, spans->at[i].offset, &addr) || !addr)
            continue;
        ask(ctx, addr, sizeof span);
        if (!rf_read(&s->memory, addr, &span, sizeof span) || span.version != RFPROF_SPAN_VERSION || !span.file)
            continue;
        ask_text(span.file, RF_SPAN_FILE - 1, ask, ctx);
        if (span.function)
            ask_text(span.function, RF_SPAN_FUNCTION - 1, ask, ctx);
    }
}

/* As much of a text as was copied, up to its end. */
static bool read_text(const struct rf_snapshot *s, const char *text, char *to, uint32_t size)
{
    uint64_t addr = (uint64_t)(uintptr_t)text;
    uint32_t n = 0;
    while (n < size - 1) {
        uint32_t some = on_page(addr + n, size - 1 - n);
        if (!rf_read(&s->memory, addr + n, to + n, some))
            break;
        n += some;
        if (memchr(to + n - some, '\0', some))
            break;
    }
    to[n] = '\0';
    return n > 0 && to[0] != '\0';
}

bool rf_spans_read(const struct rf_spans *spans, const struct rf_snapshot *s, struct rf_named_span *named,
                   struct rf_frame *frame)
{
    for (size_t i = 0; i < spans->n; i++) {
        struct rfprof_span span;
        uint64_t addr;
        if (!rf_tls_at(&spans->at[i].tls, &s->memory, s->fs_base, spans->at[i].offset, &addr) || !addr ||
            !rf_read(&s->memory, addr, &span, sizeof span) || span.version != RFPROF_SPAN_VERSION ||
            span.sequence % 2 || !span.file || !read_text(s, span.file, named->file, sizeof named->file))
            continue;
        if (!span.function || !read_text(s, span.function, named->function, sizeof named->function))
            strcpy(named->function, "<span>");
        named->line = span.line <= INT32_MAX ? span.line : 0;
        *frame = (struct rf_frame){.kind = RF_KIND_RAYFALL,
                                   .file = {named->file, strlen(named->file)},
                                   .fn = {named->function, strlen(named->function)},
                                   .line = named->line,
                                   .named = true};
        return true;
    }
    return false;
}
