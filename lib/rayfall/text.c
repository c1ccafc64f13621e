/* text.c: reads rayforce's string atoms and its symbol table. */
#include "text.h"

#include "object.h"

#include <stdlib.h>
#include <string.h>

enum { SYM_STRINGS = 16, SYM_COUNT = 24 }; /* in g_sym, the same in every 2.x */

static bool copy(struct rf_text *out, const char *s, size_t n)
{
    char *to = malloc(n + 1);
    if (!to)
        return false;
    if (n)
        memcpy(to, s, n);
    to[n] = 0;
    *out = (struct rf_text){to, n};
    return true;
}

bool rf_string_read(const struct rf_memory *m, uint64_t addr, size_t max, struct rf_text *out)
{
    struct rf_obj o, v;
    if (!rf_obj_read(m, addr, &o) || o.type != RAY_STRING_ATOM)
        return false;
    /* One to seven characters stand in the header, behind their count; a pointer's low byte is a multiple of 32. */
    char head[8];
    memcpy(head, &o.len, sizeof head);
    if (o.len == 0)
        return copy(out, "", 0);
    if (head[0] >= 1 && head[0] <= 7)
        return copy(out, head + 1, (size_t)head[0]);
    if (!rf_obj_vector(m, (uint64_t)o.len, RAY_U8, INT32_MAX, &v))
        return false;
    size_t n = (size_t)v.len < max ? (size_t)v.len : max;
    char *to = malloc(n + 1);
    if (!to || !rf_read(m, (uint64_t)o.len + RAY_DATA, to, n)) {
        free(to);
        return false;
    }
    to[n] = 0;
    *out = (struct rf_text){to, n};
    return true;
}

bool rf_symbol_read(const struct rf_memory *m, const struct rf_runtime *rt, int64_t id, struct rf_text *out)
{
    uint64_t strings, string;
    int32_t count;
    return rf_read_i32(m, rt->g_sym + SYM_COUNT, &count) && id >= 0 && id < count &&
           rf_read_u64(m, rt->g_sym + SYM_STRINGS, &strings) && rf_read_u64(m, strings + 8 * (uint64_t)id, &string) &&
           rf_string_read(m, string, RF_NAME_MAX, out);
}

/* Behind the string that begins at i, or the end. */
static size_t skip_string(struct rf_text t, size_t i)
{
    for (i++; i < t.n && t.s[i] != '"'; i++)
        i += t.s[i] == '\\';
    return i + 1;
}

struct rf_text rf_own_forms(struct rf_text line)
{
    size_t open = 0, end = line.n;
    for (size_t i = 0; i < line.n && line.s[i] != ';';) {
        if (line.s[i] == '"') {
            i = skip_string(line, i);
        } else if (memchr("([{", line.s[i], 3)) {
            open++;
            i++;
        } else if (memchr(")]}", line.s[i], 3) && open == 0) {
            end = i;
            break;
        } else {
            open -= memchr(")]}", line.s[i], 3) != NULL;
            i++;
        }
    }
    size_t rest = end;
    while (rest < line.n && memchr(")]} \t\r", line.s[rest], 6))
        rest++;
    bool last = rest == line.n || line.s[rest] == ';';
    return (struct rf_text){line.s, last ? end : line.n};
}
