/* tsv.h: fields of tables for databases. */
#ifndef RF_TSV_H
#define RF_TSV_H

#include "rfprof.h"

/* An escaped name as rayforce's reader takes it. */
void rf_tsv_name(FILE *to, struct rf_text name);
/* A tab and milliseconds, with three decimals. */
void rf_tsv_ms(FILE *to, uint64_t ns);

#endif
