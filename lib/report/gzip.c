/* gzip.c: zlib, with memory on one side and a file on the other. */
#include "gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 65536, WINDOW = 15, AS_GZIP = 16 };

static void deflate_all(struct rf_gzip *g, int flush)
{
    unsigned char out[BLOCK];
    do {
        g->z.next_out = out;
        g->z.avail_out = sizeof out;
        if (deflate(&g->z, flush) == Z_STREAM_ERROR)
            g->failed = true;
        fwrite(out, 1, sizeof out - g->z.avail_out, g->to);
    } while (!g->failed && g->z.avail_out == 0);
}

static void append(ProtobufCBuffer *base, size_t n, const uint8_t *data)
{
    struct rf_gzip *g = (struct rf_gzip *)base;
    for (size_t now; n; n -= now, data += now) {
        now = n < UINT32_MAX ? n : UINT32_MAX;
        g->z.next_in = (unsigned char *)data;
        g->z.avail_in = (unsigned)now;
        deflate_all(g, Z_NO_FLUSH);
    }
}

bool rf_gzip_begin(struct rf_gzip *g, FILE *to)
{
    *g = (struct rf_gzip){.base = {append}, .to = to};
    return deflateInit2(&g->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW + AS_GZIP, 9, Z_DEFAULT_STRATEGY) == Z_OK;
}

bool rf_gzip_end(struct rf_gzip *g)
{
    deflate_all(g, Z_FINISH);
    deflateEnd(&g->z);
    return !g->failed;
}

struct growing {
    unsigned char *bytes;
    size_t n, room, most;
};

static bool grow(struct growing *g)
{
    size_t room = g->room ? g->room * 2 : BLOCK;
    unsigned char *more = realloc(g->bytes, room);
    if (!more)
        return false;
    g->bytes = more;
    g->room = room;
    return true;
}

static enum rf_status no_memory(struct rf_error *err, const char *path)
{
    return rf_fail(err, RF_FAILURE, 0, "out of memory while reading %s", path);
}

static enum rf_status too_long(struct rf_error *err, const char *path, size_t most)
{
    return rf_fail(err, RF_FAILURE, 0, "%s is too large: more than %zu MiB", path, most >> 20);
}

static enum rf_status read_file(const char *path, struct growing *to, struct rf_error *err)
{
    FILE *from = fopen(path, "re");
    enum rf_status status = RF_OK;
    if (!from)
        return rf_fail(err, RF_FAILURE, errno, "cannot read %s: %s", path, strerror(errno));
    while (!feof(from) && !ferror(from) && status == RF_OK) {
        if (to->n == to->room && !grow(to))
            status = no_memory(err, path);
        else
            to->n += fread(to->bytes + to->n, 1, to->room - to->n, from);
        if (to->n > to->most)
            status = too_long(err, path, to->most);
    }
    if (status == RF_OK && ferror(from))
        status = rf_fail(err, RF_FAILURE, errno, "cannot read %s: %s", path, strerror(errno));
    fclose(from);
    return status;
}

/* A file may be several compressed ones in a row (RFC 1952). */
static enum rf_status inflate_all(const char *path, const struct growing *from, struct growing *to,
                                  struct rf_error *err)
{
    z_stream z = {.next_in = from->bytes, .avail_in = (unsigned)from->n};
    enum rf_status status = RF_OK;
    int how = Z_OK;
    if (inflateInit2(&z, WINDOW + AS_GZIP) != Z_OK)
        return no_memory(err, path);
    while (status == RF_OK && (how != Z_STREAM_END || z.avail_in)) {
        if (to->n == to->room && !grow(to)) {
            status = no_memory(err, path);
            break;
        }
        if (how == Z_STREAM_END)
            inflateReset(&z);
        size_t room = to->room - to->n;
        z.next_out = to->bytes + to->n;
        z.avail_out = room < UINT32_MAX ? (unsigned)room : UINT32_MAX;
        unsigned before = z.avail_out;
        how = inflate(&z, Z_NO_FLUSH);
        to->n += before - z.avail_out;
        if (to->n > to->most)
            status = too_long(err, path, to->most);
        else if (how == Z_MEM_ERROR)
            status = no_memory(err, path);
        else if (how == Z_BUF_ERROR || (how == Z_OK && !z.avail_in && z.avail_out))
            status = rf_fail(err, RF_FAILURE, 0, "%s is cut off: the compressed data do not end", path);
        else if (how != Z_OK && how != Z_STREAM_END)
            status = rf_fail(err, RF_FAILURE, 0, "%s is damaged: %s", path, z.msg ? z.msg : "not compressed data");
    }
    inflateEnd(&z);
    return status;
}

enum rf_status rf_gunzip(const char *path, size_t most, unsigned char **out, size_t *n, struct rf_error *err)
{
    struct growing file = {.most = most < UINT32_MAX ? most : UINT32_MAX}, plain = {.most = most};
    enum rf_status status = read_file(path, &file, err);
    if (status == RF_OK && file.n >= 2 && file.bytes[0] == 0x1f && file.bytes[1] == 0x8b) {
        status = inflate_all(path, &file, &plain, err);
        free(file.bytes);
        file = plain;
    }
    if (status != RF_OK) {
        free(file.bytes);
        return status;
    }
    *out = file.bytes;
    *n = file.n;
    return RF_OK;
}
