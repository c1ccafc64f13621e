/* sites.c: suppositions about where a call's argument number is kept, and how well each has done. */
#include "sites.h"

enum {
    ENOUGH = 16,
    EXCEPTIONS = 32,   /* one in so many may be an error of ours */
    LEARNED_MAX = 4096 /* more observations would only cost time */
};

/* One way to read a word as an element's number. -1: it cannot be one. */
static int64_t read_as(const struct rf_asking *a, uint64_t word, unsigned reading)
{
    uint64_t number = word;
    if (reading >= 2) { /* a pointer to the element, or to the next */
        if (word < a->elements || (word - a->elements) % 8 != 0)
            return -1;
        number = (word - a->elements) / 8;
    }
    if (reading == 1) /* counted without the head */
        number = word + 1;
    if (reading == 3)
        number--;
    return number >= 1 && number < (uint64_t)a->n ? (int64_t)number : -1;
}

static int64_t suppose(const struct rf_asking *a, unsigned which)
{
    uint64_t word;
    if (which < RF_SITE_FIXED)
        return which + 1 < a->n ? (int64_t)which + 1 : -1;
    which -= RF_SITE_FIXED;
    unsigned place = which / RF_SITE_READINGS, reading = which % RF_SITE_READINGS;
    if (place < RF_SITE_REGS) {
        bool known = a->frame->known >> rf_saved_regs[place] & 1;
        return known ? read_as(a, a->frame->reg[rf_saved_regs[place]], reading) : -1;
    }
    if (!rf_snapshot_word(a->s, a->frame->sp + 8 * (place - RF_SITE_REGS), &word))
        return -1;
    return read_as(a, word, reading);
}

void rf_sites_learn(struct rf_sites *t, const struct rf_asking *a, int64_t element)
{
    size_t i = 0;
    while (i < t->n && t->v[i].pc != a->frame->pc)
        i++;
    if (i == RF_SITES_MAX)
        return;
    if (i == t->n)
        t->v[t->n++] = (struct rf_site){.pc = a->frame->pc};
    struct rf_site *site = &t->v[i];
    if (site->seen == LEARNED_MAX)
        return;
    site->seen++;
    for (unsigned k = 0; k < RF_SUPPOSITIONS; k++)
        site->right[k] = (uint16_t)(site->right[k] + (suppose(a, k) == element));
}

int64_t rf_sites_element(const struct rf_sites *t, const struct rf_asking *a)
{
    int64_t element = -1;
    size_t i = 0;
    while (i < t->n && t->v[i].pc != a->frame->pc)
        i++;
    if (i == t->n || t->v[i].seen < ENOUGH)
        return -1;
    for (unsigned k = 0; k < RF_SUPPOSITIONS; k++) {
        if (t->v[i].right[k] < t->v[i].seen - t->v[i].seen / EXCEPTIONS)
            continue;
        int64_t e = suppose(a, k);
        if (e < 0)
            continue; /* what finds no element here was right by chance */
        if (element >= 0 && e != element)
            return -1;
        element = e;
    }
    return element;
}
