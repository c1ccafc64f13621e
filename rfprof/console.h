/* console.h: what the program says to people, all of it on stderr; stdout carries data only. */
#ifndef CONSOLE_H
#define CONSOLE_H

#include "rfprof.h"

/* Prints text with control characters replaced, since it may come out of the target and end up on root's terminal. */
void put_safe(FILE *to, const char *text);
/* "rfprof: WHAT", then the lines of what to do next. Returns the error's status, for use as exit code. */
int complain(const struct rf_error *err);
/* The same for a mistake in the command line; points to --help. */
int complain_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A status line; the caller knows whether the user wants to hear it. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
