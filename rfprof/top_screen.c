/* top_screen.c: a page on a terminal, with ncurses(3).
 *
 * Signals are read from a descriptor elsewhere, so that none of ncurses' handlers ever runs: Ctrl-Z, a resize and the
 * end are calls from the loop of top.c. */
#include "top.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct screen {
    SCREEN *curses;
    bool colour;
    size_t line; /* being written */
    attr_t style[STYLES];
};

/* Bold and reverse are no colours; NO_COLOR leaves them. */
static void choose_styles(struct screen *s)
{
    s->style[STYLE_HEAD] = A_BOLD;
    s->style[STYLE_TITLE] = A_REVERSE;
    s->style[STYLE_HOT] = A_BOLD;
    const char *no_colour = getenv("NO_COLOR");
    if ((no_colour && *no_colour) || !has_colors() || start_color() == ERR)
        return;
    static const struct {
        enum top_style style;
        short colour;
        attr_t more;
    } of[] = {{STYLE_HOT, COLOR_RED, A_BOLD},
              {STYLE_WARM, COLOR_YELLOW, A_NORMAL},
              {STYLE_WHERE, COLOR_CYAN, A_NORMAL},
              {STYLE_SOURCE, COLOR_GREEN, A_NORMAL}};
    use_default_colors();
    for (short i = 0; i < (short)(sizeof of / sizeof *of); i++) {
        init_pair((short)(i + 1), of[i].colour, -1);
        s->style[of[i].style] = (attr_t)COLOR_PAIR(i + 1) | of[i].more;
    }
}

void screen_leave(struct screen *s)
{
    (void)s;
    if (!isendwin())
        endwin();
}

void screen_close(struct screen *s)
{
    if (!s)
        return;
    screen_leave(s);
    delscreen(s->curses);
    free(s);
}

enum rf_status screen_open(struct screen **out, struct rf_error *err)
{
    *out = NULL;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        rf_fail(err, RF_USAGE, 0, "top needs a terminal for its input and its output");
        rf_hint(err, "--batch prints pages to a pipe or a file");
        return RF_USAGE;
    }
    struct screen *s = calloc(1, sizeof *s);
    if (!s)
        return rf_fail(err, RF_FAILURE, 0, "out of memory");
    s->curses = newterm(NULL, stdout, stdin);
    const char *go_there = s->curses ? tigetstr("cup") : NULL;
    if (!go_there || go_there == (const char *)-1) { /* unknown, or one such as "dumb" that cannot move its cursor */
        const char *term = getenv("TERM");
        if (s->curses)
            screen_close(s);
        else
            free(s);
        rf_fail(err, RF_USAGE, 0, "cannot draw on a terminal of the type '%s' (TERM)", term ? term : "");
        rf_hint(err, "--batch prints pages as text");
        return RF_USAGE;
    }
    choose_styles(s);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(25); /* a key that sends a sequence is told from Escape by how fast the rest comes */
    curs_set(0);
    *out = s;
    return RF_OK;
}

void screen_resize(struct screen *s)
{
    struct winsize size;
    (void)s;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
        resizeterm(size.ws_row, size.ws_col);
    clearok(curscr, TRUE); /* terminals move what they show when they are resized */
}

enum screen_key screen_key(struct screen *s)
{
    static const struct {
        int key;
        enum screen_key means;
    } keys[] = {
        {'q', PRESSED_LEAVE},
        {'Q', PRESSED_LEAVE},
        {'\t', PRESSED_NEXT_VIEW},
        {'v', PRESSED_NEXT_VIEW},
        {'V', PRESSED_PREVIOUS_VIEW},
        {KEY_BTAB, PRESSED_PREVIOUS_VIEW},
        {KEY_RIGHT, PRESSED_NEXT_VIEW},
        {KEY_LEFT, PRESSED_PREVIOUS_VIEW},
        {'s', PRESSED_BY_SELF},
        {'t', PRESSED_BY_TOTAL},
        {'w', PRESSED_OTHER_TIME},
        {' ', PRESSED_PAUSE},
        {'?', PRESSED_HELP},
        {'h', PRESSED_HELP},
        {KEY_UP, PRESSED_ROW_UP},
        {'k', PRESSED_ROW_UP},
        {KEY_DOWN, PRESSED_ROW_DOWN},
        {'j', PRESSED_ROW_DOWN},
        {KEY_PPAGE, PRESSED_PAGE_UP},
        {KEY_NPAGE, PRESSED_PAGE_DOWN},
        {KEY_HOME, PRESSED_HOME},
        {'g', PRESSED_HOME},
    };
    (void)s;
    int c = getch();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].key == c)
            return keys[i].means;
    return c == ERR ? PRESSED_NOTHING : PRESSED_OTHER;
}

static void put(void *ctx, enum top_style style, const char *text)
{
    struct screen *s = ctx;
    (void)attrset((int)s->style[style]);
    addstr(text);
}

static void end_line(void *ctx)
{
    struct screen *s = ctx;
    s->line++;
    move((int)s->line, 0);
}

struct top_paper screen_paper(struct screen *s)
{
    s->line = 0;
    (void)attrset(A_NORMAL);
    erase();
    move(0, 0);
    return (struct top_paper){
        .width = (size_t)COLS, .height = (size_t)LINES, .put = put, .end_line = end_line, .ctx = s};
}

void screen_show(struct screen *s)
{
    (void)s;
    refresh();
}
