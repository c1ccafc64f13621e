/* source.h: where AST nodes stand in their source text: rayforce's nfo objects, read once and indexed.
 *
 * An nfo is a list of file name, source text, keys (node addresses) and values (spans), the last two parallel
 * (src/lang/nfo.h). Nodes that were freed during the parse leave keys that later nodes reuse, so the *last*
 * match is a live node's span; the runtime itself takes the first, and bakes it into functions' debug vectors
 * (internals §2.4). */
#ifndef RF_SOURCE_H
#define RF_SOURCE_H

#include "object.h"
#include "rfprof.h"

/* As rayforce stores it, 0-based, columns in bytes, end_col inclusive; but not modulo 65536. */
struct rf_span {
    uint32_t line, end_line, col, end_col;
};

struct rf_source {
    uint64_t serial;     /* never given twice: what was derived from a source is valid while this is the same */
    struct rf_text file; /* as given to load, or "repl" */
    struct rf_text text;
    /* Of text that came from no file, spaces squeezed: its beginning, and all of it up to 4096 bytes; else "". */
    struct rf_text title, query;
    bool lengthy;               /* too long for rayforce's 16-bit lines and columns */
    bool unplaced;              /* and where its nodes stand was not found out */
    struct rf_node_span *nodes; /* ascending by node, the last match only */
    size_t n_nodes;
    struct rf_span_node *spans; /* ascending by span */
    size_t n_spans;
    uint32_t *line_start; /* offsets in text */
    size_t n_lines;
};

struct rf_sources;

struct rf_sources *rf_sources_new(void); /* NULL when out of memory */
void rf_sources_free(struct rf_sources *c);

/* The source of the nfo at addr as it is now, NULL when it is none or changes while it is read. Valid until
 * the first call of another epoch. `epoch` names the sample: within one, a source is compared with the process once. */
const struct rf_source *rf_sources_get(struct rf_sources *c, const struct rf_memory *m, uint64_t addr, uint64_t epoch);

/* Among the sources seen so far and still there, one in which this node is written: at its place the text begins so.
 * NULL without one. *nfo is its address. */
const struct rf_source *rf_sources_with(struct rf_sources *c, const struct rf_memory *m, uint64_t node,
                                        struct rf_text begins, uint64_t epoch, uint64_t *nfo);

/* True for text that came from no file: typed, piped or sent by a client. The engine calls them all "repl". */
bool rf_source_unfiled(const struct rf_source *s);
/* The span of a live node. */
bool rf_source_node(const struct rf_source *s, uint64_t node, struct rf_span *out);
/* The true span of the node that a debug vector's span id was meant for: the id itself where it is not found. False in
 * a text that is too long for that, and where it may be several nodes'. */
bool rf_source_repair(const struct rf_source *s, uint64_t id, struct rf_span *out);
/* At most `characters` of a text with runs of blanks as one, none at its ends; at most size bytes go to `to`. A cut
 * falls between characters. Returns the bytes written. */
size_t rf_squeeze(struct rf_text text, size_t characters, char *to, size_t size);

/* What a user calls the place: the file, "<ipc>" for text that a client is having run, else "<repl>". */
struct rf_text rf_source_place(const struct rf_source *s, bool from_client);
/* The text that begins at line and col of the source, up to its end; and up to the span's end. */
struct rf_text rf_source_at(const struct rf_source *s, struct rf_span span);
struct rf_text rf_source_form(const struct rf_source *s, struct rf_span span);
/* In how many recorded forms, "(...", the form that this node is stands, itself included; 0 when it is none. */
uint32_t rf_source_depth(const struct rf_source *s, uint64_t node);
/* The smallest recorded form, "(...", that encloses inner and is not inner itself, and its node. */
bool rf_source_parent(const struct rf_source *s, struct rf_span inner, uint64_t *node, struct rf_span *out);
/* The smallest recorded span that encloses inner and whose text is a function form, "(fn". */
bool rf_source_function(const struct rf_source *s, struct rf_span inner, struct rf_span *out);

bool rf_span_encloses(struct rf_span outer, struct rf_span inner);

static inline struct rf_span rf_span_unpack(uint64_t id)
{
    return (struct rf_span){(uint16_t)id, (uint16_t)(id >> 16), (uint16_t)(id >> 32), (uint16_t)(id >> 48)};
}

#endif
