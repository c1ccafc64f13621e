/* stop.c: rfprof stop: ends the recording that `rfprof start` began, and waits until its files are complete. */
#include "console.h"
#include "control.h"
#include "remains.h"
#include "target.h"
#include "verbs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int nothing(pid_t pid)
{
    struct rf_error err;
    rf_fail(&err, RF_TARGET, 0, "there is no recording of %d to stop", (int)pid);
    rf_hint(&err, "rfprof start -p %d begins one; each user has his own (sudo: root's)", (int)pid);
    return complain(&err);
}

int verb_stop(const struct options *o, uint64_t started_ns)
{
    (void)started_ns;
    struct control_place p;
    struct control_message m = {.wish = CONTROL_STOP, .quiet = o->quiet};
    struct rf_error err = {0};
    char taken[OWNER_MAX + 16];
    if (!o->pid)
        return complain_usage("which recording? -p PID is missing");
    pid_t pid = process_of(o->pid);
    if (o->owner)
        snprintf(m.owner, sizeof m.owner, "%s", o->owner);
    else
        control_default_owner(m.owner);
    remains_taken_kind(m.owner, taken, sizeof taken);
    if (control_open(&p, pid, false, &err) != RF_OK)
        return complain(&err);
    int code = -1;
    if (p.folder_fd < 0 || (!p.name[0] && !remains_find(&p, REMAINS_ENDED)))
        return nothing(pid);
    /* One that is just ending by itself no longer answers, and then has left what it had. */
    for (unsigned look = 0; look < 2 && code < 0; look++) {
        code = remains_tell(&p, taken);
        int recorder = code < 0 ? control_connect(&p, true) : -1;
        if (recorder >= 0) {
            code = control_ask(recorder, &m, -1);
            close(recorder);
        } else if (code < 0) {
            code = remains_tell(&p, REMAINS_ENDED);
        }
    }
    control_close(&p);
    return code < 0 ? nothing(pid) : code;
}
