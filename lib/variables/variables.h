/* variables.h: what C variables of the interpreter and the evaluator hold in the frames of a snapshot, by debug
 * information.
 *
 * Where a variable is depends on the instruction: that is looked up once for each address and kept. Where a function's
 * argument is lost, its caller may still tell it (DWARF 5, section 3.4: call sites). Names are those of the engine's
 * source (eval.c from core 2.1 to 2.5.12); a variable that is called otherwise has no value, it is not guessed. */
#ifndef RF_VARIABLES_H
#define RF_VARIABLES_H

#include "layout/layout.h"
#include "unwind/unwind.h"

enum rf_variable {
    RF_FIRST_PARAMETER, /* the function that the interpreter runs, the form that is evaluated */
    RF_VARIABLE_EXEC,   /* the execution block, by its type: a pointer to ray_exec_t */
    RF_VARIABLE_IP,     /* "ip" */
    RF_VARIABLE_CODE,   /* "code": the bytecode that runs */
    RF_VARIABLE_ELEMS,  /* "elems": of the form that is evaluated */
    RF_VARIABLE_I,      /* "i": of a special form's loop over its arguments */
    RF_VARIABLES
};

struct rf_variables;

/* NULL when out of memory; without debug information everything is answered by false. rt must outlive it. */
struct rf_variables *rf_variables_new(const struct rf_runtime *rt);
void rf_variables_free(struct rf_variables *v);

/* The variable of the function that frame k of the stack runs, extended by its sign to 64 bits. m: the snapshot, then
 * the live process. False where it is not known. */
bool rf_variables_read(struct rf_variables *v, const struct rf_native_stack *native, size_t k,
                       const struct rf_memory *m, enum rf_variable which, uint64_t *value);

#endif
