/* options.c: the table of options, and the parser that is made from it. */
#include "options.h"
#include "console.h"
#include "control.h"
#include "verbs.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

pid_t parse_pid(const char *text)
{
    if (!isdigit((unsigned char)text[0]))
        return 0;
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    char *end;
    errno = 0;
    unsigned long n = strtoul(text, &end, hex ? 16 : 10);
    return *end || errno || n > INT_MAX ? 0 : (pid_t)n;
}

static bool number(const char *text, double least, double most, double *to)
{
    char *end;
    if (!isdigit((unsigned char)text[0]) && text[0] != '.')
        return false;
    *to = strtod(text, &end);
    return !strpbrk(text, "xX") && !*end && isfinite(*to) && *to >= least && *to <= most;
}

static bool take_pid(struct options *o, const char *text)
{
    char one[32];
    o->pid = 0;
    o->n_others = 0;
    for (;; text++) {
        size_t n = strcspn(text, ",");
        snprintf(one, sizeof one, "%.*s", (int)(n < sizeof one ? n : sizeof one), text);
        pid_t pid = parse_pid(one);
        if (pid <= 0 || o->n_others == PIDS_MAX - 1)
            return false;
        if (!o->pid)
            o->pid = pid;
        else
            o->other[o->n_others++] = pid;
        text += n;
        if (!*text)
            return true;
    }
}

static bool take_duration(struct options *o, const char *text)
{
    return number(text, 1e-9, 1e9, &o->duration);
}

static bool take_rate(struct options *o, const char *text)
{
    return number(text, 1, 10000, &o->rate);
}

static bool take_max_stop(struct options *o, const char *text)
{
    return number(text, 0.01, 100, &o->max_stop);
}

static bool take_snapshot(struct options *o, const char *text)
{
    return number(text, 0.1, 1e9, &o->snapshot);
}

static bool take_owner(struct options *o, const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_");
    o->owner = text;
    return n > 0 && n <= OWNER_MAX && !text[n];
}

static bool take_output(struct options *o, const char *text)
{
    if (!*text || o->n_outputs == OUTPUTS_MAX)
        return false;
    for (size_t i = 0; i < o->n_outputs; i++)
        if (!strcmp(o->output[i], text))
            return false;
    o->output[o->n_outputs++] = text;
    return true;
}

static bool take_format(struct options *o, const char *text)
{
    for (o->format = rf_formats(); o->format->name; o->format++)
        if (!strcmp(o->format->name, text))
            return true;
    return false;
}

/* The index of a name, of n characters, in a table; -1 when it is not there. */
static int choice(const struct rf_choice *table, const char *name, size_t n)
{
    for (int i = 0; table[i].name; i++)
        if (strlen(table[i].name) == n && !memcmp(table[i].name, name, n))
            return i;
    return -1;
}

static bool take_by(struct options *o, const char *text)
{
    int i = choice(rf_views(), text, strlen(text));
    if (i >= 0)
        o->view = (enum rf_view)i;
    return i >= 0;
}

static bool take_functions(struct options *o, const char *text)
{
    (void)text;
    o->view = RF_VIEW_FN;
    return true;
}

/* One that was named before keeps its place. */
static void add_column(struct options *o, enum rf_column column)
{
    for (size_t i = 0; i < o->n_columns; i++)
        if (o->column[i] == column)
            return;
    o->column[o->n_columns++] = column;
}

static bool take_columns(struct options *o, const char *text)
{
    for (;;) {
        size_t n = strcspn(text, ",");
        int i = choice(rf_columns(), text, n);
        if (i < 0)
            return false;
        add_column(o, (enum rf_column)i);
        if (!text[n])
            return true;
        text += n + 1;
    }
}

static bool take_debug_file(struct options *o, const char *text)
{
    o->layout.debug_file = text;
    return *text != '\0';
}

static bool take_quiet(struct options *o, const char *text)
{
    (void)text;
    o->verbose = false;
    return o->quiet = true;
}

static bool take_verbose(struct options *o, const char *text)
{
    (void)text;
    o->quiet = false;
    return o->verbose = true;
}

