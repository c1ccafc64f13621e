/* layout.c: rfprof layout: what was found in an ELF file, as the catalog stores it. The catalog is made with this. */
#include "console.h"
#include "verbs.h"

int verb_layout(const struct options *o, uint64_t started_ns)
{
    struct rf_error err = {0};
    (void)started_ns;
    if (!o->file)
        return complain_usage("layout needs a file: an executable of rayforce, or its Python extension");
    return rf_layout_of_file(o->file, &o->layout, stdout, &err) == RF_OK ? 0 : complain(&err);
}
