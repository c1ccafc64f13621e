/* waiting.c: a bag of them, and which tasks go with which dispatchers. */
#include "waiting.h"

#include <stdlib.h>

enum { WAITING_MAX = 64, PAIRS_MAX = 512 };
/* The dispatcher of a known task comes again soon, or does not: then whatever is dispatched now has to do. */
static const uint64_t PATIENCE_NS = 1000000000, GIVE_UP_NS = 2000000000;

struct rf_waiting {
    struct {
        uint64_t task, dispatcher;
    } pair[PAIRS_MAX];
    size_t n_pairs, n;
    struct rf_wait v[WAITING_MAX], taken;
};

struct rf_waiting *rf_waiting_new(void)
{
    return calloc(1, sizeof(struct rf_waiting));
}

void rf_waiting_free(struct rf_waiting *w)
{
    free(w);
}

size_t rf_waiting_n(const struct rf_waiting *w)
{
    return w->n;
}

uint64_t rf_waiting_ns(const struct rf_waiting *w)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < w->n; i++)
        ns += w->v[i].ns;
    return ns;
}

static bool go_together(const struct rf_waiting *w, uint64_t task, uint64_t dispatcher)
{
    for (size_t i = 0; i < w->n_pairs; i++)
        if (w->pair[i].task == task && w->pair[i].dispatcher == dispatcher)
            return true;
    return false;
}

void rf_waiting_learn(struct rf_waiting *w, uint64_t task, uint64_t dispatcher)
{
    if (!task || !dispatcher || w->n_pairs == PAIRS_MAX || go_together(w, task, dispatcher))
        return;
    w->pair[w->n_pairs].task = task;
    w->pair[w->n_pairs++].dispatcher = dispatcher;
}

struct rf_wait *rf_waiting_add(struct rf_waiting *w, pid_t tid, uint64_t task, bool apart, uint64_t now_ns)
{
    size_t at = 0;
    while (at < w->n && (apart || w->v[at].tid != tid || w->v[at].task != task))
        at++;
    if (at == WAITING_MAX)
        return &w->v[at - 1];
    struct rf_wait *one = &w->v[at];
    if (at == w->n) {
        w->n++;
        one->tid = tid;
        one->task = task;
        one->since_ns = now_ns;
        one->ns = one->n = one->samples = 0;
    }
    return one;
}

static bool older(const struct rf_wait *one, uint64_t now_ns, uint64_t than_ns)
{
    return now_ns > one->since_ns && now_ns - one->since_ns >= than_ns;
}

static const struct rf_wait *take(struct rf_waiting *w, size_t i)
{
    w->taken = w->v[i];
    w->v[i] = w->v[--w->n];
    return &w->taken;
}

bool rf_waiting_take(struct rf_waiting *w, uint64_t dispatcher, uint64_t now_ns, const struct rf_wait **out)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct rf_wait *one = &w->v[i];
        if (!one->task || !dispatcher || go_together(w, one->task, dispatcher) || older(one, now_ns, PATIENCE_NS)) {
            *out = take(w, i);
            return true;
        }
    }
    return false;
}

bool rf_waiting_give_up(struct rf_waiting *w, uint64_t now_ns, const struct rf_wait **out)
{
    for (size_t i = 0; i < w->n; i++) {
        if (older(&w->v[i], now_ns, GIVE_UP_NS)) {
            *out = take(w, i);
            return true;
        }
    }
    return false;
}
