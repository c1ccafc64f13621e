/* session.c: one recording: from a tick to the profile, through every room of the library in turn. */
#include "rfprof.h"

#include "account.h"
#include "calibrate.h"
#include "clock.h"
#include "profile/profile.h"
#include "rayfall/decode.h"
#include "starting.h"
#include "target/ticker.h"

#include <stdlib.h>
#include <string.h>

/* The first samples also test the layout: of so many interpreter frames most must have a block or be entry code. */
enum { TRIAL_FRAMES = 20 };
static const uint64_t SECOND = 1000000000;
/* A busy target confirms a derived layout within some 50 ms; for one that is not, the start is not held up. */
enum { TRIAL_NS = 300000000 };

struct explained {
    uint64_t ns[RF_NOT_EXPLAINED + 1]; /* by enum rf_explained */
};

struct rf_session {
    struct rf_session_options options;
    struct rf_process *process;
    struct rf_starting starting; /* not waiting: the runtime is up, and what follows is there */
    struct rf_images *images;
    struct rf_runtime runtime;
    /* Until a derived layout is believed there are two profiles: of what it says, and of what can be said without it.
     */
    struct rf_calibration *calibration; /* NULL once it is believed */
    struct rf_profile *without;         /* lives as long as the session: its user may still hold it */
    struct explained without_explained;
    struct rf_decoder *decoder;
    struct rf_unwinder *unwinder;
    struct rf_engine *engine;
    struct rf_profile *profile;
    struct rf_tids *tids; /* NULL where threads are neither kept apart nor logged */
    struct rf_ticker ticker;
    struct rf_account account;
    struct explained explained;
    enum rf_target_state state;
    double rate;
    uint64_t first_ns, last_ns, checked_ns;
    char describe[400], command[256];
    struct rf_about about;
    char folder[4096];
    struct rf_mark mark; /* of the sample at hand */
};

/* A derived layout is tried on the live process first. Where too little runs just now, the first ticks go on with it.
 */
static enum rf_status calibrate(struct rf_session *s, uint64_t at_most_ns, struct rf_error *err)
{
    enum rf_verdict verdict = RF_WAITING;
    enum rf_status status = RF_OK;
    if (s->runtime.layout.origin != RF_ORIGIN_DERIVED)
        return RF_OK;
    s->calibration = rf_calibration_new(&s->runtime, &s->process->memory);
    if (!s->calibration)
        return rf_fail(err, RF_FAILURE, 0, "out of memory");
    if (at_most_ns)
        status = rf_calibrate(s->calibration, s->process, s->images, at_most_ns, &verdict, err);
    if (verdict == RF_BELIEVED) {
        rf_calibration_free(s->calibration);
        s->calibration = NULL;
    }
    return status;
}

static void describe(struct rf_session *s)
{
    char layout[256];
    unsigned threads = rf_process_threads(s->process);
    rf_calibration_describe(&s->runtime, layout, sizeof layout);
    snprintf(s->describe, sizeof s->describe, "rayforce %s, core %s (layout: %s), %u thread%s",
             s->runtime.layout.release, s->runtime.version, layout, threads, threads == 1 ? "" : "s");
}

/* The runtime was found: everything that takes its samples apart. trial_ns: see rf_calibrate; 0 leaves it to ticks. */
static enum rf_status open_decoding(struct rf_session *s, uint64_t trial_ns, struct rf_error *err)
{
    enum rf_status status = calibrate(s, trial_ns, err);
    if (status != RF_OK)
        return status;
    s->decoder = rf_decoder_new(&s->runtime, &s->process->memory);
    if (!s->decoder || !rf_decoder_want(s->decoder, &s->options))
        return rf_fail(err, RF_FAILURE, 0, "out of memory");
    rf_decoder_find_spans(s->decoder, s->images);
    describe(s);
    return rf_unwinder_open(&s->unwinder, s->images, err);
}