enum {
    BY = OPTION_LONG_ONLY,
    COLUMNS,
    FULL_PATHS,
    NO_TEXT,
    SNAPSHOT,
    MAX_STOP,
    NO_CATALOG,
    NO_DEBUG_INFO,
    DEBUG_FILE,
    DEBUGINFOD,
    BATCH,
    OWNER
};

enum { ANY_VERB = -1 };

static const struct option_row rows[] = {
    {'p', "pid", "PID", "the process to sample, decimal or 0x hex; record takes several: PID,PID",
     FOR_RECORDING | FOR_STOP | FOR_TOP | FOR_CHECK | FOR_DUMP, take_pid, "a process id, decimal or 0x hex", NULL, 0},
    {'d', "duration", "SEC", "how long, fractions allowed (default: until Ctrl-C or the target ends)",
     FOR_RECORDING | FOR_TOP, take_duration, "seconds, more than 0", NULL, 0},
    {'r', "rate", "HZ", "samples per second and thread, 1 to 10000 (default 100)", FOR_RECORDING | FOR_TOP, take_rate,
     "a number from 1 to 10000", NULL, 0},
    {'o', "output", "FILE", "write there, the format by the extension; may be repeated; - is stdout",
     FOR_RECORDING | FOR_REPORT, take_output, "a file name that was not given before, 16 at most", NULL, 0},
    {'f', "format", "NAME", "format of stdout, or of files whose extension says nothing", FOR_RECORDING | FOR_REPORT,
     take_format, "one of", NULL, 0},
    {'i', "idle", NULL, "wall-clock time: sleeping threads too; they are stopped once and may see EINTR", FOR_RECORDING,
     NULL, NULL, NULL, offsetof(struct options, idle)},
    {BY, "by", "VIEW", "what rows are (default line), see below", FOR_RECORDING | FOR_REPORT | FOR_TOP, take_by,
     "one of", rf_views, 0},
    {'F', "functions", NULL, "short for --by fn", FOR_RECORDING | FOR_REPORT, take_functions, NULL, NULL, 0},
    {'n', "native", NULL, "the C functions that run, below the Rayfall frames", FOR_RECORDING | FOR_REPORT | FOR_DUMP,
     NULL, NULL, NULL, offsetof(struct options, native)},
    {'l', "locals", NULL, "arguments and locals of each function, their beginnings", FOR_DUMP, NULL, NULL, NULL,
     offsetof(struct options, locals)},
#ifdef RF_JANSSON
    {'j', "json", NULL, "as JSON", FOR_DUMP, NULL, NULL, NULL, offsetof(struct options, json)},
#endif
    {COLUMNS, "columns", "LIST", "further columns of tables, see below; commas between them",
     FOR_RECORDING | FOR_REPORT, take_columns, "names out of", rf_columns, 0},
    {'t', "threads", NULL, "keep threads apart: roots of stacks, a column of tables", FOR_RECORDING | FOR_REPORT, NULL,
     NULL, NULL, offsetof(struct options, threads)},
    {FULL_PATHS, "full-paths", NULL, "file names as seen from the target's working directory",
     FOR_RECORDING | FOR_REPORT | FOR_TOP, NULL, NULL, NULL, offsetof(struct options, full_paths)},
    {NO_TEXT, "no-text", NULL, "a number in place of text that clients sent", FOR_RECORDING | FOR_REPORT | FOR_TOP,
     NULL, NULL, NULL, offsetof(struct options, no_text)},
    {SNAPSHOT, "snapshot", "SEC", "rewrite the files every SEC seconds, each as a whole", FOR_RECORDING, take_snapshot,
     "seconds, 0.1 or more", NULL, 0},
    {MAX_STOP, "max-stop", "PERCENT", "lower the rate when any thread is held for longer (default 5)",
     FOR_RECORDING | FOR_TOP, take_max_stop, "a share in percent, 0.01 to 100", NULL, 0},
    {NO_CATALOG, "no-catalog", NULL, "take the layout from debug info or code, also when the release is known",
     FOR_RECORDING | FOR_TOP | FOR_CHECK | FOR_DUMP, NULL, NULL, NULL, offsetof(struct options, layout.no_catalog)},
    {NO_DEBUG_INFO, "no-debug-info", NULL, "nor from debug info",
     FOR_RECORDING | FOR_TOP | FOR_CHECK | FOR_DUMP | FOR_LAYOUT, NULL, NULL, NULL,
     offsetof(struct options, layout.no_debug_info)},
    {DEBUG_FILE, "debug-file", "FILE", "the executable's debug info, when it is not where it is looked for",
     FOR_RECORDING | FOR_TOP | FOR_CHECK | FOR_DUMP | FOR_LAYOUT, take_debug_file, "the name of a file", NULL, 0},
    {DEBUGINFOD, "debuginfod", NULL, "ask the servers in DEBUGINFOD_URLS for debug info, for 5 s at most",
     FOR_RECORDING | FOR_TOP | FOR_CHECK | FOR_DUMP | FOR_LAYOUT, NULL, NULL, NULL,
     offsetof(struct options, layout.debuginfod)},
    {BATCH, "batch", NULL, "pages as text, without taking the terminal over", FOR_TOP, NULL, NULL, NULL,
     offsetof(struct options, batch)},
    {OWNER, "owner", "NAME", "whose recording it is (default: the login session's)", FOR_START | FOR_STOP, take_owner,
     "letters, digits, '.', '-' and '_', 64 at most", NULL, 0},
    {'q', "quiet", NULL, "no status on stderr, only errors", FOR_RECORDING | FOR_REPORT | FOR_STOP, take_quiet, NULL,
     NULL, 0},
    {'v', "verbose", NULL, "say what was found and how well it went", FOR_RECORDING, take_verbose, NULL, NULL, 0},
    {'h', "help", NULL, "this text", (unsigned)ANY_VERB, NULL, NULL, NULL, offsetof(struct options, help)},
    {'V', "version", NULL, "the version of rfprof", (unsigned)ANY_VERB, NULL, NULL, NULL,
     offsetof(struct options, version)},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

const struct option_row *options_table(size_t *n)
{
    *n = ROWS;
    return rows;
}

static const struct option_row *row_of(int letter)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].letter == letter)
            return &rows[i];
    return NULL;
}

