/* show.h: what a value of the target is, in short, for people who look at a stack: its type, how long it is, and the
 * first of what is in it. */
#ifndef RF_SHOW_H
#define RF_SHOW_H

#include "names.h"

enum { RF_SHOWN_TEXT = 240, RF_SHOWN_ELEMENTS = 8 };

struct rf_shown {
    char type[12];  /* as rayforce names it: "i64" is an atom, "I64" a vector; a value that is none: "?" */
    int64_t length; /* elements; of a table its rows, of a dictionary its keys, of a string bytes; -1: has none */
    char text[RF_SHOWN_TEXT]; /* n bytes, raw */
    size_t n;
    bool cut; /* there is more than text shows */
};

/* Reads the object at addr; nothing that it says is believed without a bound. names may be NULL: functions then have
 * no name. */
void rf_show(const struct rf_memory *m, const struct rf_runtime *rt, const struct rf_names *names, uint64_t addr,
             struct rf_shown *out);

#endif
