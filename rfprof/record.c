/* record.c: rfprof record: sample a live process, then write the profile. */
#include "console.h"
#include "recording.h"
#include "verbs.h"

int verb_record(const struct options *o, uint64_t started_ns)
{
    if (!o->pid)
        return complain_usage("which process? -p PID is missing (rfprof alone lists those that can be profiled)");
    struct options own = *o;
    struct recording r = {.options = &own, .started_ns = started_ns};
    return recording_run(&r);
}
