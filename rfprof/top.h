/* top.h: the rooms of `rfprof top`.
 *
 *   top.c         the verb: session, ticks, signals, the ways out
 *   top_model.c   what a page says: rows now and since the start, threads, CPU
 *   top_page.c    how a page is laid out, on a paper of any width and height
 *   top_screen.c  the paper that is a terminal, and its keys; top_noscreen.c: built without ncurses
 *   top_batch.c   the paper that is plain text */
#ifndef TOP_H
#define TOP_H

#include "options.h"

/* --- the model ------------------------------------------------------------------------------------- */

/* What was known at an instant of the past. */
struct top_moment {
    uint64_t ns; /* on CLOCK_MONOTONIC; 0: there is none in this place */
    struct rf_instant *instant;
    uint64_t charged_ns, held_ns;
};
/* What a page calls the last seconds is the time of five pages: as many moments and the one at its beginning. */
enum { TOP_MOMENTS = 6, TOP_VIEWS = 8 };

struct top_model {
    /* How to look; may be changed between two pages. */
    enum rf_view view[TOP_VIEWS]; /* those to go through */
    size_t n_views, at;           /* at: the one that is shown */
    bool by_total, by_all;        /* sort by total, not self; by what was since the start, not lately */
    bool no_text;
    const char *folder;

    /* The page, made by model_look and model_list. */
    struct rf_listing *rows, *threads; /* NULL before the first page; rows are sorted as asked for */
    struct rf_account account;
    double rate;
    double lately_s, all_s; /* how long the recent past is, and all of it; wall clock */
    uint64_t lately_charged_ns, lately_held_ns;

    uint64_t begin_ns;
    struct top_moment past[TOP_MOMENTS]; /* a ring; the last is that of the page */
    size_t next;
    const struct rf_profile *of; /* what the instants are of */
};

enum rf_status model_start(struct top_model *m, const struct options *o, struct rf_session *s, uint64_t now,
                           struct rf_error *err);
void model_end(struct top_model *m);
/* Makes a page of what is known now, which then is the past of later ones. */
enum rf_status model_look(struct top_model *m, struct rf_session *s, uint64_t now, struct rf_error *err);
/* Makes its rows once more, in another view or order. */
enum rf_status model_list(struct top_model *m, const struct rf_session *s, struct rf_error *err);

/* --- pages ----------------------------------------------------------------------------------------- */

enum top_style { STYLE_PLAIN, STYLE_HEAD, STYLE_TITLE, STYLE_HOT, STYLE_WARM, STYLE_WHERE, STYLE_SOURCE, STYLES };

struct top_paper {
    size_t width, height; /* height 0: no end */
    /* Appends to the line; what it is given is printable, and all of a line is at most as wide as the paper. */
    void (*put)(void *ctx, enum top_style style, const char *text);
    void (*end_line)(void *ctx);
    void *ctx;
};

struct top_page {
    const struct top_model *model;
    const struct options *options;
    size_t from;        /* the row at the top */
    const char *remark; /* at the right of the first line, " ? help"; may be NULL */
};

/* Rows that fit below the head; at least 1. */
size_t page_rows(const struct top_paper *paper);
void page_draw(const struct top_page *page, const struct top_paper *paper);
/* What the keys do and what the columns mean. found: what is being sampled. */
void page_help(const char *found, const struct top_paper *paper);

/* --- papers ------------------------------------------------------------------------------------------ */

/* A page as plain text, with an empty line behind it. *bytes is malloc'ed, NULL when out of memory. */
enum rf_status batch_print(const struct top_page *page, size_t width, size_t height, char **bytes, size_t *n,
                           struct rf_error *err);

struct screen;
enum screen_key {
    PRESSED_NOTHING, /* no key */
    PRESSED_OTHER,   /* one that means nothing */
    PRESSED_LEAVE,
    PRESSED_NEXT_VIEW,
    PRESSED_PREVIOUS_VIEW,
    PRESSED_BY_SELF,
    PRESSED_BY_TOTAL,
    PRESSED_OTHER_TIME,
    PRESSED_PAUSE,
    PRESSED_HELP,
    PRESSED_ROW_UP,
    PRESSED_ROW_DOWN,
    PRESSED_PAGE_UP,
    PRESSED_PAGE_DOWN,
    PRESSED_HOME,
};
/* Takes the terminal over. RF_USAGE when there is none, or none that can be written on. */
enum rf_status screen_open(struct screen **out, struct rf_error *err);
/* Gives it back as it was. NULL is none. */
void screen_close(struct screen *s);
/* The same for a while, as for Ctrl-Z; the next page takes it over again. */
void screen_leave(struct screen *s);
/* The terminal has another size. */
void screen_resize(struct screen *s);
/* The next key that was pressed. */
enum screen_key screen_key(struct screen *s);
/* A paper as large as the terminal is now, empty. What is put on it is seen after screen_show. */
struct top_paper screen_paper(struct screen *s);
void screen_show(struct screen *s);

#endif
