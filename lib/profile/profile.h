/* profile.h: what was sampled, added up: interned frames and a call tree. */
#ifndef RF_PROFILE_H
#define RF_PROFILE_H

#include "log.h"

enum rf_kind {
    RF_KIND_RAYFALL, /* a function or a form of the language, or a row of ours such as <runtime> */
    RF_KIND_NATIVE,  /* a C function. file: its source, else the base name of the object that it is in; fn: its symbol,
                      * else its address in the object; line 0 without debug information */
    RF_KIND_INTERPRETER, /* likewise, but of the interpreter itself, where there are no Rayfall frames for it */
    RF_KIND_BUILTIN,     /* a builtin of the language in progress. fn: its name; file "" */
    RF_KIND_THREAD,      /* the root of a thread's stack, where threads are kept apart. fn: its name; file "" */
    RF_KIND_PROCESS,     /* the root of a process's stacks, where several were joined. fn: its name; file "" */
};

/* A frame as the decoder names it. Texts are raw bytes of the target; formats escape them. All zero but file
 * and line is a valid frame: what is not known, or was not asked for, is 0 or empty. */
struct rf_frame {
    enum rf_kind kind;
    struct rf_text file, fn;
    uint32_t line;                  /* 1-based; 0: not known */
    uint32_t col;                   /* 1-based byte column where the form starts; 0: not known */
    struct rf_text expr;            /* beginning of the form's source text, spaces squeezed */
    struct rf_text thread, process; /* only in printable profiles: whose row it is, where tables keep them apart */
    struct rf_text query; /* on the root frame of a text that a client is having run: the whole text, spaces squeezed */
    struct rf_text source; /* of its line, the whole line. It tells no frames apart: a frame has the one last seen */
    bool named; /* fn is a function's name, or one of ours such as <result>. Where the file is <ipc> or <repl>,
                 * any other fn counts as the beginning of the text itself, which --no-text withholds */
};

struct rf_profile *rf_profile_new(void); /* NULL when out of memory */
void rf_profile_free(struct rf_profile *p);

/* CPU time, and how much of it threads of the pool used on behalf of the stack. */
struct rf_charge {
    uint64_t weight_ns, pool_ns;
};

/* The node of a stack, root first, below another node, 0 being the root: what samples are charged to. Texts are copied
 * on first sight, at most RF_TEXT_MAX bytes of them. UINT32_MAX when out of memory. */
enum { RF_TEXT_MAX = 4096 };
uint32_t rf_profile_place(struct rf_profile *p, uint32_t below, const struct rf_frame *frame, size_t n);
void rf_profile_charge(struct rf_profile *p, uint32_t node, uint64_t samples, struct rf_charge charge);

/* The log is kept from this call on; tids must outlive the profile. False when out of memory. */
bool rf_profile_keep_log(struct rf_profile *p, const struct rf_tids *tids);
struct rf_log *rf_profile_log(const struct rf_profile *p); /* NULL when it is not kept */

bool rf_profile_joined(const struct rf_profile *p); /* it has frames of RF_KIND_PROCESS */
uint64_t rf_profile_samples(const struct rf_profile *p);
uint64_t rf_profile_weight_ns(const struct rf_profile *p);

/* Interned frames are numbered 0 .. rf_profile_frames - 1. */
size_t rf_profile_frames(const struct rf_profile *p);
struct rf_frame rf_profile_frame(const struct rf_profile *p, size_t i);

/* The call tree: node 0 is the root, without a frame; children follow their parents in number. */
struct rf_node {
    uint32_t parent, frame;
    uint64_t self_samples, self_ns;
    uint64_t pool_ns; /* the part of self_ns that threads of the pool used */
};
size_t rf_profile_nodes(const struct rf_profile *p);
struct rf_node rf_profile_node(const struct rf_profile *p, size_t i);

/* What rf_profile_place is made of, for building one profile out of another. Both return the number, or UINT32_MAX when
 * out of memory. */
uint32_t rf_profile_intern(struct rf_profile *p, const struct rf_frame *frame);
uint32_t rf_profile_child(struct rf_profile *p, uint32_t parent, uint32_t frame);

#endif
