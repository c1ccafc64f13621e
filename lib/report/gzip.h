/* gzip.h: compressed files, written as they come and read as a whole. */
#ifndef RF_GZIP_H
#define RF_GZIP_H

#include "rfprof.h"

#include <protobuf-c/protobuf-c.h>
#include <zlib.h>

/* Messages are packed right into it (protobuf_c_message_pack_to_buffer). */
struct rf_gzip {
    ProtobufCBuffer base; /* first member */
    z_stream z;
    FILE *to;
    bool failed;
};

bool rf_gzip_begin(struct rf_gzip *g, FILE *to); /* false when out of memory; then there is nothing to end */
bool rf_gzip_end(struct rf_gzip *g);             /* false when out of memory; whether `to` took it, ferror(to) says */

/* The content of a file, inflated if it is compressed, at most `most` bytes of it; longer, or cut, is an error. *out is
 * malloc'ed. */
enum rf_status rf_gunzip(const char *path, size_t most, unsigned char **out, size_t *n, struct rf_error *err);

#endif
