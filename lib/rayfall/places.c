/* places.c: reads source text as far as needed to say where its expressions begin and end. */
#include "places.h"

#include <string.h>

enum { NESTING_MAX = 1024 /* RAY_PARSE_MAX_DEPTH */ };

struct position {
    uint32_t line, col;
};

struct reader {
    struct rf_text text;
    size_t at;                  /* of the next byte, which is here: */
    struct position here, last; /* and of the one before */
    struct position open[NESTING_MAX];
    size_t nested;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool ends_atom(char c)
{
    return is_blank(c) || c == '\0' || strchr("()[]{}\";", c);
}

static bool left(const struct reader *r)
{
    return r->at < r->text.n;
}

static void step(struct reader *r)
{
    r->last = r->here;
    if (r->text.s[r->at++] == '\n')
        r->here = (struct position){r->here.line + 1, 0};
    else
        r->here.col++;
}

static void skip_string(struct reader *r)
{
    step(r);
    while (left(r) && r->text.s[r->at] != '"') {
        if (r->text.s[r->at] == '\\')
            step(r);
        if (left(r))
            step(r);
    }
    if (left(r))
        step(r);
}

static void skip_line(struct reader *r)
{
    while (left(r) && r->text.s[r->at] != '\n')
        step(r);
}

/* Reads on to the end of the next expression; of one in brackets that is behind its elements. */
static bool next(struct reader *r, struct position *begin)
{
    while (left(r)) {
        char c = r->text.s[r->at];
        *begin = r->here;
        if (c == ';') {
            skip_line(r);
        } else if (c == '"') {
            skip_string(r);
            return true;
        } else if (strchr("([{", c) && c) {
            if (r->nested == NESTING_MAX)
                return false;
            r->open[r->nested++] = r->here;
            step(r);
        } else if (strchr(")]}", c) && c) {
            if (r->nested == 0)
                return false;
            *begin = r->open[--r->nested];
            step(r);
            return true;
        } else if (is_blank(c)) {
            step(r);
        } else {
            do
                step(r);
            while (left(r) && !ends_atom(r->text.s[r->at]));
            return true;
        }
    }
    return false;
}

static bool same(struct position p, uint16_t line, uint16_t col)
{
    return (uint16_t)p.line == line && (uint16_t)p.col == col;
}

/* Is that the expression which was recorded as this span? What has no bracket may be the end of more that has none
 * between, as the value in "{key:value}". */
static bool is_meant(struct rf_span span, struct position *begin, struct position end)
{
    if (!same(end, (uint16_t)span.end_line, (uint16_t)span.end_col))
        return false;
    if (same(*begin, (uint16_t)span.line, (uint16_t)span.col))
        return true;
    uint16_t back = (uint16_t)(span.end_col - span.col);
    if (begin->line != end.line || (uint16_t)end.line != span.line || back > end.col - begin->col)
        return false;
    begin->col = end.col - back;
    return true;
}

bool rf_places_find(struct rf_text text, const uint64_t *id, size_t n, struct rf_span *out)
{
    struct reader r = {.text = text};
    for (size_t i = 0; i < n; i++) {
        struct rf_span span = rf_span_unpack(id[i]);
        struct position begin;
        bool found = false;
        while (!found && next(&r, &begin))
            found = is_meant(span, &begin, r.last);
        /* The list of all forms of a file begins and ends where the text does. */
        if (!found && i + 1 == n && !left(&r) && same(r.here, (uint16_t)span.line, (uint16_t)span.col)) {
            begin = r.last = r.here;
            found = true;
        }
        if (!found)
            return false;
        out[i] = (struct rf_span){begin.line, r.last.line, begin.col, r.last.col};
    }
    return true;
}
