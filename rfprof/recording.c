/* recording.c: opens, ticks until the end, writes. */
#include "recording.h"
#include "console.h"
#include "signals.h"
#include "summary.h"

#include "clock.h"

#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { PROGRESS_NS = 250000000, WATCH_REST_NS = 100000000 };

static enum rf_status prepare_outputs(struct recording *r, struct rf_error *err)
{
    const struct options *o = r->options;
    const char *const standard[] = {r->to_stderr ? OUTPUT_STDERR : "-"};
    const char *const *name = o->n_outputs ? o->output : standard;
    size_t n = o->n_outputs ? o->n_outputs : 1;
    if (r->background && !o->n_outputs && r->begin_ns == 0)
        return RF_OK;
    return outputs_prepare(r->output, &r->n_outputs, name, n, o->format, err);
}

/* How the profile is to be shown, and what is known of the recording by now. */
struct looks {
    struct rf_render how;
    struct rf_about about;
    char *summary; /* NULL when out of memory: then files are without it */
};

static void looks_make(struct looks *l, const struct recording *r)
{
    const struct group *g = &r->group;
    *l = (struct looks){.how = options_render(r->options), .about = *rf_session_about(g->member[0].session)};
    if (g->n > 1) /* what is said is of all, or nothing */
        l->about = (struct rf_about){.rate_hz = l->about.rate_hz,
                                     .began_ns = l->about.began_ns,
                                     .wall_ns = l->about.wall_ns,
                                     .idle = l->about.idle};
    l->about.account = l->summary = group_summary(g, false);
    l->how.about = &l->about;
    if (r->options->full_paths && g->n == 1)
        l->how.folder = l->about.folder;
}

static void clear_progress(const struct recording *r)
{
    if (r->progress)
        fputs("\r\033[K", stderr);
}

/* Writes the files as they would be now. What goes to stdout, a FIFO or a device is written once, at the end. */
static void write_files(struct recording *r)
{
    struct rf_error err;
    struct looks looks;
    const struct rf_profile *profile;
    if (group_profile(&r->group, r->options->full_paths, &profile, &err) != RF_OK) {
        complain(&err);
        return;
    }
    looks_make(&looks, r);
    for (size_t i = 0; i < r->n_outputs; i++) {
        struct output *o = &r->output[i];
        if (o->in_place)
            continue;
        if (output_render(o, profile, &looks.how, &err) != RF_OK || output_write(o, &err) != RF_OK) {
            clear_progress(r);
            complain(&err);
        }
    }
    free(looks.summary);
}

/* True when the user asked for the end. From then on the next such signal ends the program as it always does. */
static bool asked_to_end(struct recording *r)
{
    int number = signals_next(r->signals);
    if (number == SIGUSR1)
        write_files(r);
    if (!number || number == SIGUSR1)
        return false;
    sigprocmask(SIG_UNBLOCK, &r->ending, NULL);
    return true;
}

static void show_progress(const struct recording *r, uint64_t now)
{
    struct rf_account a;
    group_account(&r->group, &a);
    fprintf(stderr, "\r%.1f s, %" PRIu64 " samples, %.2f s of CPU time (Ctrl-C ends and writes)\033[K",
            (double)(now - r->begin_ns) / 1e9, a.samples, (double)a.charged_ns / 1e9);
}

