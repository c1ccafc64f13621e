/* ticker.c: one random instant in each period (stratified sampling, as in "Monte Carlo" texts). */
#include "ticker.h"

/* splitmix64 (Steele, Lea, Flood 2014): any seed will do, zero included. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A random instant of period k. */
static void draw(struct rf_ticker *t)
{
    t->next_ns = t->start_ns + t->k * t->period_ns + next_random(&t->random) % t->period_ns;
}

static uint64_t period_of(double rate_hz)
{
    double ns = 1e9 / rate_hz;
    return ns >= 1 ? (uint64_t)ns : 1;
}

void rf_ticker_start(struct rf_ticker *t, uint64_t now_ns, double rate_hz, uint64_t seed)
{
    *t = (struct rf_ticker){.start_ns = now_ns, .period_ns = period_of(rate_hz), .random = seed};
    draw(t);
}

uint64_t rf_ticker_advance(struct rf_ticker *t, uint64_t now_ns)
{
    uint64_t began = now_ns > t->start_ns ? (now_ns - t->start_ns) / t->period_ns : 0, missed = 0;
    t->k++;
    draw(t);
    /* The instant of the period that now falls in may still lie ahead: then nothing of it was missed. */
    if (began > t->k) {
        missed = began - t->k;
        t->k = began;
        draw(t);
    }
    if (t->next_ns <= now_ns) {
        missed++;
        t->k++;
        draw(t);
    }
    return missed;
}

void rf_ticker_set_rate(struct rf_ticker *t, uint64_t now_ns, double rate_hz)
{
    t->start_ns = now_ns;
    t->period_ns = period_of(rate_hz);
    t->k = 0;
    draw(t);
}