/* The engine's selector: what is copied depends on whether the layout is believed yet. */
static size_t select_blocks(void *ctx, const struct rf_snapshot *snapshot, unsigned round, struct rf_range *out,
                            size_t max)
{
    const struct rf_session *s = ctx;
    if (s->starting.waiting)
        return 0;
    if (!s->calibration)
        return rf_probe_select(rf_decoder_probe(s->decoder), snapshot, round, out, max);
    struct rf_selector whole = rf_calibration_selector(s->calibration);
    return whole.select(whole.ctx, snapshot, round, out, max);
}

static enum rf_status open_profile(struct rf_session *s, struct rf_error *err)
{
    const struct rf_session_options *o = &s->options;
    bool two = s->calibration || s->starting.waiting, tids = o->want_threads || o->want_log;
    s->profile = rf_profile_new();
    s->without = two ? rf_profile_new() : NULL;
    s->tids = tids ? rf_tids_new(s->process->pid) : NULL;
    bool made = s->profile && (!two || s->without) && (!tids || s->tids);
    if (made && o->want_log)
        made = rf_profile_keep_log(s->profile, s->tids) && (!two || rf_profile_keep_log(s->without, s->tids));
    return made ? RF_OK : rf_fail(err, RF_FAILURE, 0, "out of memory");
}

static enum rf_status open_session(struct rf_session *s, struct rf_error *err)
{
    const struct rf_session_options *o = &s->options;
    enum rf_status status = rf_process_open(&s->process, o->pid, err);
    bool starting = o->starting;
    if (status != RF_OK)
        return status;
    if (!starting) {
        status = rf_starting_find(&s->images, &s->runtime, s->process, &o->layout, err);
        starting = status == RF_TARGET && o->patient && s->images && rf_starting_later(s->images, s->process);
        if (status == RF_OK)
            status = open_decoding(s, TRIAL_NS, err);
    }
    if (starting) {
        rf_images_close(s->images);
        s->images = NULL;
        rf_starting_begin(&s->starting, &o->layout);
        snprintf(s->describe, sizeof s->describe, "a program that is starting");
        status = RF_OK;
    }
    if (status == RF_OK)
        status = open_profile(s, err);
    struct rf_selector selector = {select_blocks, s};
    return status == RF_OK ? rf_engine_open(&s->engine, s->process, &selector, err) : status;
}

enum rf_status rf_session_open(struct rf_session **out, const struct rf_session_options *o, struct rf_error *err)
{
    struct rf_session *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s)
        return rf_fail(err, RF_FAILURE, 0, "out of memory");
    s->options = *o;
    enum rf_status status = open_session(s, err);
    if (status != RF_OK) {
        rf_session_close(s);
        return status;
    }
    if (!rf_process_folder(s->process, s->folder, sizeof s->folder))
        s->folder[0] = '\0';
    rf_process_command(s->process->pid, s->command, sizeof s->command);
    s->rate = s->about.rate_hz = o->rate_hz;
    if (o->idle)
        rf_engine_idle(s->engine);
    s->first_ns = s->last_ns = s->checked_ns = rf_now_ns();
    s->about.began_ns = rf_clock_ns(CLOCK_REALTIME);
    rf_ticker_start(&s->ticker, s->first_ns, s->rate, s->first_ns ^ (uint64_t)s->process->pid << 32);
    rf_engine_expect(s->engine, s->ticker.period_ns);
    *out = s;
    return RF_OK;
}

void rf_session_close(struct rf_session *s)
{
    if (!s)
        return;
    rf_engine_close(s->engine);
    rf_unwinder_close(s->unwinder);
    rf_calibration_free(s->calibration);
    rf_decoder_free(s->decoder);
    rf_profile_free(s->without);
    rf_profile_free(s->profile);
    rf_tids_free(s->tids);
    rf_images_close(s->images);
    rf_process_close(s->process);
    free(s);
}

uint64_t rf_session_next_ns(const struct rf_session *s)
{
    return s->ticker.next_ns;
}

