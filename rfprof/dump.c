/* dump.c: rfprof dump: what is every thread doing now? */
#include "console.h"
#include "dump_json.h"
#include "verbs.h"

#include "report/escape.h"

#include <stdlib.h>
#include <string.h>

enum { PLACE_MAX = 48, NAME_MAX_SHOWN = 32 };

static const struct {
    char letter;
    const char *name;
} states[] = {
    {'R', "running"},   {'S', "sleeping"},         {'D', "in an uninterruptible sleep"},
    {'T', "stopped"},   {'t', "held by a tracer"}, {'I', "idle"},
    {'Z', "has ended"},
};

const char *dump_state(char letter)
{
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (states[i].letter == letter)
            return states[i].name;
    return "unknown";
}

static void put_text(struct rf_text t)
{
    char *escaped = rf_escape(t);
    fputs(escaped ? escaped : "?", stdout);
    free(escaped);
}

/* Text that is not a name: as it is, but for what could harm a terminal or is not UTF-8. */
static void put_source(struct rf_text t)
{
    for (size_t i = 0; i < t.n;) {
        uint32_t c;
        size_t len = rf_utf8(t.s + i, t.n - i, &c);
        if (len && c == '\t')
            putchar(' ');
        else if (len && c >= 0x20 && (c < 0x7f || c >= 0xa0))
            fwrite(t.s + i, 1, len, stdout);
        else
            printf("\\x%02x", len ? c : (unsigned char)t.s[i]);
        i += len ? len : 1;
    }
}

/* "fn (file:line)" of a Rayfall frame, "fn [file:line]" of a C function. NULL when out of memory. */
static char *place(const struct rf_dump_frame *f)
{
    char *fn = rf_escape(f->fn), *file = rf_escape(f->file), *both = NULL, line[16] = "";
    if (f->line)
        snprintf(line, sizeof line, ":%u", f->line);
    if (fn && file && asprintf(&both, "%s %c%s%s%c", fn, f->native ? '[' : '(', file, line, f->native ? ']' : ')') < 0)
        both = NULL;
    free(fn);
    free(file);
    return both;
}

static int widest_place(const struct rf_dump_thread *t)
{
    size_t width = 0;
    for (size_t i = 0; i < t->n_frames; i++) {
        char *p = t->frame[i].source.n ? place(&t->frame[i]) : NULL;
        size_t n = p ? strlen(p) : 0;
        if (n > width && n <= PLACE_MAX)
            width = n;
        free(p);
    }
    return (int)width;
}

/* "i64", "I64[1000]" */
static void describe_type(const struct rf_dump_value *v, char *to, size_t size)
{
    int n = snprintf(to, size, "%.*s", (int)v->type.n, v->type.s);
    if (v->length >= 0 && n >= 0 && (size_t)n < size)
        snprintf(to + n, size - (size_t)n, "[%lld]", (long long)v->length);
}

static void name_value(const struct rf_dump_value *v, size_t slot, char *to, size_t size)
{
    char *name = v->name.n ? rf_escape(v->name) : NULL;
    if (name)
        snprintf(to, size, "%s", name);
    else
        snprintf(to, size, "slot %zu", slot);
    free(name);
}

static void put_values(const struct rf_dump_frame *f)
{
    int name_width = 0, type_width = 0;
    char name[NAME_MAX_SHOWN], type[48];
    for (size_t i = 0; i < f->n_values; i++) {
        name_value(&f->value[i], i, name, sizeof name);
        describe_type(&f->value[i], type, sizeof type);
        name_width = (int)strlen(name) > name_width ? (int)strlen(name) : name_width;
        type_width = (int)strlen(type) > type_width ? (int)strlen(type) : type_width;
    }
    for (size_t i = 0; i < f->n_values; i++) {
        const struct rf_dump_value *v = &f->value[i];
        name_value(v, i, name, sizeof name);
        describe_type(v, type, sizeof type);
        printf("      %-*s  ", name_width, name);
        if (v->changed || !v->type.n) {
            puts(v->changed ? "(changed while it was read)" : "(not set yet)");
            continue;
        }
        printf("%-*s%s", v->text.n ? type_width : 0, type, v->text.n ? "  " : "");
        put_source(v->text);
        puts(v->cut ? " ..." : "");
    }
    if (f->n_left_out)
        printf("      and %zu more\n", f->n_left_out);
    if (f->no_values)
        printf("      (arguments and locals: %s)\n", f->no_values);
}

static void put_thread(const struct rf_dump_thread *t)
{
    int width = widest_place(t);
    printf("\nthread %d (", t->tid);
    put_text(t->name);
    printf("): %s", t->idle ? "pool worker without a task, " : "");
    fputs(dump_state(t->state), stdout);
    if (t->wait.n) {
        fputs(" in ", stdout);
        put_text(t->wait);
    }
    puts(t->dispatched ? ", a task of the main thread's line" : "");
    for (size_t i = 0; i < t->n_frames; i++) {
        char *p = place(&t->frame[i]);
        if (t->frame[i].source.n) {
            printf("  %-*s  ", width, p ? p : "?");
            put_source(t->frame[i].source);
            putchar('\n');
        } else {
            printf("  %s\n", p ? p : "?");
        }
        free(p);
        put_values(&t->frame[i]);
    }
    if (t->missing)
        printf("  (%s)\n", t->missing);
    else if (!t->n_frames && !t->idle)
        puts("  (no Rayfall on its stack)");
}

int verb_dump(const struct options *o, uint64_t started_ns)
{
    (void)started_ns;
    if (!o->pid)
        return complain_usage("which process? -p PID is missing (rfprof alone lists those that can be looked at)");
    struct rf_dump_options how = {.pid = o->pid, .layout = o->layout, .native = o->native, .locals = o->locals};
    struct rf_dump *d;
    struct rf_error err = {0};
    enum rf_status status = rf_dump_take(&d, &how, &err);
    if (status == RF_OK && o->json) {
        status = dump_write_json(d, stdout, &err);
    } else if (status == RF_OK) {
        printf("process %d: %s\n", d->pid, d->describe);
        for (size_t i = 0; i < d->n_threads; i++)
            put_thread(&d->thread[i]);
    }
    rf_dump_free(status == RF_OK ? d : NULL);
    return status == RF_OK ? 0 : complain(&err);
}
