/* top_noscreen.c: in the place of top_screen.c where ncurses is not there to build with (make NCURSES=0). */
#include "top.h"

enum rf_status screen_open(struct screen **out, struct rf_error *err)
{
    *out = NULL;
    rf_fail(err, RF_USAGE, 0, "this rfprof was built without ncurses, which top needs to show itself on a terminal");
    rf_hint(err, "--batch prints pages as text");
    return RF_USAGE;
}

void screen_close(struct screen *s)
{
    (void)s;
}

void screen_leave(struct screen *s)
{
    (void)s;
}

void screen_resize(struct screen *s)
{
    (void)s;
}

enum screen_key screen_key(struct screen *s)
{
    (void)s;
    return PRESSED_NOTHING;
}

struct top_paper screen_paper(struct screen *s)
{
    (void)s;
    return (struct top_paper){.width = 0};
}

void screen_show(struct screen *s)
{
    (void)s;
}
