/* summary.c: nothing disappears: what was asked, what was got, and what became of the rest. */
#include "summary.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum { WIDTH = 80 };
static const char indent[] = "    ";

/* Words that are put behind each other, and go on in a further line where one is full. */
struct flow {
    FILE *to;
    size_t used;
};

/* `before` follows what is there at once; the text stands behind a blank, or begins a line. */
static void __attribute__((format(printf, 3, 4))) put(struct flow *f, const char *before, const char *fmt, ...)
{
    char text[120];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size_t n = strlen(text);
    f->used += strlen(before);
    bool full = f->used + n + 2 > WIDTH; /* a blank in front, and what will follow at once */
    fprintf(f->to, full ? "%s\n%s%s" : "%s%s%s", before, full ? indent : f->used ? " " : "", text);
    f->used = full ? strlen(indent) + n : f->used + n + (f->used > 0);
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

double summary_slept_percent(const struct rf_account *a, uint64_t wall_ns)
{
    return a->charged_ns < wall_ns ? 100.0 - percent(a->charged_ns, wall_ns) : 0.0;
}

static void put_time(struct flow *f, const char *before, const char *what, uint64_t ns)
{
    if (ns >= 1000000)
        put(f, before, "%s %.1f ms", what, (double)ns / 1e6);
    else
        put(f, before, "%s %.0f us", what, (double)ns / 1e3);
}

static void put_ticks(FILE *to, const struct rf_account *a)
{
    double seconds = (double)a->wall_ns / 1e9;
    fprintf(to, "rfprof: %.1f s, %" PRIu64 " of %" PRIu64 " ticks", seconds, a->ticks_taken, a->ticks_asked);
    if (a->wall_ns && a->ticks_taken > 1)
        fprintf(to, " (%.1f Hz)", (double)(a->ticks_taken - 1) / seconds);
    fprintf(to, ", %" PRIu64 " late; %" PRIu64 " sample%s\n", a->ticks_late, a->samples, a->samples == 1 ? "" : "s");
    if (a->slept || a->waited)
        fprintf(to, "  other looks at threads found them: asleep %" PRIu64 ", waiting for a CPU %" PRIu64 "\n",
                a->slept, a->waited);
    const struct {
        uint64_t n;
        const char *why;
    } lost[] = {
        {a->lost_exited, "the thread ended"},
        {a->lost_timeout, "it did not stop in time"},
        {a->lost_traced, "another tracer had it"},
        {a->lost_other, "other causes"},
    };
    struct flow f = {.to = to};
    put(&f, "", "  samples lost:");
    const char *between = "";
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++) {
        if (!lost[i].n)
            continue;
        put(&f, between, "%" PRIu64 " (%s)", lost[i].n, lost[i].why);
        between = ",";
    }
    fputs(*between ? "\n" : " none\n", to);
}

/* " (name 1.5 %, name 0.3 %)": what is worth a mention. */
static void put_parts(struct flow *f, const struct rf_part part[RF_PARTS], uint64_t all)
{
    size_t n = 0;
    while (n < RF_PARTS && percent(part[n].ns, all) >= 0.05)
        n++;
    for (size_t i = 0; i < n; i++)
        put(f, i ? "," : "", "%s%s %.1f %%%s", i ? "" : "(", part[i].name, percent(part[i].ns, all),
            i + 1 == n ? ")" : "");
}

static void put_log(FILE *to, const struct rf_account *a)
{
    if (a->unlogged)
        fprintf(to, "  no room was left for the times of the last %" PRIu64 " samples: format perf is without them\n",
                a->unlogged);
}

static void put_cpu(FILE *to, const struct rf_account *a)
{
    uint64_t explained = a->line_ns + a->function_ns + a->runtime_ns;
    uint64_t all = explained + a->unknown_ns + a->pending_ns + a->ended_ns;
    double charged = (double)a->charged_ns / 1e9, found = (double)all / 1e9;
    struct flow f = {.to = to};
    put(&f, "", "  CPU time charged by the kernel: %.3f s", charged);
    if (a->idle)
        put(&f, ";", "wall-clock time of all threads: %.3f s", found);
    else if (a->charged_ns)
        put(&f, ",", "accounted for: %.3f s (%+.2f %%)", found, 100 * (found - charged) / charged);
    putc('\n', to);
    if (explained + a->unknown_ns == 0)
        return;
    f.used = 0;
    put(&f, "", "  explained: %.1f %% by line", percent(a->line_ns, all));
    put(&f, ",", "%.1f %% by function only", percent(a->function_ns, all));
    put(&f, ",", "%.1f %% runtime", percent(a->runtime_ns, all));
    put_parts(&f, a->runtime, all);
    put(&f, ";", "%.1f %% not decoded", percent(a->unknown_ns, all));
    put_parts(&f, a->unknown, all);
    put(&f, ",", "not sampled: %.1f %% since the last sample", percent(a->pending_ns, all));
    if (a->ended_ns)
        put(&f, ",", "%.1f %% by threads that ended", percent(a->ended_ns, all));
    putc('\n', to);
}

static void put_holds(FILE *to, const struct rf_account *a)
{
    struct flow f = {.to = to};
    if (!a->hold_n)
        return;
    put_time(&f, "", "  threads were held: p50", a->hold_p50_ns);
    put_time(&f, ",", "p99", a->hold_p99_ns);
    put_time(&f, ",", "at most", a->hold_max_ns);
    put_time(&f, ",", "in all", a->hold_total_ns);
    if (a->wall_ns)
        put(&f, "", "(%.2f %% of the time)", percent(a->hold_total_ns, a->wall_ns));
    put(&f, ";", "EINTR seen: %" PRIu64, a->eintr);
    putc('\n', to);
}

void summary_print(FILE *to, const struct rf_account *a, bool verbose)
{
    put_ticks(to, a);
    put_log(to, a);
    put_cpu(to, a);
    put_holds(to, a);
    uint64_t frames = a->ip_unique + a->ip_same_line + a->ip_open + a->ip_prologue;
    if (!verbose || !frames)
        return;
    struct flow f = {.to = to};
    put(&f, "", "  innermost frames: %.1f %% one instruction", percent(a->ip_unique, frames));
    put(&f, ",", "%.1f %% several of one line", percent(a->ip_same_line, frames));
    put(&f, ",", "%.1f %% several lines", percent(a->ip_open, frames));
    put(&f, ",", "%.1f %% being entered", percent(a->ip_prologue, frames));
    putc('\n', to);
}

/* Of one that ran less than half of the time: for some of it it may have been others who had the CPUs. */
void summary_tell_idle(FILE *to, const struct rf_account *a)
{
    enum { WORTH_IT = 10 };
    double off = summary_slept_percent(a, a->wall_ns), waited = percent(a->delay_ns, a->wall_ns);
    waited = waited < off ? waited : off;
    if (off < 50)
        return;
    if (waited >= WORTH_IT)
        fprintf(to, "rfprof: the target waited for a CPU %.0f %% of the time: the machine is full\n", waited);
    if (off - waited >= WORTH_IT)
        fprintf(to,
                "rfprof: the target slept %.0f %% of the time; shares are of what it ran\n"
                "  -i shows where it slept\n",
                off - waited);
}