/* What getopt_long(3) wants to be told. */
static void describe(struct option *longs, char *shorts)
{
    *shorts++ = ':';
    for (size_t i = 0; i < ROWS; i++) {
        longs[i] =
            (struct option){rows[i].name, rows[i].argument ? required_argument : no_argument, NULL, rows[i].letter};
        if (rows[i].letter >= OPTION_LONG_ONLY)
            continue;
        *shorts++ = (char)rows[i].letter;
        if (rows[i].argument)
            *shorts++ = ':';
    }
    longs[ROWS] = (struct option){0};
    *shorts = '\0';
}

/* What an option's argument should be. */
static void expected(const struct option_row *row, unsigned verb, char *to, size_t size)
{
    size_t used = (size_t)snprintf(to, size, "%s", row->expects);
    if (row->take == take_pid && verb == FOR_RECORD)
        used += (size_t)snprintf(to + used, size - used, "; of several %d at most", PIDS_MAX);
    const struct rf_choice *c = row->choices ? row->choices() : NULL;
    for (size_t i = 0; c && c[i].name && used < size; i++)
        used += (size_t)snprintf(to + used, size - used, "%s%s", i ? ", " : " ", c[i].name);
    for (const struct rf_format *f = rf_formats(); row->take == take_format && f->name && used < size; f++)
        used += (size_t)snprintf(to + used, size - used, "%s%s", f == rf_formats() ? " " : ", ", f->name);
}

/* An option of another command. */
static int refuse_foreign(const struct option_row *row, const char *verb_name)
{
    struct rf_error err;
    char letter[8] = "";
    if (row->letter < OPTION_LONG_ONLY)
        snprintf(letter, sizeof letter, " (-%c)", row->letter);
    rf_fail(&err, RF_USAGE, 0, "%s takes no --%s%s", verb_name, row->name, letter);
    rf_hint(&err, "rfprof %s --help lists its options", verb_name);
    return complain(&err);
}

