/* error.c: filling struct rf_error, the one way in which the library reports that something went wrong. */
#include "rfprof.h"

#include <stdarg.h>
#include <string.h>

enum rf_status rf_fail(struct rf_error *err, enum rf_status status, int errnum, const char *fmt, ...)
{
    if (err) {
        va_list args;
        va_start(args, fmt);
        vsnprintf(err->what, sizeof err->what, fmt, args);
        va_end(args);
        err->status = status;
        err->errnum = errnum;
        err->next[0] = '\0';
    }
    return status;
}

void rf_hint(struct rf_error *err, const char *fmt, ...)
{
    if (!err)
        return;
    size_t used = strnlen(err->next, sizeof err->next);
    /* "  " before and "\n" behind the text, and the terminator */
    if (used + 4 >= sizeof err->next)
        return;
    char *to = err->next + used;
    size_t room = sizeof err->next - used;
    to[0] = to[1] = ' ';
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(to + 2, room - 3, fmt, args);
    va_end(args);
    size_t len = n < 0 ? 0 : (size_t)n;
    if (len > room - 4)
        len = room - 4;
    to[2 + len] = '\n';
    to[3 + len] = '\0';
}
