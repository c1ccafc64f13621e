/* dump_json.h: a dump as JSON. Built without jansson (JANSSON=0), there is no option that leads here. */
#ifndef DUMP_JSON_H
#define DUMP_JSON_H

#include "rfprof.h"

enum rf_status dump_write_json(const struct rf_dump *d, FILE *to, struct rf_error *err);
/* What people call a state of proc(5). */
const char *dump_state(char letter);

#endif
