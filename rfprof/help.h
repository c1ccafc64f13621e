/* help.h: --help, made from the tables of commands, options, views, columns and formats. */
#ifndef HELP_H
#define HELP_H

#include "verbs.h"

/* All commands, and the options of the first, which needs no name. */
void help_all(FILE *to);
/* One command and its options. */
void help_verb(FILE *to, const struct verb *verb);

#endif
