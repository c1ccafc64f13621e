/* show.c: prints objects, each as rayforce would (src/lang/format.c of core 2.5.12), but only their beginnings. */
#include "show.h"

#include "object.h"
#include "text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    RAY_BOOL = 1,
    RAY_I16 = 3,
    RAY_I32 = 4,
    RAY_F32 = 6,
    RAY_F64 = 7,
    RAY_DATE = 8,
    RAY_TIME = 9,
    RAY_TIMESTAMP = 10,
    RAY_GUID = 11,
    RAY_STR = 13,
    RAY_LAZY = 104,
    RAY_NULL = 126,
    RAY_ERROR = 127,
};
enum {
    TEXT_SHOWN = 60,       /* bytes of a string */
    STRING_INLINE = 12,    /* an element of a string vector is {u32 length, char[12]}, or its beginning and */
    STRING_POOL = 8,       /* u32 where it begins in the data of the vector that aux + 8 points to (src/vec/str.c) */
    ELEMENT_MAX = 16,      /* bytes of an element */
    TABLE_COLUMNS_MAX = 8, /* shown */
};
static const int64_t DAY_NS = INT64_C(86400000000000);

/* An object, and where its elements begin: a slice's are its parent's. */
struct vector {
    uint64_t addr, data;
    struct rf_obj o;
    uint64_t pool; /* aux + 8: what the elements of strings and symbols refer to */
};

struct reader {
    const struct rf_memory *m;
    const struct rf_runtime *rt;
    const struct rf_names *names;
    struct rf_shown *out;
};

static void put_bytes(struct reader *r, const char *s, size_t n)
{
    struct rf_shown *v = r->out;
    if (v->cut || n > sizeof v->text - v->n) {
        v->cut = true;
        return;
    }
    memcpy(v->text + v->n, s, n);
    v->n += n;
}

static void __attribute__((format(printf, 2, 3))) put(struct reader *r, const char *fmt, ...)
{
    char s[64];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(s, sizeof s, fmt, args);
    va_end(args);
    put_bytes(r, s, n < 0 ? 0 : (size_t)n < sizeof s ? (size_t)n : sizeof s - 1);
}

static void type_name(int8_t type, char to[static 12])
{
    static const char *const atom[] = {"LIST", "b8",   "u8",   "i16",       "i32",  "i64", "f32",
                                       "f64",  "date", "time", "timestamp", "guid", "sym", "str"};
    static const char *const vector[] = {"LIST", "B8",   "U8",   "I16",       "I32",  "I64", "F32",
                                         "F64",  "DATE", "TIME", "TIMESTAMP", "GUID", "SYM", "STR"};
    static const struct {
        int8_t type;
        const char *name;
    } other[] = {{RAY_TABLE, "TABLE"},   {RAY_DICT, "DICT"},      {RAY_LAMBDA, "lambda"},
                 {RAY_UNARY, "builtin"}, {RAY_BINARY, "builtin"}, {RAY_VARY, "builtin"},
                 {RAY_LAZY, "lazy"},     {RAY_NULL, "null"},      {RAY_ERROR, "error"}};
    const char *name = "?";
    if (type >= 0 && type <= RAY_STR)
        name = vector[type];
    else if (type < 0 && type >= -RAY_STR)
        name = atom[-type];
    else if (type >= 32 && type <= 32 + RAY_STR)
        name = "parted";
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (other[i].type == type)
            name = other[i].name;
    snprintf(to, 12, "%s", name);
}

static size_t element_size(const struct rf_obj *o)
{
    static const unsigned char size[] = {8, 1, 1, 2, 4, 8, 4, 8, 4, 4, 8, 16, 0, 16};
    if (o->type == RAY_SYMBOLS)
        return (size_t)1 << (o->attrs & 3);
    return o->type >= 0 && o->type <= RAY_STR ? size[o->type] : 0;
}

