/* formats.c: the table of output formats. --help, the choice by extension and the parser of -f read it. */
#include "formats.h"

static const struct rf_format formats[] = {
    {"table", {NULL}, "rows for people, the dearest first, with their shares", rf_write_table},
    {"tsv", {".tsv", NULL}, "tab-separated, for databases: file line fn self_ms total_ms samples", rf_write_tsv},
    {"folded", {".folded", ".txt", NULL}, "folded stacks, for flamegraph.pl and inferno", rf_write_folded},
    {NULL, {NULL}, NULL, NULL},
};

const struct rf_format *rf_formats(void)
{
    return formats;
}
