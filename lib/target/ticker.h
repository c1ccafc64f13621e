/* ticker.h: when to sample. One random instant in each period (stratified sampling), so that nothing in the
 * target locks step with us and nothing clumps. Pure arithmetic: the caller does the waiting. */
#ifndef RF_TICKER_H
#define RF_TICKER_H

#include <stdint.h>

struct rf_ticker {
    uint64_t start_ns, period_ns;
    uint64_t k; /* periods begun */
    uint64_t next_ns;
    uint64_t random; /* state of the generator */
};

void rf_ticker_start(struct rf_ticker *t, uint64_t now_ns, double rate_hz, uint64_t seed);
/* Moves on to the period after now; returns how many periods were skipped because they were missed. */
uint64_t rf_ticker_advance(struct rf_ticker *t, uint64_t now_ns);
void rf_ticker_set_rate(struct rf_ticker *t, uint64_t now_ns, double rate_hz);

#endif
