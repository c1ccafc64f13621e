/* parse.c: layouts as text, "name value" a line, "#" begins a comment. The catalog is written in it. */
#include "layout.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct field {
    const char *name;
    size_t offset;
    size_t text;   /* size of a text field; 0: an int32_t */
    bool optional; /* the number may be "unknown" */
};

#define NUMBER(name, member)                                                                                           \
    {                                                                                                                  \
        name, offsetof(struct rf_layout, member), 0, false                                                             \
    }
#define OPTIONAL(name, member)                                                                                         \
    {                                                                                                                  \
        name, offsetof(struct rf_layout, member), 0, true                                                              \
    }
#define TEXT(name, member)                                                                                             \
    {                                                                                                                  \
        name, offsetof(struct rf_layout, member), sizeof((struct rf_layout *)0)->member, false                         \
    }

/* "build-id" may come several times: the executable's and the Python extension's. */
static const struct field fields[] = {
    TEXT("release", release),
    TEXT("core", core),
    TEXT("compiler", compiler),
    TEXT("interpreter", interpreter),
    NUMBER("opcodes", opcodes),
    NUMBER("size.interpreter", size_interpreter),
    NUMBER("size.g_env", size_g_env),
    NUMBER("size.g_sym", size_g_sym),
    NUMBER("size.g_pool", size_g_pool),
    NUMBER("exec.size", exec_size),
    NUMBER("exec.order", exec_order),
    NUMBER("exec.sp", exec_sp),
    NUMBER("exec.fp", exec_fp),
    NUMBER("exec.rp", exec_rp),
    NUMBER("exec.fn", exec_fn),
    NUMBER("exec.tp", exec_tp),
    NUMBER("exec.ps", exec_ps),
    NUMBER("exec.rs", exec_rs),
    TEXT("vm.via", vm_via),
    OPTIONAL("vm.eval_depth", vm_eval_depth),
    OPTIONAL("vm.scope_depth", vm_scope_depth),
    OPTIONAL("vm.nfo", vm_nfo),
    OPTIONAL("vm.ipc_handle", vm_ipc_handle),
    OPTIONAL("lambda.slots", lambda_slots),
    NUMBER("env.vals", env_vals),
    NUMBER("env.user", env_user),
    NUMBER("env.count", env_count),
    NUMBER("env.max", env_max),
    NUMBER("pool.n_workers", pool_workers),
    OPTIONAL("pool.task_claim", pool_task_claim),
    OPTIONAL("pool.task_limit", pool_task_limit),
};

static const char unknown_text[] = "unknown";

enum { FIELDS = sizeof fields / sizeof *fields, LINE_MAX_BYTES = 256 };

static bool set_number(struct rf_layout *l, const struct field *f, const char *value)
{
    char *end;
    errno = 0;
    int32_t unknown = RF_UNKNOWN;
    if (f->optional && strcmp(value, unknown_text) == 0) {
        memcpy((char *)l + f->offset, &unknown, sizeof unknown);
        return true;
    }
    long v = strtol(value, &end, 0);
    if (errno || end == value || *end || v < 0 || v > INT32_MAX)
        return false;
    int32_t n = (int32_t)v;
    memcpy((char *)l + f->offset, &n, sizeof n);
    return true;
}

static bool set_text(char *to, size_t size, const char *value)
{
    size_t n = strlen(value);
    if (n == 0 || n >= size)
        return false;
    memcpy(to, value, n + 1);
    return true;
}

static bool set_build_id(struct rf_layout *l, const char *value)
{
    for (unsigned i = 0; i < RF_LAYOUT_IDS; i++)
        if (!l->build_id[i][0])
            return set_text(l->build_id[i], sizeof l->build_id[i], value);
    return false;
}

/* One line, cut at its end, comment and outer blanks removed. */
static bool set_line(struct rf_layout *l, char *text, bool seen[FIELDS])
{
    char *value = strpbrk(text, " \t");
    if (!value)
        return false;
    *value++ = 0;
    value += strspn(value, " \t");
    if (strcmp(text, "build-id") == 0)
        return set_build_id(l, value);
    for (unsigned i = 0; i < FIELDS; i++) {
        const struct field *f = &fields[i];
        if (strcmp(text, f->name) != 0)
            continue;
        if (seen[i])
            return false;
        seen[i] = true;
        return f->text ? set_text((char *)l + f->offset, f->text, value) : set_number(l, f, value);
    }
    return false;
}

bool rf_layout_parse(struct rf_layout *out, const char *text, unsigned *line)
{
    bool seen[FIELDS] = {false};
    memset(out, 0, sizeof *out);
    *line = 0;
    while (*text) {
        size_t n = strcspn(text, "\n");
        char copy[LINE_MAX_BYTES];
        ++*line;
        if (n >= sizeof copy)
            return false;
        memcpy(copy, text, n);
        copy[n] = 0;
        text += n + (text[n] != 0);
        copy[strcspn(copy, "#")] = 0;
        for (n = strlen(copy); n > 0 && (copy[n - 1] == ' ' || copy[n - 1] == '\t');)
            copy[--n] = 0;
        char *start = copy + strspn(copy, " \t");
        if (*start && !set_line(out, start, seen))
            return false;
    }
    *line = 0;
    for (unsigned i = 0; i < FIELDS; i++)
        if (!seen[i])
            return false;
    return true;
}

/* A blank line between groups, which are what stands before the dot. */
static bool begins_group(const struct field *f)
{
    size_t n = strcspn(f->name, ".");
    return f > fields && f->name[n] && strncmp(f[-1].name, f->name, n + 1) != 0 && strncmp(f->name, "size.", 5) != 0;
}

void rf_layout_write(const struct rf_layout *l, FILE *to)
{
    for (const struct field *f = fields; f < fields + FIELDS; f++) {
        const char *at = (const char *)l + f->offset;
        int32_t n;
        if (strcmp(f->name, "interpreter") == 0) {
            for (unsigned i = 0; i < RF_LAYOUT_IDS && l->build_id[i][0]; i++)
                fprintf(to, "build-id %s\n", l->build_id[i]);
            putc('\n', to);
        }
        if (begins_group(f))
            putc('\n', to);
        memcpy(&n, at, sizeof n);
        if (f->text)
            fprintf(to, "%s %s\n", f->name, at);
        else if (n == RF_UNKNOWN)
            fprintf(to, "%s %s\n", f->name, unknown_text);
        else
            fprintf(to, "%s %d\n", f->name, (int)n);
    }
}