int rf_session_pidfd(const struct rf_session *s)
{
    return s->process->pidfd;
}

enum rf_target_state rf_session_state(const struct rf_session *s)
{
    return s->state;
}

double rf_session_rate(const struct rf_session *s)
{
    return s->rate;
}

enum rf_status rf_session_started(const struct rf_session *s, struct rf_error *err)
{
    if (!s->starting.waiting)
        return RF_OK;
    if (err)
        *err = s->starting.why;
    return s->starting.seen ? RF_NO_SAMPLES : RF_TARGET;
}

const char *rf_session_describe(const struct rf_session *s)
{
    return s->describe;
}

const struct rf_about *rf_session_about(struct rf_session *s)
{
    struct rf_account a;
    rf_session_account(s, &a);
    s->about.pid = s->process->pid;
    s->about.command = s->command;
    s->about.release = s->runtime.layout.release;
    s->about.wall_ns = a.wall_ns;
    s->about.charged_ns = a.charged_ns;
    s->about.idle = s->options.idle;
    s->about.folder = rf_session_folder(s);
    return &s->about;
}

const char *rf_session_folder(const struct rf_session *s)
{
    return s->folder[0] ? s->folder : NULL;
}

const struct rf_profile *rf_session_profile(const struct rf_session *s)
{
    return s->calibration ? s->without : s->profile;
}

/* The root of a thread's stacks, where threads are kept apart. UINT32_MAX when out of memory. */
static uint32_t root_of(struct rf_session *s, struct rf_profile *p, pid_t tid, bool worker)
{
    char comm[32];
    const struct rf_tid *t = rf_tids_find(s->tids, tid);
    if (!t || (worker && !t->worker))
        t = rf_tids_add(s->tids, tid, rf_process_comm(s->process, tid, comm), worker);
    if (!t || !s->options.want_threads)
        return t ? 0 : UINT32_MAX;
    struct rf_frame root = {.kind = RF_KIND_THREAD, .file = {"", 0}, .fn = t->name, .named = true};
    return rf_profile_place(p, 0, &root, 1);
}

/* Charges a stack with samples of one thread. */
static void charge_node(struct rf_session *s, struct rf_profile *p, uint32_t node, const struct rf_decoded *d,
                        uint64_t time_ns)
{
    rf_profile_charge(p, node, d->samples,
                      (struct rf_charge){.weight_ns = d->weight_ns, .pool_ns = d->worker ? d->weight_ns : 0});
    uint64_t left = d->weight_ns;
    for (uint32_t n = s->options.want_log ? d->samples : 0; n; n--) {
        struct rf_event event = {.time_ns = time_ns, .weight_ns = left / n, .node = node, .tid = d->tid};
        rf_log_add(rf_profile_log(p), event);
        left -= event.weight_ns;
    }
}

static enum rf_status charge(struct rf_session *s, struct rf_profile *p, struct explained *explained,
                             const struct rf_decoded *d, uint64_t time_ns, struct rf_error *err)
{
    if (d->n == 0)
        return RF_OK;
    uint32_t root = s->tids ? root_of(s, p, d->tid, d->worker) : 0;
    uint32_t node = root == UINT32_MAX ? root : rf_profile_place(p, root, d->frame, d->n);
    if (node == UINT32_MAX)
        return rf_fail(err, RF_FAILURE, 0, "out of memory with %zu stacks", rf_profile_nodes(p));
    explained->ns[d->how] += d->weight_ns;
    charge_node(s, p, node, d, time_ns);
    s->mark.node[p == s->without] = node;
    s->mark.how[p == s->without] = (uint8_t)d->how;
    s->mark.pool = d->worker;
    return RF_OK;
}

