/* runtime.c: why a process cannot be profiled that has no symbols of a runtime. */
#include "runtime.h"

#include <string.h>

/* The program itself, if its file has no symbols but those of its interface: a rayforce may be meant. */
static const struct rf_image *stripped_program(const struct rf_images *images)
{
    for (size_t i = 0; i < rf_images_count(images); i++) {
        const struct rf_image *image = rf_images_get(images, i);
        if (rf_image_is_executable(image))
            return rf_image_symbols_in(image) ? NULL : image;
    }
    return NULL;
}

enum rf_status rf_no_runtime(const struct rf_process *p, const struct rf_images *images, struct rf_error *err)
{
    const struct rf_image *stripped = stripped_program(images);
    rf_fail(err, RF_TARGET, 0, "%d (%s) is not a rayforce process", (int)p->pid, p->comm);
    rf_hint(err, "none of the files that it has mapped defines __RUNTIME and g_env");
    if (stripped)
        rf_hint(err, "%s is stripped (no .symtab): a rayforce can be profiled only with its symbols, as released",
                rf_image_path(stripped));
    rf_hint(err, "`rfprof` alone lists the processes that could be profiled");
    rf_hint_container(p, err);
    return RF_TARGET;
}
