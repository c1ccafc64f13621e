/* dump_json.c: a dump as JSON, with jansson. What is not known is left out. */
#include "dump_json.h"

#ifdef RF_JANSSON

#include "report/escape.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Text as JSON has it is UTF-8: what is not becomes U+FFFD. NULL when out of memory, which jansson takes for an error.
 */
static json_t *text(struct rf_text t)
{
    static const char replacement[] = "\xef\xbf\xbd";
    char *utf8 = malloc(3 * t.n + 1), *to = utf8;
    uint32_t c;
    for (size_t i = 0; utf8 && i < t.n;) {
        size_t len = rf_utf8(t.s + i, t.n - i, &c);
        memcpy(to, len ? t.s + i : replacement, len ? len : 3);
        to += len ? len : 3;
        i += len ? len : 1;
    }
    json_t *j = utf8 ? json_stringn(utf8, (size_t)(to - utf8)) : NULL;
    free(utf8);
    return j;
}

/* Adds what there is; false when out of memory. json_object_set_new takes the value over also where it fails. */
static bool add(json_t *o, const char *key, json_t *value)
{
    return json_object_set_new(o, key, value) == 0;
}

static bool add_text(json_t *o, const char *key, struct rf_text t)
{
    return t.n == 0 || add(o, key, text(t));
}

static struct rf_text terminated(const char *s)
{
    return (struct rf_text){s, strlen(s)};
}

static json_t *finished(json_t *o, bool ok)
{
    if (ok)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *value(const struct rf_dump_value *v)
{
    json_t *o = json_object();
    bool ok = add_text(o, "name", v->name) && add(o, "argument", json_boolean(v->argument)) &&
              add_text(o, "type", v->type) && (v->length < 0 || add(o, "length", json_integer(v->length))) &&
              (v->type.n == 0 || (add(o, "text", text(v->text)) && add(o, "cut", json_boolean(v->cut)))) &&
              (!v->changed || add(o, "changed", json_true()));
    return finished(o, ok);
}

static json_t *frame(const struct rf_dump_frame *f)
{
    json_t *o = json_object(), *values = json_array();
    bool ok = add(o, "fn", text(f->fn)) && add(o, "file", text(f->file)) && add(o, "native", json_boolean(f->native)) &&
              (f->line == 0 || add(o, "line", json_integer(f->line))) &&
              (f->col == 0 || add(o, "col", json_integer(f->col))) && add_text(o, "source", f->source) &&
              (!f->no_values || add(o, "no_values", json_string(f->no_values)));
    for (size_t i = 0; i < f->n_values && ok; i++)
        ok = json_array_append_new(values, value(&f->value[i])) == 0;
    if (ok && f->n_values)
        ok = json_object_set(o, "values", values) == 0;
    json_decref(values);
    return finished(o, ok);
}

static json_t *thread(const struct rf_dump_thread *t)
{
    json_t *o = json_object(), *frames = json_array();
    bool ok = add(o, "tid", json_integer(t->tid)) && add(o, "name", text(t->name)) &&
              add(o, "state", json_string(dump_state(t->state))) && add_text(o, "wait", t->wait) &&
              add(o, "pool_idle", json_boolean(t->idle)) && add(o, "dispatched", json_boolean(t->dispatched)) &&
              (!t->missing || add(o, "missing", json_string(t->missing)));
    for (size_t i = 0; i < t->n_frames && ok; i++)
        ok = json_array_append_new(frames, frame(&t->frame[i])) == 0;
    ok = ok && json_object_set(o, "frames", frames) == 0;
    json_decref(frames);
    return finished(o, ok);
}

enum rf_status dump_write_json(const struct rf_dump *d, FILE *to, struct rf_error *err)
{
    json_t *o = json_object(), *threads = json_array();
    bool ok = add(o, "pid", json_integer(d->pid)) && add(o, "process", json_string(d->describe)) &&
              add(o, "release", json_string(d->release)) && add_text(o, "core", terminated(d->core)) &&
              add(o, "layout", json_string(d->layout)) && add(o, "layout_origin", json_string(d->origin)) &&
              add(o, "layout_confirmed", json_boolean(d->believed));
    for (size_t i = 0; i < d->n_threads && ok; i++)
        ok = json_array_append_new(threads, thread(&d->thread[i])) == 0;
    ok = ok && json_object_set(o, "threads", threads) == 0;
    enum rf_status status = RF_OK;
    if (!ok)
        status = rf_fail(err, RF_FAILURE, 0, "out of memory");
    else if (json_dumpf(o, to, JSON_INDENT(1)) == 0)
        putc('\n', to);
    json_decref(threads);
    json_decref(o);
    return status;
}

#else

enum rf_status dump_write_json(const struct rf_dump *d, FILE *to, struct rf_error *err)
{
    (void)d;
    (void)to;
    return rf_fail(err, RF_USAGE, 0, "built without JSON output (JANSSON=0)");
}

#endif
