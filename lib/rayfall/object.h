/* object.h: rayforce's object model, the part that never changed from release 2.0.0 to 2.4.0.
 *
 * Every value is a block with a 32-byte header, aligned to 32 bytes. Facts: include/rayforce.h of the engine up to
 * core 2.5.12, confirmed on live processes of all releases up to 2.4.0. */
#ifndef RF_OBJECT_H
#define RF_OBJECT_H

#include "target/memory.h"

enum {
    RAY_HEADER = 32,
    RAY_MMOD = 16,
    RAY_ORDER = 17,
    RAY_TYPE = 18,
    RAY_ATTRS = 19,
    RAY_RC = 20,
    RAY_LEN = 24,
    RAY_DATA = 32,
    RAY_NATIVE = 24,     /* of a builtin: its C function */
    RAY_INLINE_NAME = 2, /* of a builtin: the first 13 characters of its name */
};

enum {
    RAY_LIST = 0,
    RAY_U8 = 2,
    RAY_I64 = 5,
    RAY_SYMBOLS = 12,
    RAY_TABLE = 98,
    RAY_DICT = 99,
    RAY_LAMBDA = 100,
    RAY_UNARY = 101,
    RAY_BINARY = 102,
    RAY_VARY = 103,
    RAY_STRING_ATOM = -13,
    RAY_SYMBOL_ATOM = -12,
    RAY_I64_ATOM = -5,
};

enum {
    RAY_ATTR_SLICE = 0x10,
    RAY_ATTR_SPECIAL = 0x10 /* of a builtin: it gets its arguments as they are written */,
    RAY_ATTR_COMPILED = 0x40 /* of a lambda: has bytecode */,
    RAY_ATTR_QUOTED = 0x20 /* of a symbol: itself, not what it names */
};

/* Slots of a lambda, each 8 bytes behind the header. */
enum { LAMBDA_PARAMS, LAMBDA_BODY, LAMBDA_CODE, LAMBDA_CONSTS, LAMBDA_LOCALS, LAMBDA_NFO, LAMBDA_DBG, LAMBDA_SLOTS };

struct rf_obj {
    int8_t type;
    uint8_t attrs, order;
    uint32_t rc;
    int64_t len; /* or the atom's value */
};

/* Lowest and highest address that user space can have; blocks are aligned to 32 bytes. */
static inline bool rf_obj_plausible(uint64_t addr)
{
    return addr >= 0x10000 && addr < (uint64_t)1 << 47 && addr % 32 == 0;
}

/* Reads a header. False for what cannot be an object: misaligned, unreadable, freed. */
static inline bool rf_obj_read(const struct rf_memory *m, uint64_t addr, struct rf_obj *out)
{
    unsigned char h[RAY_HEADER];
    if (!rf_obj_plausible(addr) || !rf_read(m, addr, h, sizeof h))
        return false;
    out->type = (int8_t)h[RAY_TYPE];
    out->attrs = h[RAY_ATTRS];
    out->order = h[RAY_ORDER];
    memcpy(&out->rc, h + RAY_RC, sizeof out->rc);
    memcpy(&out->len, h + RAY_LEN, sizeof out->len);
    return out->rc != 0;
}

/* A vector or list of the given type with at most max elements, whose data follow the header. */
static inline bool rf_obj_vector(const struct rf_memory *m, uint64_t addr, int8_t type, int64_t max, struct rf_obj *out)
{
    return rf_obj_read(m, addr, out) && out->type == type && !(out->attrs & RAY_ATTR_SLICE) && out->len >= 0 &&
           out->len <= max;
}

#endif