/* The option that getopt_long(3) just refused, as the user wrote it. */
static int refuse(int why, unsigned verb, char **argv)
{
    const struct option_row *row = row_of(optopt);
    char what[128];
    if (why == ':' && row) {
        expected(row, verb, what, sizeof what);
        return complain_usage("--%s needs an argument: %s", row->name, what);
    }
    if (optopt && !row)
        return complain_usage("there is no option -%c", optopt);
    if (row)
        return complain_usage("--%s takes no argument", row->name);
    return complain_usage("there is no option %s", argv[optind - 1]);
}

static int refuse_operand(const char *text, unsigned verb, const char *verb_name)
{
    pid_t pid = parse_pid(text);
    struct rf_error err;
    if (!pid && verb_named(text)) {
        rf_fail(&err, RF_USAGE, 0, "the command comes first, before all options");
        rf_hint(&err, "rfprof %s ...", text);
        return complain(&err);
    }
    if (!pid)
        return complain_usage("cannot make sense of '%s'", text);
    rf_fail(&err, RF_USAGE, 0, "'%s' by itself is not enough", text);
    if (verb == FOR_RECORD)
        rf_hint(&err, "to sample process %d: rfprof -p %d", pid, pid);
    else if (verb & (FOR_START | FOR_STOP | FOR_TOP | FOR_CHECK | FOR_DUMP))
        rf_hint(&err, "if process %d is meant: rfprof %s -p %d", pid, verb_name, pid);
    return complain(&err);
}

/* Cuts the arguments at "--": what stands behind it is a program to start, with arguments of its own. */
static char *const *cut_command(int *argc, char **argv)
{
    for (int i = 1; i < *argc; i++)
        if (!strcmp(argv[i], "--")) {
            *argc = i;
            argv[i] = NULL;
            return argv + i + 1;
        }
    return NULL;
}

static int check_command(const struct options *o, unsigned verb, const char *verb_name)
{
    if (!o->command)
        return 0;
    if (verb != FOR_RECORD)
        return complain_usage("%s starts no program", verb_name);
    if (!*o->command)
        return complain_usage("behind -- there is no program to start");
    if (o->pid)
        return complain_usage("either -p PID or a program to start, not both");
    return 0;
}

int options_parse(struct options *o, unsigned verb, const char *verb_name, int argc, char **argv)
{
    struct option longs[ROWS + 1];
    char shorts[2 * ROWS + 2], what[128];
    describe(longs, shorts);
    *o = (struct options){.rate = 100, .max_stop = 5, .command = cut_command(&argc, argv)};
    opterr = 0;
    int letter;
    while ((letter = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        if (letter == '?' || letter == ':')
            return refuse(letter, verb, argv);
        const struct option_row *row = row_of(letter);
        if (!(row->verbs & verb))
            return refuse_foreign(row, verb_name);
        if (!row->take) {
            *(bool *)((char *)o + row->flag) = true;
        } else if (!row->take(o, optarg)) {
            expected(row, verb, what, sizeof what);
            return complain_usage("--%s '%s': expected %s", row->name, optarg, what);
        }
    }
    if (o->n_others && verb != FOR_RECORD)
        return complain_usage("%s takes one process", verb_name);
    bool forms = o->view == RF_VIEW_LINE || o->view == RF_VIEW_EXPR;
    for (size_t i = 0; i < o->n_columns && !forms; i++)
        if (o->column[i] == RF_COLUMN_COL || o->column[i] == RF_COLUMN_EXPR)
            return complain_usage("--columns %s: only rows by line or expr have it, not those by %s",
                                  rf_columns()[o->column[i]].name, rf_views()[o->view].name);
    if (o->n_columns && o->view == RF_VIEW_BUILTIN)
        return complain_usage("--columns: rows by builtin have columns of their own");
    if ((verb & (FOR_LAYOUT | FOR_REPORT | FOR_COMPLETION)) && optind < argc)
        o->file = argv[optind++];
    return optind < argc ? refuse_operand(argv[optind], verb, verb_name) : check_command(o, verb, verb_name);
}

struct rf_render options_render(const struct options *o)
{
    struct rf_render how = {
        .view = o->view, .n_columns = o->n_columns, .threads = o->threads, .no_text = o->no_text, .native = o->native};
    memcpy(how.column, o->column, sizeof how.column);
    return how;
}
