/* record.c: rfprof record: sample a live process, or one that is started for it, then write the profile. */
#include "console.h"
#include "launch.h"
#include "recording.h"
#include "verbs.h"

#include <unistd.h>

struct launched {
    struct recording *recording;
    struct launch launch;
};

/* From here on the program decides whether a signal is its end; the recording ends with it. */
static enum rf_status go(void *ctx, struct rf_error *err)
{
    struct launched *l = ctx;
    enum rf_status status = launch_go(&l->launch, err);
    launch_pass_on(&l->launch, &l->recording->ending, &l->recording->written);
    return status;
}

/* Returns the exit code. */
static int tell_unstarted(const struct rf_error *why, int its)
{
    struct rf_error err;
    rf_fail(&err, RF_NO_SAMPLES, 0, "the program ended (status %d) before its runtime was up", its);
    if (its == 0)
        rf_hint(&err, "last seen: %s", why->what);
    complain(&err);
    return its ? its : RF_NO_SAMPLES;
}

/* The recording may be over before the program is (-d): it goes on, and rfprof waits for it, as time(1) does. */
static int launch(struct recording *r, char *const *command)
{
    struct launched l = {.recording = r};
    struct rf_error err;
    if (launch_prepare(&l.launch, command, &err) != RF_OK)
        return complain(&err);
    r->options->pid = l.launch.pid;
    r->starting = true;
    r->to_stderr = true;
    r->ctx = &l;
    r->opened = go;
    int code = recording_run(r);
    if (l.launch.released && r->state == RF_RUNNING && !r->options->quiet)
        note("the program goes on");
    int its = launch_wait(&l.launch);
    if (code && its && l.launch.released)
        note("the program itself ended with status %d", its);
    if (l.launch.code || code || r->unstarted.status == RF_OK)
        return l.launch.code ? l.launch.code : code ? code : its;
    return tell_unstarted(&r->unstarted, its);
}

int verb_record(const struct options *o, uint64_t started_ns)
{
    struct options own = *o;
    struct recording r = {.options = &own, .started_ns = started_ns};
    if (!o->pid && !o->command)
        return complain_usage("which process? -p PID is missing (rfprof alone lists those that can be profiled)");
    if (o->command)
        return launch(&r, o->command);
    return recording_run(&r);
}
