/* check.c: rfprof check: can this process be profiled, and what was found? Without a process: which can? This is
 * what a user runs and sends when something does not work, so it says all it knows. */
#include "console.h"
#include "verbs.h"

#include <stdlib.h>
#include <string.h>

enum { FINDINGS = 64 };

static int check_one(const struct options *o)
{
    static const char *const mark[] = {[RF_FINE] = "ok  ", [RF_NOTE] = "note", [RF_BAD] = "BAD "};
    struct rf_finding *finding = calloc(FINDINGS, sizeof *finding);
    struct rf_error err = {0};
    size_t n = 0;
    if (!finding)
        return complain((rf_fail(&err, RF_FAILURE, 0, "out of memory"), &err));
    enum rf_status status = rf_check(o->pid, &o->layout, finding, FINDINGS, &n, &err);
    for (size_t i = 0; i < n; i++) {
        printf("%s %-12s ", mark[finding[i].state], finding[i].name);
        put_safe(stdout, finding[i].value);
        putchar('\n');
    }
    free(finding);
    fflush(stdout);
    return status == RF_OK ? 0 : complain(&err);
}

static int list_candidates(void)
{
    struct rf_candidate *candidate;
    struct rf_error err = {0};
    size_t n;
    if (rf_candidates(&candidate, &n, &err) != RF_OK)
        return complain(&err);
    if (n) {
        const char *title = "CAN BE PROFILED";
        size_t width = strlen(title);
        for (size_t i = 0; i < n; i++)
            if (strlen(candidate[i].how) > width)
                width = strlen(candidate[i].how);
        printf("%7s  %-8s  %-*s  %s\n", "PID", "RELEASE", (int)width, title, "COMMAND");
        for (size_t i = 0; i < n; i++) {
            printf("%7d  %-8s  %-*s  ", candidate[i].pid, candidate[i].release, (int)width, candidate[i].how);
            put_safe(stdout, candidate[i].command);
            putchar('\n');
        }
    } else {
        rf_fail(&err, RF_TARGET, 0, "no process with a rayforce runtime was found");
        rf_hint(&err, "processes of other users are seen only by root");
        rf_hint(&err, "rfprof -p PID samples one, rfprof --help says more");
    }
    free(candidate);
    return n ? 0 : complain(&err);
}

int verb_check(const struct options *o, uint64_t started_ns)
{
    (void)started_ns;
    return o->pid ? check_one(o) : list_candidates();
}
