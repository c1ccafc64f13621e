/* starting.c: finds the runtime of a process, and waits for one without holding anybody up. */
#include "starting.h"

#include "clock.h"
#include "runtime.h"

#include <string.h>

static const uint64_t MS = 1000000;
enum {
    LOOK_MS = 2,    /* between looks */
    LONG_MS = 1000, /* a process that takes longer than this to get there is looked at less often */
    LOOK_LONG_MS = 20,
    REFUSE_MS = 5000, /* __RUNTIME is set some 10 ms before the builtins are in place (2.4.0, seen) */
};

static enum rf_status find(struct rf_images **images, struct rf_runtime *rt, const struct rf_process *p,
                           const struct rf_layout_options *layout, struct rf_error *err)
{
    enum rf_status status = rf_images_open(images, p, err);
    if (status != RF_OK)
        return status;
    const struct rf_image *image = rf_runtime_image(*images);
    if (!image) {
        status = rf_no_runtime(p, *images, err);
        rf_hint_inner_pid(p->pid, err);
        return status;
    }
    status = rf_layout_choose(rt, image, layout, err);
    if (status != RF_OK)
        return status;
    status = rf_layout_validate(rt, &p->memory, NULL, err);
    if (status != RF_OK)
        rf_hint_starting(err);
    return status;
}

enum rf_status rf_starting_find(struct rf_images **images, struct rf_runtime *rt, const struct rf_process *p,
                                const struct rf_layout_options *layout, struct rf_error *err)
{
    enum rf_status status = find(images, rt, p, layout, err);
    if (status != RF_OK && !rf_process_alive(p)) /* whatever could not be read */
        status = rf_fail_ended(p, err);
    return status;
}

void rf_hint_starting(struct rf_error *err)
{
    rf_hint(err, "if rayforce is still starting, try again in a second");
}

bool rf_starting_later(const struct rf_images *images, const struct rf_process *p)
{
    const struct rf_image *image = rf_runtime_image(images);
    struct rf_symbol s;
    uint64_t runtime;
    if (image)
        return rf_image_find(image, "__RUNTIME", &s) && rf_read_u64(&p->memory, s.addr, &runtime) && runtime == 0;
    for (size_t i = 0; i < rf_images_count(images); i++)
        if (rf_image_find(rf_images_get(images, i), "PyImport_ImportModule", &s))
            return true;
    return false;
}

void rf_starting_begin(struct rf_starting *st, const struct rf_layout_options *layout)
{
    *st = (struct rf_starting){.waiting = true, .layout = layout, .opened_ns = rf_now_ns()};
    rf_fail(&st->why, RF_TARGET, 0, "no rayforce runtime was seen: the process was not sampled for long enough");
}

/* The images of what it executes now. *changed: there are new ones. */
static bool look_at_images(struct rf_images **images, struct rf_process *p, bool *changed)
{
    if (rf_process_execed(p)) {
        rf_images_close(*images);
        *images = NULL;
        if (!rf_process_renew(p))
            return false;
    }
    *changed = !*images || rf_images_refresh(*images);
    return *images || rf_images_open(images, p, NULL) == RF_OK;
}

/* Does the layout agree with the live memory now? An error when it has not for long. */
static enum rf_status ask(struct rf_starting *st, struct rf_runtime *rt, const struct rf_process *p, uint64_t now,
                          struct rf_error *err)
{
    struct rf_error why;
    uint64_t runtime;
    st->waiting = rf_layout_validate(rt, &p->memory, NULL, &why) != RF_OK;
    if (!st->waiting || !rf_read_u64(&p->memory, rt->runtime, &runtime)) /* up, or ending */
        return RF_OK;
    if (!runtime)
        st->up_ns = 0;
    else if (!st->up_ns || strcmp(why.what, st->why.what) != 0)
        st->up_ns = now;
    st->why = why;
    if (!runtime || now - st->up_ns < REFUSE_MS * MS)
        return RF_OK;
    *err = why;
    return err->status;
}

enum rf_status rf_starting_look(struct rf_starting *st, struct rf_images **images, struct rf_runtime *rt,
                                struct rf_process *p, struct rf_error *err)
{
    uint64_t now = rf_now_ns(), every = now - st->opened_ns < LONG_MS * MS ? LOOK_MS * MS : LOOK_LONG_MS * MS;
    bool changed;
    if (now - st->looked_ns < every)
        return RF_OK;
    st->looked_ns = now;
    if (!look_at_images(images, p, &changed)) { /* in the midst of an exec, or ending */
        st->chosen = false;
        return RF_OK;
    }
    const struct rf_image *image = changed || st->chosen ? rf_runtime_image(*images) : NULL;
    if (!image) {
        st->chosen = false;
        if (changed)
            rf_no_runtime(p, *images, &st->why);
        return RF_OK;
    }
    if (!st->chosen) {
        enum rf_status status = rf_layout_choose(rt, image, st->layout, err);
        if (status != RF_OK)
            return status;
        st->chosen = st->seen = true;
        st->up_ns = 0;
    }
    return ask(st, rt, p, now, err);
}
