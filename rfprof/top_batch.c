/* top_batch.c: pages as text, for a pipe, a file, or a terminal that is not to be taken over. */
#include "top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct line {
    FILE *to;
    size_t blanks; /* at the end of the line so far: left out where nothing follows */
};

static void put(void *ctx, enum top_style style, const char *text)
{
    struct line *line = ctx;
    (void)style;
    size_t n = strlen(text), kept = n;
    while (kept && text[kept - 1] == ' ')
        kept--;
    if (kept) {
        fprintf(line->to, "%*s", (int)line->blanks, "");
        fwrite(text, 1, kept, line->to);
        line->blanks = 0;
    }
    line->blanks += n - kept;
}

static void end_line(void *ctx)
{
    struct line *line = ctx;
    putc('\n', line->to);
    line->blanks = 0;
}

enum rf_status batch_print(const struct top_page *page, size_t width, size_t height, char **bytes, size_t *n,
                           struct rf_error *err)
{
    *bytes = NULL;
    struct line line = {.to = open_memstream(bytes, n)};
    if (line.to) {
        struct top_paper paper = {.width = width, .height = height, .put = put, .end_line = end_line, .ctx = &line};
        page_draw(page, &paper);
        putc('\n', line.to);
        if (fclose(line.to) == 0)
            return RF_OK;
        free(*bytes);
        *bytes = NULL;
    }
    return rf_fail(err, RF_FAILURE, errno, "out of memory");
}
