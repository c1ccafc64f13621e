/* escape.c: names come out of the target and may hold any byte; what is printed is one field of valid UTF-8.
 *
 * UTF-8 is checked as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#include "escape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t rf_utf8(const char *s, size_t n, uint32_t *out)
{
    const unsigned char *b = (const unsigned char *)s;
    static const struct {
        unsigned char mask, lead; /* of the first byte */
        uint32_t least;           /* code point that needs this length */
    } form[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t len = 1; len <= 4 && len <= n; len++) {
        if ((b[0] & form[len - 1].mask) != form[len - 1].lead)
            continue;
        uint32_t c = b[0] & (unsigned char)~form[len - 1].mask;
        for (size_t i = 1; i < len; i++) {
            if ((b[i] & 0xc0) != 0x80)
                return 0;
            c = c << 6 | (b[i] & 0x3f);
        }
        if (c < form[len - 1].least || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff)
            return 0;
        *out = c;
        return len;
    }
    return 0;
}

static char *put_hex(char *to, unsigned byte)
{
    static const char digit[] = "0123456789abcdef";
    *to++ = '\\';
    *to++ = 'x';
    *to++ = digit[byte >> 4 & 15];
    *to++ = digit[byte & 15];
    return to;
}

static char letter(uint32_t c)
{
    switch (c) {
    case '\t':
        return 't';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\\':
    case '"':
        return (char)c;
    default:
        return 0;
    }
}

char *rf_escape(struct rf_text text)
{
    /* the longest form is four bytes for one */
    char *out = text.n < SIZE_MAX / 4 ? malloc(text.n * 4 + 1) : NULL;
    if (!out)
        return NULL;
    char *to = out;
    for (size_t i = 0; i < text.n;) {
        uint32_t c;
        size_t len = rf_utf8(text.s + i, text.n - i, &c);
        if (!len) {
            to = put_hex(to, (unsigned char)text.s[i++]);
            continue;
        }
        if (letter(c)) {
            *to++ = '\\';
            *to++ = letter(c);
        } else if (c < 0x20 || (c >= 0x7f && c < 0xa0)) {
            to = put_hex(to, c);
        } else {
            for (size_t k = 0; k < len; k++)
                *to++ = text.s[i + k];
        }
        i += len;
    }
    *to = '\0';
    return out;
}

size_t rf_readable(struct rf_text text, char to[static 8], unsigned *columns)
{
    uint32_t c;
    size_t len = rf_utf8(text.s, text.n, &c);
    if (!len || c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xfffe || c == 0xffff) {
        snprintf(to, 8, "\\x%02x", (unsigned char)text.s[0]);
        *columns = 4;
        return 1;
    }
    memcpy(to, text.s, len);
    to[len] = '\0';
    *columns = c >= 0x1100 ? 2 : 1;
    return len;
}

char *rf_readable_copy(struct rf_text text)
{
    char *out = text.n < SIZE_MAX / 4 ? malloc(text.n * 4 + 1) : NULL, one[8];
    char *to = out;
    unsigned columns;
    for (size_t i = 0; out && i < text.n;) {
        i += rf_readable((struct rf_text){text.s + i, text.n - i}, one, &columns);
        to = stpcpy(to, one);
    }
    if (out)
        *to = '\0';
    return out;
}
