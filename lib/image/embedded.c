/* embedded.c: symbols of a stripped file that it carries along compressed, in .gnu_debugdata. */
#include "elf_file.h"

#include <lzma.h>
#include <stdlib.h>

/* A file in memory; a hostile one that unpacks to more, or wants more to be unpacked, has no such symbols. */
enum { UNPACKED_MAX = 64 << 20, MEMORY_MAX = 64 << 20, FIRST_SIZE = 64 << 10 };

static unsigned char *unpack(const unsigned char *from, size_t n, size_t *unpacked)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    lzma_ret r = lzma_stream_decoder(&stream, MEMORY_MAX, 0);
    size_t size = FIRST_SIZE;
    unsigned char *to = r == LZMA_OK ? malloc(size) : NULL;
    stream.next_in = from;
    stream.avail_in = n;
    while (to && r == LZMA_OK) {
        stream.next_out = to + stream.total_out;
        stream.avail_out = size - (size_t)stream.total_out;
        r = lzma_code(&stream, LZMA_FINISH);
        if (r != LZMA_OK || stream.avail_out > 0)
            continue;
        unsigned char *more = size < UNPACKED_MAX ? realloc(to, 2 * size) : NULL;
        size *= 2;
        if (!more)
            break;
        to = more;
    }
    *unpacked = (size_t)stream.total_out;
    lzma_end(&stream);
    if (r == LZMA_STREAM_END)
        return to;
    free(to);
    return NULL;
}

struct rf_image *rf_elf_embedded(const struct rf_image *image)
{
    struct rf_image *embedded = NULL;
    const struct rf_section *s = &image->debugdata;
    if (s->size == 0 || s->size > RF_SECTION_MAX || s->off > image->size || s->size > image->size - s->off)
        return NULL;
    unsigned char *packed = malloc((size_t)s->size), *bytes = NULL;
    size_t n = 0;
    if (packed && rf_elf_bytes(image, s->off, packed, (size_t)s->size))
        bytes = unpack(packed, (size_t)s->size, &n);
    free(packed);
    if (bytes && rf_elf_load(&embedded, image->path, -1, bytes, n, NULL) != RF_OK)
        embedded = NULL;
    return embedded;
}
