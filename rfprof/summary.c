/* summary.c: nothing disappears: what was asked, what was got, and what became of the rest. */
#include "summary.h"

#include <inttypes.h>

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

double summary_slept_percent(const struct rf_account *a, uint64_t wall_ns)
{
    return a->charged_ns < wall_ns ? 100.0 - percent(a->charged_ns, wall_ns) : 0.0;
}

static void put_time(FILE *to, const char *what, uint64_t ns)
{
    if (ns >= 1000000)
        fprintf(to, "%s %.1f ms", what, (double)ns / 1e6);
    else
        fprintf(to, "%s %.0f us", what, (double)ns / 1e3);
}

static void put_ticks(FILE *to, const struct rf_account *a)
{
    double seconds = (double)a->wall_ns / 1e9;
    fprintf(to, "rfprof: %.1f s, %" PRIu64 " of %" PRIu64 " ticks", seconds, a->ticks_taken, a->ticks_asked);
    if (a->wall_ns && a->ticks_taken > 1)
        fprintf(to, " (%.1f Hz)", (double)(a->ticks_taken - 1) / seconds);
    fprintf(to, ", %" PRIu64 " late; %" PRIu64 " samples\n", a->ticks_late, a->samples);
    const struct {
        uint64_t n;
        const char *why;
    } lost[] = {
        {a->lost_exited, "the thread ended"},
        {a->lost_timeout, "it did not stop in time"},
        {a->lost_traced, "another tracer had it"},
        {a->lost_other, "other causes"},
    };
    const char *between = "  samples lost: ";
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++) {
        if (!lost[i].n)
            continue;
        fprintf(to, "%s%" PRIu64 " (%s)", between, lost[i].n, lost[i].why);
        between = ", ";
    }
    fputs(*between == ',' ? "\n" : "  samples lost: none\n", to);
}

/* " (name 1.5 %, name 0.3 %)": what is worth a mention. */
static void put_parts(FILE *to, const struct rf_part part[RF_PARTS], uint64_t all)
{
    size_t i = 0;
    for (; i < RF_PARTS && percent(part[i].ns, all) >= 0.05; i++)
        fprintf(to, "%s%s %.1f %%", i ? ", " : " (", part[i].name, percent(part[i].ns, all));
    if (i)
        putc(')', to);
}

static void put_log(FILE *to, const struct rf_account *a)
{
    if (a->unlogged)
        fprintf(to, "  no room was left for the times of the last %" PRIu64 " samples: format perf is without them\n", a->unlogged);
}

static void put_cpu(FILE *to, const struct rf_account *a)
{
    uint64_t explained = a->line_ns + a->function_ns + a->runtime_ns;
    uint64_t all = explained + a->unknown_ns + a->pending_ns + a->ended_ns;
    double charged = (double)a->charged_ns / 1e9, found = (double)all / 1e9;
    fprintf(to, "  CPU time charged by the kernel: %.3f s", charged);
    if (a->idle)
        fprintf(to, "; wall-clock time of all threads: %.3f s\n", found);
    else if (a->charged_ns)
        fprintf(to, ", accounted for: %.3f s (%+.2f %%)\n", found, 100 * (found - charged) / charged);
    else
        putc('\n', to);
    if (!all)
        return;
    fprintf(to, "  explained: %.1f %% by line, %.1f %% by function only, %.1f %% runtime", percent(a->line_ns, all),
            percent(a->function_ns, all), percent(a->runtime_ns, all));
    put_parts(to, a->runtime, all);
    fprintf(to, "; %.1f %% not decoded", percent(a->unknown_ns, all));
    put_parts(to, a->unknown, all);
    fprintf(to, ", not sampled: %.1f %% since the last sample", percent(a->pending_ns, all));
    if (a->ended_ns)
        fprintf(to, ", %.1f %% by threads that ended", percent(a->ended_ns, all));
    putc('\n', to);
}

static void put_holds(FILE *to, const struct rf_account *a)
{
    if (!a->hold_n)
        return;
    fputs("  threads were held: ", to);
    put_time(to, "p50", a->hold_p50_ns);
    put_time(to, ", p99", a->hold_p99_ns);
    put_time(to, ", at most", a->hold_max_ns);
    put_time(to, ", in all", a->hold_total_ns);
    if (a->wall_ns)
        fprintf(to, " (%.2f %% of the time)", percent(a->hold_total_ns, a->wall_ns));
    fprintf(to, "; EINTR seen: %" PRIu64 "\n", a->eintr);
}

void summary_print(FILE *to, const struct rf_account *a, bool verbose)
{
    put_ticks(to, a);
    put_log(to, a);
    put_cpu(to, a);
    put_holds(to, a);
    uint64_t frames = a->ip_unique + a->ip_same_line + a->ip_open + a->ip_prologue;
    if (verbose && frames)
        fprintf(to,
                "  innermost frames: %.1f %% one instruction, %.1f %% several of one line, "
                "%.1f %% several lines, %.1f %% being entered\n",
                percent(a->ip_unique, frames), percent(a->ip_same_line, frames), percent(a->ip_open, frames),
                percent(a->ip_prologue, frames));
}
