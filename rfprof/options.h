/* options.h: the command line. One table describes every option: the parser, --help and the completions of shells are
 * made from it (see help.h). To add an option: its row in options.c, its place in struct options, its entry in the
 * manual. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "rfprof.h"

enum { OUTPUTS_MAX = 16, PIDS_MAX = 8 };
enum {
    FOR_RECORD = 1,
    FOR_CHECK = 2,
    FOR_LAYOUT = 4,
    FOR_TOP = 8,
    FOR_START = 16,
    FOR_STOP = 32,
    FOR_REPORT = 64,
    FOR_DUMP = 128,
    FOR_COMPLETION = 256
};
enum { FOR_RECORDING = FOR_RECORD | FOR_START };

struct options {
    pid_t pid;                 /* 0: not given */
    pid_t other[PIDS_MAX - 1]; /* more of them */
    size_t n_others;
    double duration; /* seconds; 0: until Ctrl-C or the target ends */
    double rate, max_stop;
    double snapshot; /* seconds; 0: the files are written at the end */
    enum rf_view view;
    enum rf_column column[RF_COLUMNS];
    size_t n_columns;
    bool threads, no_text, full_paths, native, idle;
    bool locals, json; /* dump */
    const char *output[OUTPUTS_MAX];
    size_t n_outputs;
    const struct rf_format *format; /* NULL: not given */
    const char *file;               /* layout: the ELF file; report: the profile; completion: the shell */
    const char *owner;              /* start, stop: whose recording it is; NULL: not given */
    char *const *command;           /* the program to start, behind "--"; NULL: not given */
    bool batch;                     /* top: text, not a screen */
    struct rf_layout_options layout;
    bool quiet, verbose, help, version;
};

/* Fills *o from the arguments behind the verb. 0, or the exit code of a usage error that was reported. */
int options_parse(struct options *o, unsigned verb, const char *verb_name, int argc, char **argv);

struct option_row {
    int letter; /* OPTION_LONG_ONLY and above: none */
    const char *name, *argument, *help;
    unsigned verbs; /* FOR_... of those that take it */
    /* Takes the argument; false when it makes no sense. What would, is in `expects`. NULL: sets the bool of struct
     * options that is `flag` bytes from its beginning. */
    bool (*take)(struct options *o, const char *argument);
    const char *expects;
    const struct rf_choice *(*choices)(void); /* and the names that it goes on with */
    size_t flag;
};
enum { OPTION_LONG_ONLY = 256 };
/* The table; *n is set to how many there are. */
const struct option_row *options_table(size_t *n);
/* What they say about how a profile is shown. */
struct rf_render options_render(const struct options *o);
/* A process id, decimal or 0x hex; 0 when the text is not one. */
pid_t parse_pid(const char *text);

#endif
