/* builtins.h: the engine's own functions: which object is which C function. They never move, so they are read once. */
#ifndef RF_BUILTINS_H
#define RF_BUILTINS_H

#include "layout/layout.h"

struct rf_builtin {
    uint64_t object, native;
    int8_t type; /* RAY_UNARY, RAY_BINARY, RAY_VARY */
    uint8_t attrs;
    const char *fn; /* symbol of the C function */
    int64_t symbol; /* its name in the language, the first that was given to it */
};

struct rf_builtins;

/* NULL when out of memory. */
struct rf_builtins *rf_builtins_new(const struct rf_runtime *rt, const struct rf_memory *live);
void rf_builtins_free(struct rf_builtins *b);

const struct rf_builtin *rf_builtins_object(const struct rf_builtins *b, uint64_t object);
/* Can a C function of this name be the builtin's, or the part of it that the compiler split off (.part.0) or that the
 * source calls name_impl, name_body, name_inner? */
bool rf_builtin_runs(const struct rf_builtin *b, const char *function);
/* One that a C function of this name can be; NULL without one. */
const struct rf_builtin *rf_builtins_running(const struct rf_builtins *b, const char *function);
/* Its name in the language; lives as long as the builtins. The symbol's number where it cannot be read. */
struct rf_text rf_builtins_name(const struct rf_builtins *b, const struct rf_builtin *one);
/* True when a function of this name is that of some builtin. */
bool rf_builtins_any_runs(const struct rf_builtins *b, const char *function);

#endif
