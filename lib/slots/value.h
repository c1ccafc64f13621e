/* value.h: arithmetic on what is half known: sums of entry symbols, and numbers. Only for lib/slots. */
#ifndef RF_VALUE_H
#define RF_VALUE_H

#include "follow.h"

static inline struct rf_value rf_value_constant(uint64_t v)
{
    return (struct rf_value){.summed = true, .known = true, .add = (int64_t)v, .number = v};
}

static inline struct rf_value rf_value_symbol(uint16_t sym)
{
    return (struct rf_value){.summed = true, .n = 1, .t = {{sym, 1, false}}};
}

/* a + k * b */
struct rf_value rf_value_add(const struct rf_value *a, const struct rf_value *b, int k);
/* As seen through a register or a store of so many bytes. */
struct rf_value rf_value_cut(const struct rf_value *v, unsigned size);
/* The same, sign-extended. */
struct rf_value rf_value_extend(const struct rf_value *v, unsigned size);
bool rf_value_same(const struct rf_value *a, const struct rf_value *b);

#endif