/* Threads that sleep on are charged where their last samples were. */
static void charge_sleepers(struct rf_session *s)
{
    size_t n;
    const struct rf_asleep *v = rf_engine_asleep(s->engine, &n);
    for (size_t i = 0; i < n; i++) {
        const struct rf_mark *m = &v[i].mark;
        struct rf_decoded d = {.tid = v[i].tid, .worker = m->pool, .samples = 1, .weight_ns = v[i].weight_ns};
        charge_node(s, s->profile, m->node[0], &d, v[i].time_ns);
        s->explained.ns[m->how[0]] += d.weight_ns;
        if (s->calibration || s->starting.waiting) {
            charge_node(s, s->without, m->node[1], &d, v[i].time_ns);
            s->without_explained.ns[m->how[1]] += d.weight_ns;
        }
    }
}

/* Bytecode that runs before there were enough observations, or work that is charged to the stack of another thread. */
static enum rf_status add_without(struct rf_session *s, const struct rf_snapshot *snapshot, bool bytecode,
                                  const struct rf_decoded *d, struct rf_error *err)
{
    static const struct rf_frame no_layout = {.file = {"<unknown>", 9}, .fn = {"<no layout>", 11}, .named = true};
    struct rf_decoded known = *d;
    known.weight_ns = snapshot->weight_ns;
    known.samples = 1;
    if (bytecode) {
        known.frame = &no_layout;
        known.n = 1;
        known.how = RF_NOT_EXPLAINED;
    }
    return charge(s, s->without, &s->without_explained, &known, snapshot->time_ns, err);
}

/* The layout is believed: with all that it says, or, where that was changed on the way, from here on. */
static void settle(struct rf_session *s, bool as_it_was)
{
    if (!as_it_was) {
        struct rf_profile *swap = s->profile;
        s->profile = s->without;
        s->without = swap;
        s->explained = s->without_explained;
    }
    rf_engine_unmark(s->engine);
    rf_calibration_free(s->calibration);
    s->calibration = NULL;
    describe(s);
}

/* What ran before there was a runtime, and while it was not known to be up: in both profiles, since which of the two
 * will count is not known yet. */
static enum rf_status add_startup(struct rf_session *s, const struct rf_snapshot *snapshot, struct rf_error *err)
{
    static const struct rf_frame startup = {.file = {"<runtime>", 9}, .fn = {"<startup>", 9}, .named = true};
    struct rf_decoded d = {.frame = &startup,
                           .n = 1,
                           .how = RF_BY_RUNTIME,
                           .tid = snapshot->tid,
                           .samples = 1,
                           .weight_ns = snapshot->weight_ns};
    s->mark = (struct rf_mark){.pool = false};
    enum rf_status status = charge(s, s->profile, &s->explained, &d, snapshot->time_ns, err);
    if (status == RF_OK)
        status = charge(s, s->without, &s->without_explained, &d, snapshot->time_ns, err);
    if (snapshot->asleep)
        rf_engine_mark(s->engine, snapshot->tid, s->mark);
    return status;
}

static enum rf_status await_runtime(struct rf_session *s, struct rf_error *err)
{
    if (!s->starting.waiting)
        return RF_OK;
    enum rf_status status = rf_starting_look(&s->starting, &s->images, &s->runtime, s->process, err);
    if (status != RF_OK || s->starting.waiting)
        return status;
    rf_engine_unmark(s->engine);
    rf_process_command(s->process->pid, s->command, sizeof s->command);
    return open_decoding(s, 0, err);
}

