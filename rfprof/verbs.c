/* verbs.c: the table of commands. */
#include "verbs.h"

#include <string.h>

enum { NAME_LONGEST = 16 }; /* of a command */

static const struct verb verbs[] = {
    {"record", "[record] [options] -p PID | -- PROGRAM [ARG...]",
     "sample a live process, or start one (what is done without a command)", FOR_RECORD, verb_record,
     "examples:\n"
     "  rfprof -p 4242 -d 30                          a table on the terminal\n"
     "  rfprof -p 4242 -d 30 > cpu.tsv                rows for a database\n"
     "  rfprof -p 4242 -d 30 | flamegraph.pl > cpu.svg\n"
     "  rfprof -o cpu.tsv -- rayforce script.rfl      a program from its first line on\n"},
    {"start", "start -p PID [-o FILE]... [options]", "begin a recording in the background", FOR_START, verb_start,
     "example:\n"
     "  rfprof start -p 4242\n"
     "  rfprof stop -p 4242 > cpu.tsv\n"},
    {"stop", "stop -p PID", "end it: the files are complete, and without -o the profile goes to stdout", FOR_STOP,
     verb_stop, NULL},
    {"top", "top -p PID [--batch] [options]", "what burns the CPU now: a page each second, ? says what the keys do",
     FOR_TOP, verb_top,
     "keys: Tab the next view, s self, t total, w last seconds or all, space pause, ? help, q leave\n"},
    {"check", "check [-p PID]", "can it be profiled, what was found? without -p: which processes can?", FOR_CHECK,
     verb_check, NULL},
    {"dump",
     "dump -p PID [-n] [-l]"
#ifdef RF_JANSSON
     " [-j]"
#endif
     ,
     "what is every thread doing now? its state and its stack", FOR_DUMP, verb_dump,
     "examples:\n"
     "  rfprof dump -p 4242                           each thread's Rayfall stack, the innermost line first\n"
     "  rfprof dump -p 4242 -n -l                     with C functions, arguments and locals\n"},
    {"layout", "layout FILE", "the layout found in an ELF file, in the form of the catalog", FOR_LAYOUT, verb_layout,
     NULL},
#ifdef RF_PPROF
    {"report", "report PROFILE [-f FORMAT | -o FILE]... [--by VIEW]", "write a saved profile (.pb.gz) once more",
     FOR_REPORT, verb_report,
     "examples:\n"
     "  rfprof -p 4242 -d 30 -o incident.pb.gz        keeps all there is to know\n"
     "  rfprof report incident.pb.gz --by builtin     which of it is shown is chosen afterwards\n"
     "  rfprof report incident.pb.gz -n -o cpu.svg\n"
     "  ssh db1 cat incident.pb.gz | rfprof report -\n"},
#endif
    {"completion", "completion bash | zsh | fish", "a script that makes the shell complete this command line",
     FOR_COMPLETION, verb_completion,
     "example:\n"
     "  . <(rfprof completion bash)                   for this shell; `make install` puts them where shells look\n"},
    {NULL, NULL, NULL, 0, NULL, NULL},
};

const struct verb *verbs_table(void)
{
    return verbs;
}

const struct verb *verb_named(const char *name)
{
    for (const struct verb *v = verbs; v->name; v++)
        if (!strcmp(v->name, name))
            return v;
    return NULL;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to be put in, taken out or changed to make the one of the other (Levenshtein), row by row. */
static size_t mistakes(const char *a, const char *b)
{
    size_t row[NAME_LONGEST + 1], n = strlen(b);
    for (size_t k = 0; k <= n; k++)
        row[k] = k;
    for (size_t i = 0; a[i]; i++) {
        size_t corner = row[0]++;
        for (size_t k = 0; k < n; k++) {
            size_t changed = corner + (a[i] != b[k]);
            corner = row[k + 1];
            row[k + 1] = least(changed, least(row[k], corner) + 1);
        }
    }
    return row[n];
}

const struct verb *verb_like(const char *name)
{
    const struct verb *nearest = NULL;
    size_t fewest = 3;
    for (const struct verb *v = verbs; v->name && strlen(name) <= NAME_LONGEST; v++) {
        size_t n = mistakes(name, v->name);
        if (n < fewest && n < strlen(v->name) / 2) {
            fewest = n;
            nearest = v;
        }
    }
    return nearest;
}
