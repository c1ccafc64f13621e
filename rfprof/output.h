/* output.h: where a profile is written to, and in which format.
 *
 * A file is replaced as a whole: written to a temporary file beside it (in the folder of what a symlink points to),
 * then renamed. stdout, FIFOs, devices and sockets are written in place. Rendering and writing are two steps, so that
 * nothing of the target is held when a slow pipe or disk blocks the second. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "rfprof.h"

struct output {
    const char *name; /* as the user gave it; "stdout", "stderr" */
    char *path;       /* links resolved; NULL: written to fd */
    int fd;           /* stdout or stderr */
    bool in_place;
    bool terminal;
    const struct rf_format *format;
    bool chosen; /* the format was guessed from what kind of file it is */
    char *bytes; /* rendered */
    size_t n;
};

#define OUTPUT_STDERR "/dev/stderr" /* a name for output_prepare: with what else is said there, so as a table */

/* Finds out what name ("-": stdout) is, whether it can be written, and its format: by extension, else fallback, else
 * by kind: table for a terminal, tsv for a file, folded for anything else. */
enum rf_status output_prepare(struct output *o, const char *name, const struct rf_format *fallback,
                              struct rf_error *err);
/* As `view` says, and for a terminal as wide as it is. May be repeated, for a later state of the profile. */
enum rf_status output_render(struct output *o, const struct rf_profile *profile, const struct rf_render *view,
                             struct rf_error *err);
/* A reader that went away (EPIPE) is no error. */
enum rf_status output_write(const struct output *o, struct rf_error *err);
void output_free(struct output *o);

/* The same for all outputs of a run; two names of one file are refused (RF_USAGE). The first failure is the one
 * reported, and where one cannot be written the others are. */
enum rf_status outputs_prepare(struct output *o, size_t *n, const char *const *name, size_t n_names,
                               const struct rf_format *fallback, struct rf_error *err);
enum rf_status outputs_render(struct output *o, size_t n, const struct rf_profile *profile,
                              const struct rf_render *view, struct rf_error *err);
/* What is replaced as a whole, and then what is written in place, which may have to wait for a reader. All of them are
 * tried; the first error is told. */
enum rf_status outputs_write_files(const struct output *o, size_t n, struct rf_error *err);
enum rf_status outputs_write_streams(const struct output *o, size_t n, struct rf_error *err);
/* Tells which formats were guessed. */
void outputs_note(const struct output *o, size_t n);

#endif
