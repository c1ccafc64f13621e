/* sites.h: which argument of a form a piece of machine code is having evaluated, learned from frames where it is known.
 *
 * Compilers drop the form that is being evaluated once they need it no more, but whoever asked for it, the evaluator or
 * a special form, still has to know how far it is. Where it keeps that (a fixed argument, or an index or a pointer in
 * some register or stack slot) depends on the build, and is the same every time the same call is in progress. So every
 * supposition is counted at each return address; one is used only once it has nearly always been right, and when no
 * other that has been as good says otherwise. */
#ifndef RF_SITES_H
#define RF_SITES_H

#include "target/snapshot.h"
#include "unwind/unwind.h"

enum {
    RF_SITES_MAX = 64,
    RF_SITE_FIXED = 8,
    RF_SITE_WORDS = 16,
    RF_SITE_REGS = 6,
    RF_SITE_READINGS = 4,
    RF_SUPPOSITIONS = RF_SITE_FIXED + (RF_SITE_REGS + RF_SITE_WORDS) * RF_SITE_READINGS
};

struct rf_site {
    uint64_t pc;
    uint16_t seen, right[RF_SUPPOSITIONS];
};

struct rf_sites {
    struct rf_site v[RF_SITES_MAX];
    size_t n;
};

/* A form under evaluation, and the frame that has its arguments evaluated. */
struct rf_asking {
    const struct rf_native *frame;
    const struct rf_snapshot *s;
    uint64_t elements; /* address of its head */
    int64_t n;         /* with the head */
};

/* Counts an observation: this element was what frame->pc waited for. */
void rf_sites_learn(struct rf_sites *t, const struct rf_asking *a, int64_t element);
/* Which element frame->pc waits for; -1 when that is not sure. */
int64_t rf_sites_element(const struct rf_sites *t, const struct rf_asking *a);

#endif
