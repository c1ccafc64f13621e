/* options.h: the command line. One table describes every option; parser and --help are both made from it. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "rfprof.h"

enum { OUTPUTS_MAX = 16 };
enum { FOR_RECORD = 1, FOR_CHECK = 2, FOR_LAYOUT = 4 };

struct options {
    pid_t pid;       /* 0: not given */
    double duration; /* seconds; 0: until Ctrl-C or the target ends */
    double rate, max_stop;
    enum rf_view view;
    enum rf_column column[RF_COLUMNS];
    size_t n_columns;
    bool threads, no_text, full_paths, native, idle;
    const char *output[OUTPUTS_MAX];
    size_t n_outputs;
    const struct rf_format *format; /* NULL: not given */
    const char *file;               /* layout: the ELF file */
    bool no_catalog, quiet, verbose, help, version;
};

/* Fills *o from the arguments behind the verb. 0, or the exit code of a usage error that was reported. */
int options_parse(struct options *o, unsigned verb, const char *verb_name, int argc, char **argv);
/* The options of --help, and the formats. */
void options_help(FILE *to);
/* A process id, decimal or 0x hex; 0 when the text is not one. */
pid_t parse_pid(const char *text);

#endif