static enum rf_status decode_one(struct rf_session *s, const struct rf_snapshot *snapshot, struct rf_error *err)
{
    struct rf_native_stack native;
    if (s->starting.waiting)
        return add_startup(s, snapshot, err);
    rf_unwind(s->unwinder, snapshot, &native);
    if (native.end == RF_UNWIND_NO_CFI && rf_images_refresh(s->images)) {
        rf_unwinder_flush(s->unwinder);
        rf_decoder_find_spans(s->decoder, s->images);
        rf_unwind(s->unwinder, snapshot, &native);
    }
    bool root = native.end == RF_UNWIND_ROOT && native.n > 0;
    rf_engine_stack_root(s->engine, snapshot->tid, root ? native.frame[native.n - 1].sp : 0);
    if (s->calibration) {
        int32_t ps = s->runtime.layout.exec_ps;
        unsigned off = s->runtime.off;
        enum rf_verdict verdict = rf_calibration_observe(s->calibration, snapshot, &native, err);
        if (verdict == RF_REFUTED)
            return RF_TARGET;
        if (verdict == RF_BELIEVED)
            settle(s, s->runtime.layout.exec_ps == ps && s->runtime.off == off);
    }
    s->mark = (struct rf_mark){.pool = false};
    struct rf_decoded d = rf_decode(s->decoder, snapshot, &native);
    enum rf_status status = RF_OK;
    if (s->calibration)
        status = add_without(s, snapshot, !d.owner || rf_runs_bytecode(&s->runtime, &native), &d, err);
    if (status == RF_OK)
        status = charge(s, s->profile, &s->explained, &d, snapshot->time_ns, err);
    /* a stack that was cut is copied once more, further */
    if (snapshot->asleep && native.end != RF_UNWIND_TRUNCATED && s->mark.node[0] &&
        (!s->calibration || s->mark.node[1]))
        rf_engine_mark(s->engine, snapshot->tid, s->mark);
    while (status == RF_OK && rf_decode_waiting(s->decoder, &d))
        status = charge(s, s->profile, &s->explained, &d, snapshot->time_ns, err);
    return status;
}

/* The layout is refused when running frames contradict it, before a user has believed a line of it. */
static enum rf_status check_trial(const struct rf_session *s, struct rf_error *err)
{
    const struct rf_decode_stats *d = rf_decoder_stats(s->decoder);
    if (d->interpreters < TRIAL_FRAMES || d->interpreters > 2 * TRIAL_FRAMES || d->bare * 2 < d->interpreters)
        return RF_OK;
    char layout[64];
    rf_layout_describe(&s->runtime.layout, layout, sizeof layout);
    rf_fail(err, RF_TARGET, 0,
            "the layout (%s) does not fit the process: %llu of %llu interpreter frames have no execution block", layout,
            (unsigned long long)d->bare, (unsigned long long)d->interpreters);
    rf_hint(err, "found: version '%s', build-id %s", s->runtime.version, rf_image_build_id(s->runtime.image));
    return RF_TARGET;
}

/* Another program in the process? And once a second: held too long? Memory that a child shares outlives an exec, so
 * that is not asked alone. */
static void look_around(struct rf_session *s, uint64_t now)
{
    uint64_t past = now - s->checked_ns;
    if (!s->starting.waiting && (past >= SECOND || !rf_process_same_memory(s->process)) &&
        rf_process_execed(s->process)) {
        s->state = RF_EXECED;
        return;
    }
    if (past < SECOND)
        return;
    s->checked_ns = now;
    double share = 100.0 * (double)rf_engine_held_ns(s->engine) / (double)past;
    if (share <= s->options.max_stop_percent)
        return;
    double rate = s->rate * s->options.max_stop_percent / share;
    s->rate = rate > 1 ? rate : 1;
    rf_ticker_set_rate(&s->ticker, now, s->rate);
    rf_engine_expect(s->engine, s->ticker.period_ns);
}