static uint64_t first(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* True when one of the caller's descriptors asks for the end. */
static bool serve_watches(struct recording *r, const struct pollfd *fds)
{
    bool ends = false;
    for (size_t i = 0; i < r->n_watches && !ends; i++) {
        struct recording_watch *w = &r->watch[i];
        enum watch_result result = fds[i].revents ? w->ready(w->ctx) : WATCH_GOES_ON;
        if (result == WATCH_RESTS)
            w->rests_until_ns = rf_now_ns() + WATCH_REST_NS;
        ends = result == WATCH_ENDS;
    }
    return ends;
}

/* Waits for whatever comes first, and serves it. False when the recording is over. */
static bool goes_on(struct recording *r, uint64_t until)
{
    struct pollfd fds[1 + WATCHES_MAX + PIDS_MAX] = {{r->signals, POLLIN, 0}};
    struct pollfd *watches = fds + 1, *members = watches + r->n_watches;
    size_t n = 1 + r->n_watches + group_fds(&r->group, members);
    uint64_t now = rf_now_ns();
    for (size_t i = 0; i < r->n_watches; i++) {
        const struct recording_watch *w = &r->watch[i];
        bool rests = now < w->rests_until_ns;
        watches[i] = (struct pollfd){rests ? -1 : w->fd, POLLIN, 0};
        if (rests)
            until = first(until, w->rests_until_ns);
    }
    uint64_t left = until > now ? until - now : 0;
    struct timespec t = {.tv_sec = (time_t)(left / 1000000000), .tv_nsec = (long)(left % 1000000000)};
    if (ppoll(fds, n, &t, NULL) < 0)
        return true;
    return !(fds[0].revents && asked_to_end(r)) && !serve_watches(r, watches) && group_runs(&r->group, members);
}

/* "rayforce-4242: " where that is needed to know which is meant. */
static const char *which(const struct recording *r, const struct member *m, char *room, size_t size)
{
    snprintf(room, size, "%s: ", m->name);
    return r->group.n > 1 ? room : "";
}

static void tell_new_rate(const struct recording *r, struct member *m)
{
    char name[64];
    double rate = rf_session_rate(m->session);
    if (rate < m->rate && !r->options->quiet) {
        clear_progress(r);
        note("%sa thread was held for more than %g %% of a second: rate lowered to %.4g Hz (--max-stop)",
             which(r, m, name, sizeof name), r->options->max_stop, rate);
    }
    m->rate = rate;
}

/* Of a process in which there was no runtime. */
static void tell_started(const struct recording *r, struct member *m)
{
    char name[64];
    if (!m->waiting || rf_session_started(m->session, NULL) != RF_OK)
        return;
    m->waiting = false;
    if (r->options->quiet)
        return;
    clear_progress(r);
    note("%sthe runtime is up after %.1f s: %s", which(r, m, name, sizeof name),
         (double)(rf_now_ns() - r->begin_ns) / 1e9, rf_session_describe(m->session));
}

/* Of several, one may end before the others. */
static void tell_over(const struct recording *r, struct member *m)
{
    if (m->state == RF_RUNNING || m->told || r->group.n == 1)
        return;
    m->told = true;
    if (r->options->quiet)
        return;
    clear_progress(r);
    note("%d %s after %.1f s; what it had is kept", m->pid,
         m->state == RF_EXECED ? "executed another program" : "ended", (double)(rf_now_ns() - r->begin_ns) / 1e9);
}

/* Ticks until the time is over, the target ends, the user says so, or a tick fails. */
static enum rf_status sample(struct recording *r, struct rf_error *err)
{
    uint64_t next_progress = r->progress ? r->begin_ns + PROGRESS_NS : UINT64_MAX;
    uint64_t every = (uint64_t)llround(r->options->snapshot * 1e9),
             next_files = every ? r->begin_ns + every : UINT64_MAX;
    while (goes_on(r, first(first(group_next_ns(&r->group), next_progress), first(next_files, r->end_ns)))) {
        uint64_t now = rf_now_ns();
        if (now >= r->end_ns)
            break;
        if (now >= next_progress) {
            show_progress(r, now);
            next_progress = now + PROGRESS_NS;
        }
        if (now >= next_files) {
            write_files(r);
            next_files = rf_now_ns() + every;
        }
        if (now < group_next_ns(&r->group))
            continue;
        enum rf_status status = group_tick(&r->group, now, err);
        if (status != RF_OK)
            return status;
        if (!r->first_tick_ns) {
            r->first_tick_ns = now;
            if (r->begun)
                r->begun(r->ctx);
        }
        for (size_t i = 0; i < r->group.n; i++) {
            tell_new_rate(r, &r->group.member[i]);
            tell_started(r, &r->group.member[i]);
            tell_over(r, &r->group.member[i]);
        }
    }
    return RF_OK;
}

static bool any_file(const struct recording *r)
{
    for (size_t i = 0; i < r->n_outputs; i++)
        if (!r->output[i].in_place)
            return true;
    return false;
}

static void tell_beginning(const struct recording *r)
{
    const struct options *o = r->options;
    char how_long[64];
    bool ctrl_c = sigismember(&r->ending, SIGINT) == 1; /* else a shell's background job, which ignores it */
    snprintf(how_long, sizeof how_long, "%s",
             r->starting || r->background ? "until it ends"
             : ctrl_c                     ? "until Ctrl-C or its end"
                                          : "until SIGTERM or its end");
    if (o->duration > 0)
        snprintf(how_long, sizeof how_long, "for %g s", o->duration);
    for (size_t i = 0; i < r->group.n; i++)
        note("sampling %d at %g Hz %s", r->group.member[i].pid, o->rate, how_long);
    if (o->snapshot > 0 && !any_file(r))
        note("--snapshot has nothing to do: there is no file to write (-o FILE)");
    outputs_note(r->output, r->n_outputs);
    if (o->view == RF_VIEW_BUILTIN)
        note("%s", rf_builtin_note());
    if (o->idle)
        note("sleeping threads are stopped too, once for each sleep: a system call of theirs may return EINTR");
    for (size_t i = 0; i < r->group.n; i++) {
        const struct member *m = &r->group.member[i];
        if (m->waiting)
            note("there is no rayforce runtime in %d yet: waiting for it", m->pid);
        if (o->verbose)
            note("found %s", rf_session_describe(m->session));
    }
}

/* One that has arrived by now asked for the end that there is. Also where `opened` has unblocked them. */
static void let_signals_end(struct recording *r)
{
    r->written = 1;
    while (signals_next(r->signals))
        ;
    sigprocmask(SIG_UNBLOCK, &r->ending, NULL);
}

/* Renders everything, lets go of the target, writes everything. A FIFO may have no reader, and a pipe one that does not
 * read: by then the files are written, and a signal ends the program as it always does. Before that it does only where
 * the user has asked for the end already (asked_to_end). */
static enum rf_status finish(struct recording *r, struct rf_error *err)
{
    struct looks looks;
    const struct rf_profile *profile;
    looks_make(&looks, r);
    enum rf_status status = r->n_outputs ? RF_OK : prepare_outputs(r, err);
    if (status == RF_OK)
        status = group_profile(&r->group, r->options->full_paths, &profile, err);
    if (status == RF_OK)
        status = outputs_render(r->output, r->n_outputs, profile, &looks.how, err);
    free(looks.summary);
    group_close(&r->group);
    if (status != RF_OK)
        return status;
    struct rf_error unwritten;
    status = outputs_write_files(r->output, r->n_outputs, err);
    let_signals_end(r);
    if (outputs_write_streams(r->output, r->n_outputs, &unwritten) != RF_OK && status == RF_OK) {
        *err = unwritten;
        status = unwritten.status;
        if (!r->options->n_outputs && r->unwritten)
            r->unwritten(r->ctx, r->output[0].bytes, r->output[0].n, err);
    }
    return status;
}

static void tell_end(const struct recording *r, const struct rf_account *a, const char *summary, uint64_t wall_ns)
{
    bool several = r->options->n_others > 0;
    if (!several && r->state == RF_EXECED)
        note("%d executed another program; the recording ends there", r->options->pid);
    else if (!several && r->state == RF_EXITED)
        note("%d ended after %.1f s", r->options->pid, (double)wall_ns / 1e9);
    if (r->options->verbose && r->first_tick_ns)
        note("first tick %.1f ms after the start", (double)(r->first_tick_ns - r->started_ns) / 1e6);
    fputs(summary ? summary : "", stderr);
    if (a->samples && a->stopped)
        note("the target is stopped (SIGSTOP): kill -CONT %d", r->options->pid);
    else if (a->samples && !a->idle && !several)
        summary_tell_idle(stderr, a);
}

static enum rf_status no_samples(const struct recording *r, const struct rf_account *a, uint64_t wall_ns,
                                 struct rf_error *err)
{
    if (a->ticks_taken == 0)
        return rf_fail(err, RF_NO_SAMPLES, 0, "no samples: the recording ended after %.3f s, before its first tick",
                       (double)wall_ns / 1e9);
    double seconds = (double)wall_ns / 1e9, off = summary_slept_percent(a, wall_ns);
    double waited = wall_ns ? 100.0 * (double)a->delay_ns / (double)wall_ns : 0.0;
    bool full = off >= 50 && waited >= off / 2;
    uint64_t lost = a->lost_exited + a->lost_timeout + a->lost_traced + a->lost_other;
    if (lost && off < 50 && r->state == RF_RUNNING) {
        rf_fail(err, RF_NO_SAMPLES, 0, "no samples in %.1f s: %" PRIu64 " were lost", seconds, lost);
        rf_hint(err, "the summary (without -q) says why");
        return RF_NO_SAMPLES;
    }
    if (a->stopped) {
        rf_fail(err, RF_NO_SAMPLES, 0, "no samples in %.1f s: the target is stopped (SIGSTOP)", seconds);
        rf_hint(err, "kill -CONT %d lets it go on", r->options->pid);
    } else if (full) {
        rf_fail(err, RF_NO_SAMPLES, 0, "no samples in %.1f s: the target waited for a CPU %.0f %% of the time", seconds,
                waited < off ? waited : off);
        rf_hint(err, "the machine is full; a longer recording (-d) gets some");
    } else {
        rf_fail(err, RF_NO_SAMPLES, 0, "no samples in %.1f s: the target slept %.0f %% of the time", seconds, off);
    }
    if (r->state == RF_EXITED) {
        rf_hint(err, "it ended before one could be taken");
    } else if (!a->stopped && !full) {
        rf_hint(err, "only threads that run are sampled; is it the right process, and busy now?");
        rf_hint(err, "-i shows where it sleeps");
    }
    return RF_NO_SAMPLES;
}

static bool asks_for(const struct options *o, enum rf_column column)
{
    for (size_t i = 0; i < o->n_columns; i++)
        if (o->column[i] == column)
            return true;
    return false;
}

/* What the profile has to keep for the view and the formats. */
static struct rf_session_options wishes(const struct recording *r)
{
    const struct options *o = r->options;
    struct rf_session_options how = {
        .pid = o->pid, .rate_hz = o->rate, .layout = o->layout, .max_stop_percent = o->max_stop};
    how.idle = o->idle;
    how.starting = r->starting;
    how.patient = true;
    how.want_expr = o->view == RF_VIEW_EXPR || asks_for(o, RF_COLUMN_EXPR);
    how.want_query = o->view == RF_VIEW_QUERY;
    how.want_native = o->native || o->view == RF_VIEW_NATIVE;
    how.want_builtin = o->view == RF_VIEW_BUILTIN;
    how.want_threads = o->threads || o->view == RF_VIEW_THREAD || asks_for(o, RF_COLUMN_THREAD);
    unsigned wants = o->format ? o->format->wants : 0;
    for (size_t i = 0; i < r->n_outputs; i++)
        wants |= r->output[i].format->wants;
    how.want_log = (wants & RF_WANTS_LOG) != 0;
    how.want_native |= (wants & RF_WANTS_NATIVE) != 0;
    if (wants & RF_WANTS_ALL)
        how.want_expr = how.want_query = how.want_builtin = how.want_threads = true;
    return how;
}

static enum rf_status open_recording(struct recording *r, struct rf_error *err)
{
    static const int number[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGQUIT};
    size_t n = r->starting ? 5 : 4; /* a core dump of ours is what SIGQUIT asks for, but for the program's */
    enum rf_status status = signals_catch(number, n, &r->ending, &r->signals, err);
    sigdelset(&r->ending, SIGUSR1);
    if (status == RF_OK)
        status = prepare_outputs(r, err);
    if (status != RF_OK)
        return status;
    struct rf_session_options how = wishes(r);
    status = group_open(&r->group, r->options, &how, err);
    if (status == RF_OK)
        r->options->pid = r->group.member[0].pid;
    return status == RF_OK && r->opened ? r->opened(r->ctx, err) : status;
}

static enum rf_status record(struct recording *r, struct rf_error *err)
{
    const struct options *o = r->options;
    struct rf_error trouble = {0}, unwritten = {0}, never = {0};
    struct rf_account account;
    enum rf_status status = open_recording(r, err);
    if (status != RF_OK)
        return status;
    /* Timers that may be late are handled together with others that are due: ticks would fall on the target's own
     * wake-ups. */
    prctl(PR_SET_TIMERSLACK, 1);
    r->begin_ns = rf_now_ns();
    r->end_ns = o->duration > 0 ? r->begin_ns + (uint64_t)llround(o->duration * 1e9) : UINT64_MAX;
    if (!o->quiet)
        tell_beginning(r);

    enum rf_status sampled = sample(r, &trouble);
    uint64_t wall_ns = rf_now_ns() - r->begin_ns;
    clear_progress(r);
    group_account(&r->group, &account);
    group_look(&r->group);
    r->state = r->group.member[0].state;
    if (r->ended)
        r->ended(r->ctx);
    never.status = group_started(&r->group, &never);
    bool started = never.status == RF_OK;
    char *summary = group_summary(&r->group, o->verbose);
    status = finish(r, &unwritten);
    if (!o->quiet)
        tell_end(r, &account, summary, wall_ns);
    free(summary);

    if (sampled != RF_OK) {
        if (status != RF_OK)
            complain(&unwritten);
        *err = trouble;
        return sampled;
    }
    if (status != RF_OK) {
        *err = unwritten;
        return status;
    }
    for (size_t i = 0; i <= o->n_others; i++)
        if (r->group.member[i].waiting)
            return rf_fail(err, RF_TARGET, 0, "no rayforce runtime came up in %d within %.1f s", r->group.member[i].pid,
                           (double)wall_ns / 1e9);
    if (!started && r->starting && r->state == RF_EXITED && never.status == RF_NO_SAMPLES) {
        r->unstarted = never;
        return RF_OK;
    }
    if (!started) {
        *err = never;
        return never.status;
    }
    return account.samples ? RF_OK : no_samples(r, &account, wall_ns, err);
}

int recording_run(struct recording *r)
{
    struct options *o = r->options;
    struct rf_error err = {0};
    r->signals = -1;
    r->progress = !o->quiet && !r->starting && !r->background && isatty(STDERR_FILENO);
    enum rf_status status = record(r, &err);
    let_signals_end(r); /* not so yet where it failed */
    group_close(&r->group);
    for (size_t i = 0; i < r->n_outputs; i++)
        output_free(&r->output[i]);
    if (r->signals >= 0)
        close(r->signals);
    return status == RF_OK ? 0 : complain(&err);
}
