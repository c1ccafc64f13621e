/* rfprof_span.h: how a program that rfprof(1) samples says, in words of its own, what a thread of it is doing.
 *
 * For C code that runs below Rayfall (a plugin, an embedding program) and has a source file, a line or a name of its
 * own that is worth more than its C functions. Nothing is linked against and nothing is called: a thread writes a few
 * words of its own memory, and a profiler that stops it reads them.
 *
 *   RFPROF_SPAN_DEFINE;                    in one file of each executable or shared object
 *
 *   struct rfprof_span outer = rfprof_span_enter("rules.txt", 12, "check-limits");
 *   ...
 *   rfprof_span_leave(outer);
 *
 * Where it stands: the span is the innermost frame of its thread, below all Rayfall frames, and what the thread uses
 * until it leaves is the span's own time. So leave it, or enter another, before calling back into Rayfall. A thread
 * that runs no Rayfall has it as its only frame. Workers of rayforce's pool do not have spans: their time belongs to
 * the line that dispatched the work, with the dispatching thread's span.
 *
 * The texts must stay as they are until the thread has left. Up to 255 bytes of the file's name and 127 of the
 * function's are read. Spans do not nest by themselves: entering returns what is to be given to leaving. Where several
 * files of a process define the variable, the first that is set counts, in the order of their addresses. */
#ifndef RFPROF_SPAN_H
#define RFPROF_SPAN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RFPROF_SPAN_VERSION 1

struct rfprof_span {
    uint32_t version;     /* RFPROF_SPAN_VERSION; 0: the thread never had a span. Others are not read. */
    uint32_t line;        /* from 1; 0: not known */
    uint64_t sequence;    /* odd while the other fields are being changed */
    const char *file;     /* ends with a zero; NULL: no span */
    const char *function; /* the same; NULL: without a name */
};

/* Looked for by this name among the thread-local symbols of every file that the process has mapped. */
extern __thread struct rfprof_span rfprof_span;
#define RFPROF_SPAN_DEFINE __attribute__((visibility("default"))) __thread struct rfprof_span rfprof_span

static inline void rfprof_span_set(const char *file, uint32_t line, const char *function)
{
    struct rfprof_span *s = &rfprof_span;
    /* The thread may be stopped anywhere, so the compiler must keep the order, and so must the machine for one that is
     * read while it runs. */
    __atomic_store_n(&s->sequence, s->sequence + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&s->version, RFPROF_SPAN_VERSION, __ATOMIC_RELAXED);
    __atomic_store_n(&s->file, file, __ATOMIC_RELAXED);
    __atomic_store_n(&s->line, line, __ATOMIC_RELAXED);
    __atomic_store_n(&s->function, function, __ATOMIC_RELAXED);
    __atomic_store_n(&s->sequence, s->sequence + 1, __ATOMIC_RELEASE);
}

/* Returns what the thread had before, for rfprof_span_leave. */
static inline struct rfprof_span rfprof_span_enter(const char *file, uint32_t line, const char *function)
{
    struct rfprof_span outer = rfprof_span;
    rfprof_span_set(file, line, function);
    return outer;
}

static inline void rfprof_span_leave(struct rfprof_span outer)
{
    rfprof_span_set(outer.file, outer.line, outer.function);
}

#ifdef __cplusplus
}
#endif

#endif
