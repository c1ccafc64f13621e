/* watch.c: the turns, and the comparison of clocks. Called in the holder. */
#include "watch.h"

enum {
    FEW_THREADS = 8, /* so many are all looked at, each time */
    LATELY = 100,    /* ticks */
    PARTS = 20,
    UNEXPLAINED_NS = 50 * 1000,
};

void rf_watch_clock(struct rf_watch *w)
{
    uint64_t now = rf_process_cpu_ns(w->process);
    if (now) /* else it has ended */
        w->cpu_ns = now;
}

static bool lately(const struct rf_watch *w, const struct rf_thread *t)
{
    return w->threads.n <= FEW_THREADS || !t->look.slept || (t->look.ran && w->tick - t->look.ran < LATELY);
}

/* The process's clock does not move before a thread that woke is put off its CPU, or a timer interrupt finds it there:
 * by that alone a short run would be noticed when it is over. Reading it takes the kernel long where threads are many,
 * so it is not asked when the answer is known. */
bool rf_watch_quiet(struct rf_watch *w)
{
    for (size_t i = 0; i < w->threads.n; i++)
        if (!w->threads.v[i].look.slept)
            return false;
    uint64_t now = rf_process_cpu_ns(w->process);
    bool quiet = now == 0 || now == w->cpu_ns; /* 0: it has ended */
    for (size_t i = 0; quiet && now && i < w->threads.n; i++) {
        struct rf_thread *t = &w->threads.v[i];
        if (lately(w, t))
            quiet = rf_thread_read_cpu(&w->threads, t) && t->runs == t->look.runs && t->runs != 0;
    }
    return quiet;
}

/* What runs now is charged when it is put off its CPU, which we do, and at timer interrupts. So the clocks of those,
 * and then the process's, are read in one go. */
static int64_t others(struct rf_watch *w)
{
    uint64_t known = 0;
    for (size_t i = 0; i < w->threads.n; i++) {
        struct rf_thread *t = &w->threads.v[i];
        if (!t->look.slept)
            rf_thread_read_cpu(&w->threads, t);
        known += t->used_ns;
    }
    rf_watch_clock(w);
    return (int64_t)(w->cpu_ns - known);
}

/* A thread that has not been given a CPU since it was seen asleep still is, or waits for one: its state, which costs
 * four times as much to read, is not needed. */
static bool sleeps_on(struct rf_watch *w, struct rf_thread *t)
{
    bool read = rf_thread_read_cpu(&w->threads, t), ran = !read || t->runs != t->look.runs || t->runs == 0;
    if (ran && t->look.tick)
        t->look.ran = w->tick;
    t->look.tick = w->tick;
    t->look.runs = t->runs;
    return t->look.slept && !ran;
}

/* One that is not known to sleep on, and has not had its turn in this tick. */
static size_t look_at(struct rf_watch *w, struct rf_thread *t, void (*look)(void *ctx, struct rf_thread *t), void *ctx)
{
    if (t->look.tick == w->tick || sleeps_on(w, t))
        return 0;
    look(ctx, t);
    return 1;
}

/* All threads, or those that are due, the youngest first. A pool's workers are younger than the thread that gives them
 * work: while that is held they run out of it, and where tasks are short they all sleep when their turn comes. */
static size_t look_at_due(struct rf_watch *w, bool all, void (*look)(void *ctx, struct rf_thread *t), void *ctx)
{
    size_t n = w->threads.n, part = n / PARTS + 1, looks = 0;
    for (size_t i = n; i-- > 0;) {
        struct rf_thread *t = &w->threads.v[i];
        bool turn = (i + n - w->turn) % n < part;
        if (lately(w, t) || turn || all)
            looks += look_at(w, t, look, ctx);
    }
    return looks;
}

size_t rf_watch_tick(struct rf_watch *w, void (*look)(void *ctx, struct rf_thread *t), void *ctx)
{
    size_t n = w->threads.n;
    uint64_t changes = w->threads.ended + w->threads.born;
    bool same = changes == w->changes, all = n <= FEW_THREADS || !same;
    w->tick++;
    size_t looks = look_at_due(w, all, look, ctx);
    if (!all && others(w) > w->others_ns + UNEXPLAINED_NS) {
        all = true;
        looks += look_at_due(w, all, look, ctx);
    }
    if (all) {
        int64_t now = others(w);
        w->strangers = same && now > w->others_ns + UNEXPLAINED_NS;
        w->others_ns = now;
        w->changes = changes;
    }
    w->turn = n ? (w->turn + n / PARTS + 1) % n : 0;
    return n - looks;
}