enum rf_status rf_session_tick(struct rf_session *s, struct rf_error *err)
{
    struct rf_snapshot *const *v;
    size_t n;
    if (!rf_process_alive(s->process))
        s->state = RF_EXITED;
    else
        look_around(s, rf_now_ns());
    if (s->state != RF_RUNNING)
        return RF_OK;
    enum rf_status status = await_runtime(s, err);
    if (status == RF_OK)
        status = rf_engine_tick(s->engine, &v, &n, err);
    if (status != RF_OK)
        return status;
    uint64_t now = rf_now_ns();
    s->account.ticks_taken++;
    s->account.ticks_late += rf_ticker_advance(&s->ticker, now);
    s->last_ns = now;
    const struct rf_engine_stats *e = rf_engine_stats(s->engine);
    if (e->cpu_ns > e->opened_cpu_ns)
        s->account.charged_ns = e->cpu_ns - e->opened_cpu_ns;
    charge_sleepers(s);
    size_t first = 0;
    for (size_t i = 0; i < n && s->decoder; i++)
        if (v[i]->tid == rf_decoder_owner(s->decoder))
            first = i;
    for (size_t i = 0; status == RF_OK && i < n; i++)
        status = decode_one(s, v[i == 0 ? first : i == first ? 0 : i], err);
    return status == RF_OK && s->decoder ? check_trial(s, err) : status;
}

/* What is in no sample: known by the threads' own clocks, but for those that have ended. */
static void account_for_rest(struct rf_session *s, struct rf_account *a)
{
    const struct rf_engine_stats *e = rf_engine_stats(s->engine);
    struct rf_engine_rest rest = rf_engine_rest(s->engine);
    uint64_t charged = rf_process_cpu_ns(s->process);
    uint64_t waiting = s->calibration || !s->decoder ? 0 : rf_decoder_waiting_ns(s->decoder);
    bool gone = s->state == RF_EXECED || charged < e->opened_cpu_ns; /* the clock lasts until the parent has waited */
    if (!gone)
        a->charged_ns = charged - e->opened_cpu_ns;
    a->delay_ns = rest.delay_ns;
    uint64_t known = e->sampled_ns + (gone ? 0 : rest.pending_ns);
    a->idle = s->options.idle;
    a->pending_ns = waiting + (gone ? 0 : s->options.idle ? rest.wall_ns : rest.pending_ns);
    a->ended_ns = !s->options.idle && (gone || rest.changed || !rf_process_alive(s->process)) && a->charged_ns > known
                      ? a->charged_ns - known
                      : 0;
}

void rf_session_account(struct rf_session *s, struct rf_account *out)
{
    const struct rf_engine_stats *e = rf_engine_stats(s->engine);
    const struct explained *explained = s->calibration ? &s->without_explained : &s->explained;
    *out = s->account;
    out->line_ns = explained->ns[RF_BY_A_LINE];
    out->function_ns = explained->ns[RF_BY_A_FUNCTION];
    out->runtime_ns = explained->ns[RF_BY_RUNTIME];
    out->unknown_ns = explained->ns[RF_NOT_EXPLAINED];
    out->wall_ns = s->last_ns - s->first_ns;
    out->ticks_asked = out->ticks_taken + out->ticks_late;
    out->samples = e->samples;
    bool alive = s->state == RF_RUNNING && rf_process_alive(s->process);
    out->threads = alive ? rf_process_threads(s->process) : 0;
    out->stopped = alive && rf_process_stopped(s->process);
    out->slept = e->slept;
    out->waited = e->waited;
    out->eintr = e->eintr;
    out->lost_exited = e->lost_exited;
    out->lost_timeout = e->lost_timeout;
    out->lost_traced = e->lost_traced;
    out->lost_other = e->lost_other;
    const struct rf_log *log = rf_profile_log(rf_session_profile(s));
    out->unlogged = log ? log->missed : 0;
    out->hold_n = e->hold.n;
    out->hold_p50_ns = rf_hist_percentile(&e->hold, 0.5);
    out->hold_p99_ns = rf_hist_percentile(&e->hold, 0.99);
    out->hold_max_ns = e->hold.max;
    out->hold_total_ns = e->hold.sum;
    if (s->decoder) {
        const struct rf_decode_stats *d = rf_decoder_stats(s->decoder);
        out->ip_unique = d->ip_unique;
        out->ip_same_line = d->ip_same_line;
        out->ip_open = d->ip_open;
        out->ip_prologue = d->ip_prologue;
    }
    account_for_rest(s, out);
    rf_account_name(out, rf_session_profile(s));
}
