/* formats.c: the table of output formats. --help, the choice by extension and the parser of -f read it. */
#include "formats.h"

static const struct rf_format formats[] = {
    {"table", {NULL}, "rows for people, the dearest first, with their shares", rf_write_table, 0},
    {"tsv", {".tsv", NULL}, "tab-separated, for databases: file line fn self_ms total_ms samples", rf_write_tsv, 0},
    {"folded", {".folded", ".txt", NULL}, "folded stacks, for flamegraph.pl and inferno", rf_write_folded, 0},
    {"svg", {".svg", NULL}, "a flame graph for browsers: search, zoom, tooltips", rf_write_svg, 0},
#ifdef RF_JANSSON
    {"speedscope",
     {".speedscope.json", ".json", NULL},
     "for speedscope: stacks in their order in time, a profile for each thread with -t",
     rf_write_speedscope,
     RF_WANTS_LOG},
#endif
#ifdef RF_PPROF
    {"pprof",
     {".pb.gz", NULL},
     "all that is known, for rfprof report; for go tool pprof what is shown of it",
     rf_write_pprof,
     RF_WANTS_LOG | RF_WANTS_NATIVE | RF_WANTS_ALL},
#endif
    {"perf",
     {".perf", NULL},
     "each sample as perf script prints it, C functions too, for tools that read perf",
     rf_write_perf,
     RF_WANTS_LOG | RF_WANTS_NATIVE},
    {NULL, {NULL}, NULL, NULL, 0},
};

const struct rf_format *rf_formats(void)
{
    return formats;
}