/* False for what is no vector, and for a slice that says more than its parent has. */
static bool open_vector(const struct rf_memory *m, uint64_t addr, struct vector *v)
{
    uint64_t aux[2];
    struct rf_obj parent;
    if (!rf_obj_read(m, addr, &v->o) || !rf_read(m, addr, aux, sizeof aux) || !element_size(&v->o) || v->o.len < 0)
        return false;
    v->addr = addr;
    v->data = addr + RAY_DATA;
    v->pool = aux[1];
    if (!(v->o.attrs & RAY_ATTR_SLICE))
        return true;
    uint64_t offset = aux[1];
    if (!rf_obj_read(m, aux[0], &parent) || parent.type != v->o.type || (parent.attrs & RAY_ATTR_SLICE) ||
        parent.len < v->o.len || offset > (uint64_t)(parent.len - v->o.len) || !rf_read_u64(m, aux[0] + 8, &v->pool))
        return false;
    v->o.attrs = parent.attrs;
    v->data = aux[0] + RAY_DATA + offset * element_size(&parent);
    return true;
}

static void put_symbol(struct reader *r, int64_t id)
{
    struct rf_text t;
    if (!rf_symbol_read(r->m, r->rt, id, &t)) {
        put(r, "#%" PRId64, id);
        return;
    }
    put_bytes(r, t.n ? t.s : "'", t.n ? t.n : 1);
    free((char *)t.s);
}

/* A column that lies in a file may have symbols of its own: its domain is then not the runtime's, and only the number
 * is told (src/table/domain.c). */
static void put_symbol_element(struct reader *r, const struct vector *v, int64_t id)
{
    struct rf_symbol runtime;
    if (v->pool &&
        !(r->rt->image && rf_image_find(r->rt->image, "g_runtime_domain", &runtime) && runtime.addr == v->pool))
        put(r, "#%" PRId64, id);
    else
        put_symbol(r, id);
}

/* The first n bytes of a string that has `whole`, in quotes; not the beginning of a character without its end. */
static void put_string(struct reader *r, const char *s, size_t n, size_t whole)
{
    bool cut = n < whole;
    while (cut && n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80)
        n--;
    put_bytes(r, "\"", 1);
    put_bytes(r, s, n);
    put_bytes(r, cut ? "...\"" : "\"", cut ? 4 : 1);
}

static void put_string_atom(struct reader *r, uint64_t addr)
{
    struct rf_text t;
    if (!rf_string_read(r->m, addr, TEXT_SHOWN + 1, &t)) {
        put(r, "?");
        return;
    }
    put_string(r, t.s, t.n > TEXT_SHOWN ? TEXT_SHOWN : t.n, t.n);
    free((char *)t.s);
}

static void put_string_element(struct reader *r, const struct vector *v, const unsigned char *e)
{
    char text[TEXT_SHOWN + 1];
    uint32_t n, at;
    memcpy(&n, e, sizeof n);
    memcpy(&at, e + STRING_POOL, sizeof at);
    size_t shown = n > TEXT_SHOWN ? TEXT_SHOWN : n, got = n > shown ? shown + 1 : shown;
    struct rf_obj pool;
    if (n <= STRING_INLINE)
        put_string(r, (const char *)e + 4, n, n);
    else if (rf_obj_read(r->m, v->pool, &pool) && rf_read(r->m, v->pool + RAY_DATA + at, text, got))
        put_string(r, text, shown, n);
    else
        put(r, "?");
}

/* Days from 2000.01.01, in the proleptic Gregorian calendar: eras of 400 years that begin with a March. */
static void put_date(struct reader *r, int64_t days)
{
    int64_t z = days + 730425; /* from 0000.03.01 */
    int64_t era = (z >= 0 ? z : z - 146096) / 146097, doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365, doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153, month = mp < 10 ? mp + 3 : mp - 9;
    put(r, "%04" PRId64 ".%02" PRId64 ".%02" PRId64, yoe + era * 400 + (month <= 2), month,
        doy - (153 * mp + 2) / 5 + 1);
}

static void put_time(struct reader *r, int32_t ms)
{
    int64_t v = ms < 0 ? -(int64_t)ms : ms;
    put(r, "%s%02" PRId64 ":%02" PRId64 ":%02" PRId64 ".%03" PRId64, ms < 0 ? "-" : "", v / 3600000, v / 60000 % 60,
        v / 1000 % 60, v % 1000);
}

