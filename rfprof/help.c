/* help.c: what --help prints. */
#include "help.h"

#include <string.h>

static void options(FILE *to, unsigned verb)
{
    size_t n;
    const struct option_row *row = options_table(&n);
    fputs("options:\n", to);
    for (size_t i = 0; i < n; i++) {
        char left[40], letter[5] = "    ";
        if (!(row[i].verbs & verb))
            continue;
        if (row[i].letter < OPTION_LONG_ONLY)
            snprintf(letter, sizeof letter, "-%c, ", row[i].letter);
        snprintf(left, sizeof left, "%s--%s %s", letter, row[i].name, row[i].argument ? row[i].argument : "");
        fprintf(to, "  %-24s %s\n", left, row[i].help);
    }
}

static void choices(FILE *to, unsigned verb)
{
    size_t n;
    const struct option_row *row = options_table(&n);
    for (size_t i = 0; i < n; i++) {
        if (!row[i].choices || !(row[i].verbs & verb))
            continue;
        fprintf(to, "\n%s (--%s):\n", row[i].choices == rf_views ? "views" : "columns", row[i].name);
        for (const struct rf_choice *c = row[i].choices(); c->name; c++)
            fprintf(to, "  %-8s %s\n", c->name, c->about);
    }
}

/* Does the command take -f? */
static bool writes_formats(unsigned verb)
{
    size_t n;
    const struct option_row *row = options_table(&n);
    for (size_t i = 0; i < n; i++)
        if (row[i].letter == 'f')
            return row[i].verbs & verb;
    return false;
}

/* Returns how many characters they take. */
static size_t put_extensions(const struct rf_format *f, char *to, size_t size)
{
    size_t used = 0;
    *to = '\0';
    for (size_t i = 0; f->extensions[i] && used < size; i++)
        used += (size_t)snprintf(to + used, size - used, "%s%s", i ? " " : "", f->extensions[i]);
    return used;
}

static void formats(FILE *to)
{
    fputs("\nformats (a terminal gets table, a regular file tsv, anything else folded):\n", to);
    char extensions[40];
    size_t width = 0;
    for (const struct rf_format *f = rf_formats(); f->name; f++) {
        size_t n = put_extensions(f, extensions, sizeof extensions);
        width = n > width ? n : width;
    }
    for (const struct rf_format *f = rf_formats(); f->name; f++) {
        put_extensions(f, extensions, sizeof extensions);
        fprintf(to, "  %-10s %-*s %s\n", f->name, (int)width, extensions, f->about);
    }
}

static void about_options(FILE *to, unsigned verb)
{
    options(to, verb);
    choices(to, verb);
    if (writes_formats(verb))
        formats(to);
}

void help_all(FILE *to)
{
    const struct verb *table = verbs_table();
    fputs("rfprof: which Rayfall line of a live RayforceDB process burns the CPU?\n\n", to);
    for (const struct verb *v = table; v->name; v++)
        fprintf(to, "%s rfprof %s\n", v == table ? "usage:" : "      ", v->synopsis);
    putc('\n', to);
    for (const struct verb *v = table; v->name; v++)
        fprintf(to, "  %-10s %s\n", v->name, v->about);
    fprintf(
        to,
        "\nrfprof COMMAND --help, or rfprof help COMMAND, lists the options of a command; these are those of %s.\n\n",
        table->name);
    about_options(to, table->bit);
    if (table->details)
        fprintf(to, "\n%s", table->details);
}

void help_verb(FILE *to, const struct verb *verb)
{
    fprintf(to, "usage: rfprof %s\n\n%s\n\n", verb->synopsis, verb->about);
    about_options(to, verb->bit);
    if (verb->details)
        fprintf(to, "\n%s", verb->details);
}
