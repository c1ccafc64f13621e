/* console.c: messages for people. */
#include "console.h"

#include <stdarg.h>

void put_safe(FILE *to, const char *text)
{
    for (const unsigned char *b = (const unsigned char *)text; *b; b++) {
        bool c1 = b[0] == 0xc2 && b[1] >= 0x80 && b[1] < 0xa0; /* U+009B starts escape sequences on some terminals */
        if (*b < 0x20 || *b == 0x7f || c1)
            putc('?', to);
        else
            putc(*b, to);
        b += c1;
    }
}

static void say(const char *text)
{
    fputs("rfprof: ", stderr);
    put_safe(stderr, text);
    putc('\n', stderr);
}

int complain(const struct rf_error *err)
{
    say(err->what);
    const char *line = err->next;
    while (*line) {
        char one[sizeof err->next];
        size_t n = 0;
        while (line[n] && line[n] != '\n' && n < sizeof one - 1) {
            one[n] = line[n];
            n++;
        }
        one[n] = '\0';
        put_safe(stderr, one);
        putc('\n', stderr);
        line += n;
        line += *line == '\n';
    }
    return (int)err->status;
}

int complain_usage(const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    say(text);
    fputs("  rfprof --help lists commands and options\n", stderr);
    return RF_USAGE;
}

void note(const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    say(text);
}