static void put_timestamp(struct reader *r, int64_t ns)
{
    int64_t days = ns / DAY_NS, left = ns % DAY_NS;
    if (left < 0) {
        days--;
        left += DAY_NS;
    }
    put_date(r, days);
    put(r, "D%02" PRId64 ":%02" PRId64 ":%02" PRId64 ".%09" PRId64, left / INT64_C(3600000000000),
        left / INT64_C(60000000000) % 60, left / 1000000000 % 60, left % 1000000000);
}

static void put_number(struct reader *r, double v)
{
    if (isnan(v))
        put(r, "0Nf");
    else
        put(r, "%.6g", v);
}

static void put_guid(struct reader *r, const unsigned char *b)
{
    for (size_t i = 0; i < 16; i++)
        put(r, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", b[i]);
}

/* A value that takes at most 8 bytes, by the type of its vector. Null is the least number of a type (rayforce.h). */
static void put_scalar(struct reader *r, int type, const unsigned char *at)
{
    int16_t i16;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
    memcpy(&i16, at, sizeof i16);
    memcpy(&i32, at, sizeof i32);
    memcpy(&i64, at, sizeof i64);
    memcpy(&f32, at, sizeof f32);
    memcpy(&f64, at, sizeof f64);
    bool none32 = i32 == INT32_MIN, none64 = i64 == INT64_MIN;
    switch (type) {
    case RAY_BOOL:
        put(r, "%s", *at ? "true" : "false");
        break;
    case RAY_U8:
        put(r, "0x%02x", *at);
        break;
    case RAY_I16:
        put(r, i16 == INT16_MIN ? "0Nh" : "%d", i16);
        break;
    case RAY_I32:
        put(r, none32 ? "0Ni" : "%" PRId32, i32);
        break;
    case RAY_I64:
        put(r, none64 ? "0Nl" : "%" PRId64, i64);
        break;
    case RAY_F32:
        put_number(r, (double)f32);
        break;
    case RAY_F64:
        put_number(r, f64);
        break;
    case RAY_DATE:
        none32 ? put(r, "0Nd") : put_date(r, i32);
        break;
    case RAY_TIME:
        none32 ? put(r, "0Nt") : put_time(r, i32);
        break;
    case RAY_TIMESTAMP:
        none64 ? put(r, "0Np") : put_timestamp(r, i64);
        break;
    default:
        put(r, "?");
    }
}

static void put_atom(struct reader *r, uint64_t addr, const struct rf_obj *o)
{
    unsigned char bytes[ELEMENT_MAX] = {0};
    memcpy(bytes, &o->len, sizeof o->len);
    if (o->type == RAY_STRING_ATOM)
        put_string_atom(r, addr);
    else if (o->type == RAY_SYMBOL_ATOM)
        put_symbol(r, o->len);
    else if (o->type == -RAY_GUID) /* points to a byte vector */
        rf_obj_plausible((uint64_t)o->len) && rf_read(r->m, (uint64_t)o->len + RAY_DATA, bytes, 16) ? put_guid(r, bytes)
                                                                                                    : put(r, "?");
    else if (o->type == -RAY_F32) /* kept as a double (src/vec/atom.c) */
        put_scalar(r, RAY_F64, bytes);
    else
        put_scalar(r, -o->type, bytes);
}

static void put_function(struct reader *r, uint64_t addr)
{
    struct rf_text name;
    if (!r->names || !rf_names_find(r->names, r->m, addr, &name))
        return;
    put_bytes(r, name.s, name.n);
    free((char *)name.s);
}

/* An element of a list: an atom's value; of others, what they are. */
static void put_child(struct reader *r, uint64_t addr)
{
    struct rf_obj o;
    char type[12];
    if (!addr || !rf_obj_read(r->m, addr, &o)) {
        put(r, addr ? "?" : "null");
        return;
    }
    type_name(o.type, type);
    if (o.type < 0)
        put_atom(r, addr, &o);
    else if (element_size(&o))
        put(r, "%s[%" PRId64 "]", type, o.len);
    else
        put(r, "%s", type);
}

static void put_element(struct reader *r, const struct vector *v, int64_t i)
{
    size_t size = element_size(&v->o);
    unsigned char e[ELEMENT_MAX] = {0};
    uint64_t word;
    if (!rf_read(r->m, v->data + (uint64_t)i * size, e, size)) {
        put(r, "?");
        return;
    }
    memcpy(&word, e, sizeof word);
    if (v->o.type == RAY_LIST)
        put_child(r, word);
    else if (v->o.type == RAY_SYMBOLS)
        put_symbol_element(r, v, (int64_t)word);
    else if (v->o.type == RAY_STR)
        put_string_element(r, v, e);
    else if (v->o.type == RAY_GUID)
        put_guid(r, e);
    else
        put_scalar(r, v->o.type, e);
}

static void put_elements(struct reader *r, const struct vector *v)
{
    for (int64_t i = 0; i < v->o.len && i < RF_SHOWN_ELEMENTS; i++) {
        put_bytes(r, " ", i > 0);
        put_element(r, v, i);
    }
    r->out->cut |= v->o.len > RF_SHOWN_ELEMENTS;
}

/* Tables and dictionaries are lists of two: names or keys, and columns or values. */
static bool open_pair(const struct reader *r, uint64_t addr, struct vector *keys, struct vector *values)
{
    uint64_t part[2];
    return rf_read(r->m, addr + RAY_DATA, part, sizeof part) && open_vector(r->m, part[0], keys) &&
           open_vector(r->m, part[1], values) && keys->o.len == values->o.len;
}

static void put_dictionary(struct reader *r, uint64_t addr)
{
    struct vector keys, values;
    if (!open_pair(r, addr, &keys, &values))
        return;
    r->out->length = keys.o.len;
    for (int64_t i = 0; i < keys.o.len && i < RF_SHOWN_ELEMENTS; i++) {
        put_bytes(r, " ", i > 0);
        put_element(r, &keys, i);
        put_bytes(r, ":", 1);
        put_element(r, &values, i);
    }
    r->out->cut |= keys.o.len > RF_SHOWN_ELEMENTS;
}

/* Names of columns are symbols, in a vector of that type or of their plain numbers. */
static void put_column_name(struct reader *r, const struct vector *names, int64_t i)
{
    int64_t id;
    if (names->o.type != RAY_I64)
        put_element(r, names, i);
    else if (rf_read(r->m, names->data + 8 * (uint64_t)i, &id, sizeof id))
        put_symbol(r, id);
}

static void put_table(struct reader *r, uint64_t addr)
{
    struct vector names, columns, column;
    if (!open_pair(r, addr, &names, &columns) || columns.o.type != RAY_LIST)
        return;
    for (int64_t i = 0; i < names.o.len && i < TABLE_COLUMNS_MAX; i++) {
        char type[12] = "?";
        uint64_t at;
        if (rf_read_u64(r->m, columns.data + 8 * (uint64_t)i, &at) && open_vector(r->m, at, &column)) {
            type_name(column.o.type, type);
            if (r->out->length < 0)
                r->out->length = column.o.len;
        }
        put_bytes(r, " ", i > 0);
        put_column_name(r, &names, i);
        put(r, ":%s", type);
    }
    r->out->cut |= names.o.len > TABLE_COLUMNS_MAX;
}

void rf_show(const struct rf_memory *m, const struct rf_runtime *rt, const struct rf_names *names, uint64_t addr,
             struct rf_shown *out)
{
    struct reader r = {m, rt, names, out};
    struct vector v;
    struct rf_obj o;
    *out = (struct rf_shown){.type = "?", .length = -1};
    if (!rf_obj_read(m, addr, &o))
        return;
    type_name(o.type, out->type);
    if (o.type < 0) {
        put_atom(&r, addr, &o);
    } else if (o.type == RAY_TABLE) {
        put_table(&r, addr);
    } else if (o.type == RAY_DICT) {
        put_dictionary(&r, addr);
    } else if (o.type >= RAY_LAMBDA && o.type <= RAY_VARY) {
        put_function(&r, addr);
    } else if (open_vector(m, addr, &v)) {
        out->length = v.o.len;
        put_elements(&r, &v);
    }
}
