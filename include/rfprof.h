/* rfprof.h: librfprof, a sampling profiler for live RayforceDB processes, seen from outside.
 *
 * A session is opened on a pid, ticked at the instants that it asks for, and closed. Each tick stops
 * the target's running threads for some tens of microseconds, copies what is needed and lets them go;
 * decoding happens afterwards in the caller's thread. The profile grows with every tick and can be
 * written in any format at any moment.
 *
 * Lifetimes   Everything that a session returns lives until rf_session_close, unless said otherwise.
 * Threads     A session belongs to the thread that opened it (ptrace(2) binds tracees to a thread).
 *             The library keeps no global state: two sessions can run side by side in one process.
 * Processes   While a session is open it has a child process of its own, which does the tracing.
 * Units       Times are nanoseconds of CLOCK_MONOTONIC, weights nanoseconds of CPU time.
 * Errors      A function that can fail returns a status and fills the struct rf_error it is given;
 *             it prints nothing and never exits. */
#ifndef RFPROF_H
#define RFPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Values are the program's exit codes (see rfprof(1)). */
enum rf_status {
    RF_OK = 0,
    RF_FAILURE = 1,    /* cannot write, out of memory, internal */
    RF_USAGE = 2,      /* options, own pid */
    RF_PERMISSION = 3, /* uid, capability, Yama, dumpable, another tracer */
    RF_TARGET = 4,     /* no such process, zombie, not a rayforce, layout not established */
    RF_NO_SAMPLES = 5,
};

struct rf_error {
    enum rf_status status;
    int errnum;      /* errno of the failed call, 0 when none was involved */
    char what[512];  /* one line, no newline: "cannot attach to 4242: Operation not permitted" */
    char next[1024]; /* zero or more lines: the cause and what to do, each "  text\n" when printed */
};

/* Fills *err (which may be NULL) and returns its status. The first form leaves `next` empty. */
enum rf_status rf_fail(struct rf_error *err, enum rf_status status, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Appends one line to err->next. */
void rf_hint(struct rf_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Bytes with a length, not terminated by a zero: names that come out of a target may hold any byte. */
struct rf_text {
    const char *s;
    size_t n;
};

/* --- sessions ------------------------------------------------------------------------------------ */

struct rf_session;
struct rf_about;

/* Where a layout may come from: the catalog of known releases, else debug information, else the target's code. */
struct rf_layout_options {
    bool no_catalog, no_debug_info; /* leave that one out */
    const char *debug_file;         /* has the debug information of the executable; NULL: where it is usually kept */
    bool debuginfod;                /* ask the servers in $DEBUGINFOD_URLS for it, for 5 s at most */
};

struct rf_session_options {
    pid_t pid;                       /* a thread id is taken as its process */
    double rate_hz;                  /* ticks per second, 1 to 10000 */
    struct rf_layout_options layout; /* its texts must outlive the session */
    double max_stop_percent;         /* lower the rate when a thread was held longer than this share of a second */
    bool want_expr;                  /* keep the text of each form, for RF_COLUMN_EXPR */
    bool want_source;                /* keep the text of each line, for rf_listed.source: up to 240 bytes a line */
    bool want_query;   /* keep the whole text of each client's request, for RF_VIEW_QUERY: up to 4 KiB a text */
    bool want_native;  /* keep the C functions, for rf_render.native and RF_VIEW_NATIVE */
    bool want_builtin; /* keep the builtins in progress, for RF_VIEW_BUILTIN */
    bool want_threads; /* keep threads apart */
    bool want_log;     /* keep each sample's time and thread: 24 bytes each, 96 MiB at most */
    bool idle;         /* sample sleeping threads too; weights are wall-clock time */
    /* The process need not run rayforce yet: it may be a child that has still to execute its program, or a Python that
     * imports rayforce later. Opening waits for nothing, ticks sample at once; what runs before the runtime is up is
     * charged to <runtime> <startup>, and a program that it executes until then is not its end. */
    bool starting;
    /* The same for a process that runs, if it may get a runtime yet: a Python that has not imported rayforce, or one in
     * which the runtime is just being set up. After opening, rf_session_started says whether it is waited for. */
    bool patient;
};

enum rf_target_state {
    RF_RUNNING,
    RF_EXITED, /* it ended by itself or was killed */
    RF_EXECED, /* it executed another program */
};

/* Opens the process, finds and checks its layout, and prepares everything that a tick needs. */
enum rf_status rf_session_open(struct rf_session **out, const struct rf_session_options *options, struct rf_error *err);
void rf_session_close(struct rf_session *s);

/* The instant at which the next tick is due: a random one in each period. */
uint64_t rf_session_next_ns(const struct rf_session *s);
/* A descriptor that becomes readable when the target ends (pidfd_open(2)); owned by the session. */
int rf_session_pidfd(const struct rf_session *s);
/* Takes one tick now. Returns RF_OK also when nothing was running or the target has ended (see
 * rf_session_state); RF_TARGET when the first samples contradict the layout. */
enum rf_status rf_session_tick(struct rf_session *s, struct rf_error *err);
enum rf_target_state rf_session_state(const struct rf_session *s);
/* RF_OK once the runtime is up, from when on there are lines; of a session that was opened so always. Else in err what
 * is missing: RF_NO_SAMPLES where there is a runtime that was not up yet, RF_TARGET where none was seen. */
enum rf_status rf_session_started(const struct rf_session *s, struct rf_error *err);
/* What the rate was lowered to by max_stop_percent; the asked-for rate otherwise. */
double rf_session_rate(const struct rf_session *s);
/* One line, "rayforce 2.4.0 (layout: catalog 2.4.0), 3 threads": what is being sampled. */
const char *rf_session_describe(const struct rf_session *s);
/* The target's working directory when the session was opened; NULL when it could not be read. */
const char *rf_session_folder(const struct rf_session *s);

/* A part of the account, by name. */
struct rf_part {
    char name[40];
    uint64_t ns;
};
enum { RF_PARTS = 3 };

/* The account of a session: where each tick, sample and nanosecond went. Of CPU time, `charged` comes from the
 * process's clock, all the rest from those of its threads; so the sum of the rest differs from it when something was
 * lost. With `idle`, all the rest is wall-clock time, for which there is no other clock. */
struct rf_account {
    uint64_t wall_ns; /* first to last tick */
    uint64_t ticks_asked, ticks_taken, ticks_late;
    unsigned threads;      /* that the process has now; 0: it has ended */
    uint64_t samples;      /* thread snapshots taken */
    uint64_t lost_exited;  /* the thread ended between the look and the stop */
    uint64_t lost_timeout; /* it did not stop in time (uninterruptible, frozen) */
    uint64_t lost_traced;  /* another tracer had it */
    uint64_t lost_other;
    uint64_t slept;       /* thread looks that found it asleep */
    uint64_t waited;      /* and runnable, but waiting for a CPU: no samples either */
    uint64_t delay_ns;    /* for which its threads could have run but waited for a CPU, in all */
    bool stopped;         /* the process is stopped now, by SIGSTOP or job control */
    uint64_t eintr;       /* stops that found a system call interrupted with EINTR */
    uint64_t charged_ns;  /* CPU time that the kernel charged to the process meanwhile */
    uint64_t line_ns;     /* explained by a line */
    uint64_t function_ns; /* by a function whose line is not known */
    uint64_t runtime_ns;  /* by a named part of the runtime */
    uint64_t unknown_ns;  /* sampled but not decoded; the reasons are rows of the profile */
    uint64_t pending_ns;  /* since each thread's last sample; and of pool workers for which no line was found yet */
    uint64_t ended_ns; /* CPU time that threads which ended, or the process if it ended, used after their last sample */
    struct rf_part runtime[RF_PARTS], unknown[RF_PARTS]; /* the dearest parts of these two; a name may be empty */
    bool idle;
    uint64_t unlogged; /* samples of the profile that the log had no room for */
    uint64_t hold_n, hold_p50_ns, hold_p99_ns, hold_max_ns, hold_total_ns;
    /* Decoding quality: innermost compiled frames with a unique ip, with one line out of several ips, without */
    uint64_t ip_unique, ip_same_line, ip_open, ip_prologue;
};
/* Looks once more at the clocks of all threads. */
void rf_session_account(struct rf_session *s, struct rf_account *out);

/* What is being measured, as known now. Lives until the next call. */
const struct rf_about *rf_session_about(struct rf_session *s);

/* --- the profile ----------------------------------------------------------------------------------- */

struct rf_profile;
const struct rf_profile *rf_session_profile(const struct rf_session *s);

/* The profiles of n sessions as they are now, as one: each process has a root frame of the given name, and tables have
 * the column RF_COLUMN_PROCESS. With full_paths, file names are resolved against each session's own folder. */
struct rf_joined;
enum rf_status rf_join(struct rf_joined **out, struct rf_session *const *session, const char *const *name, size_t n,
                       bool full_paths, struct rf_error *err);
const struct rf_profile *rf_joined_profile(const struct rf_joined *j); /* lives as long as j */
void rf_joined_free(struct rf_joined *j);

/* --- formats ----------------------------------------------------------------------------------------- */

/* What rows of tables and frames of folded stacks are: see rf_views. */
enum rf_view {
    RF_VIEW_LINE,
    RF_VIEW_FN,
    RF_VIEW_FILE,
    RF_VIEW_QUERY,
    RF_VIEW_EXPR,
    RF_VIEW_NATIVE,
    RF_VIEW_BUILTIN,
    RF_VIEW_THREAD,
};
/* Further columns of tables, see rf_columns. The first two are for views by line and by expression. */
enum rf_column {
    RF_COLUMN_COL,
    RF_COLUMN_EXPR,
    RF_COLUMN_POOL_MS,
    RF_COLUMN_MAIN_MS,
    RF_COLUMN_THREAD,  /* needs rf_session_options.want_threads */
    RF_COLUMN_PROCESS, /* of a profile of several, rf_join, always; else empty */
    RF_COLUMNS,
};

struct rf_choice {
    const char *name, *about; /* one line for --help and the manual */
};
/* Tables indexed by these enumerations; they end with an entry whose name is NULL. */
const struct rf_choice *rf_views(void);
const struct rf_choice *rf_columns(void);

/* What a reader of a table by builtin has to know, as one sentence. Tables for people say it themselves. */
const char *rf_builtin_note(void);

/* What was measured, for formats that say so. Texts are raw and end with a zero; what is not known is 0 or NULL. */
struct rf_about {
    pid_t pid;
    const char *command; /* how it was called, a space between arguments; cut at some length */
    const char *release; /* "2.4.0" */
    double rate_hz;      /* as asked for */
    uint64_t began_ns;   /* CLOCK_REALTIME */
    uint64_t wall_ns, charged_ns;
    bool idle;           /* the weights are wall-clock time */
    const char *folder;  /* the working directory */
    const char *account; /* the end summary, lines for people */
};

struct rf_render {
    enum rf_view view;
    enum rf_column column[RF_COLUMNS]; /* those asked for, each once */
    size_t n_columns;
    bool threads;       /* keep threads apart: as root of stacks, and as RF_COLUMN_THREAD */
    bool no_text;       /* withhold text that came from no file: a number stands for each */
    bool native;        /* the C functions stand below the Rayfall frames, in views by line, fn, file and expression */
    const char *folder; /* relative file names are shown as seen from there; NULL: as the target knows them */
    size_t rows;        /* table: at most so many rows, 0 for all */
    unsigned width;     /* table: columns of the terminal, 0 when unknown */
    bool colour;        /* table: the output is a terminal that takes colour */
    const struct rf_about *about; /* NULL: not known */
};

struct rf_format {
    const char *name;
    const char *extensions[3]; /* with the dot, NULL-terminated; may be empty */
    const char *about;         /* one line for --help and the manual */
    /* Writes the whole profile. The caller checks ferror(to) and closes it. */
    enum rf_status (*write)(const struct rf_profile *p, const struct rf_render *how, FILE *to, struct rf_error *err);
    /* What a session must have been asked to keep (want_log, want_native, everything). Without the log perf fails. */
    unsigned wants;
};
enum { RF_WANTS_LOG = 1, RF_WANTS_NATIVE = 2, RF_WANTS_ALL = 4 };

/* The table of formats; it ends with an entry whose name is NULL. */
const struct rf_format *rf_formats(void);

/* --- rows, for a program that shows them itself --------------------------------------------------------- */

/* What a profile held at an instant, to tell later what has come since. It takes 16 bytes for each stack of the
 * profile, which must outlive it. */
struct rf_instant;
enum rf_status rf_instant_take(const struct rf_profile *p, struct rf_instant **out, struct rf_error *err);
void rf_instant_free(struct rf_instant *i); /* NULL is none */

struct rf_cost {
    uint64_t self_ns, total_ns;
    uint64_t samples; /* that have the row anywhere on the stack, each once */
};

/* A row of a view. Texts are escaped as in the text formats: valid UTF-8 without control characters; a row that has no
 * file, no function or no line has "" or 0. */
struct rf_listed {
    struct rf_text file, fn;
    uint32_t line;
    struct rf_text source; /* of the line, without the blanks at its ends, as last seen; needs want_source, else "" */
    struct rf_cost all, since;
};

struct rf_listing {
    struct rf_listed *row; /* sorted as tables are: by all.self_ns descending, then by the names */
    size_t n;
    uint64_t all_ns, since_ns; /* of all samples, with those that are in no row */
    struct rf_profile *texts;  /* what the rows' texts belong to */
};

/* The rows of a view: what each costs in all, and since an instant; NULL, and an instant of another profile, stand for
 * the beginning. Of *how, only view, no_text and folder count. The profile may go on growing. */
enum rf_status rf_listing_make(const struct rf_profile *p, const struct rf_instant *since, const struct rf_render *how,
                               struct rf_listing **out, struct rf_error *err);
void rf_listing_free(struct rf_listing *l); /* NULL is none */

/* --- saved profiles ---------------------------------------------------------------------------------- */

struct rf_saved;

/* Reads a file of format pprof: all that a session knew, where rfprof wrote it, so that every format and view can be
 * made from it as from the session. Of other programs' files the functions and lines, and the times of the sample type
 * that has such. What is in the file is checked before it is used; more than 512 MiB of it, inflated, is refused. */
enum rf_status rf_saved_open(struct rf_saved **out, const char *path, struct rf_error *err);
void rf_saved_close(struct rf_saved *s);
const struct rf_profile *rf_saved_profile(const struct rf_saved *s);
const struct rf_about *rf_saved_about(const struct rf_saved *s);
/* Texts of clients were withheld when it was written: rf_render.no_text has to be set. */
bool rf_saved_no_text(const struct rf_saved *s);
/* Another program wrote it: there is nothing for views by query, native, builtin and thread, nor for format perf. */
bool rf_saved_foreign(const struct rf_saved *s);
bool rf_saved_empty(const struct rf_saved *s); /* no samples */

/* --- what every thread does now ---------------------------------------------------------------------------- */

struct rf_dump_options {
    pid_t pid; /* a thread id is taken as its process */
    struct rf_layout_options layout;
    bool native; /* the C functions, too */
    bool locals; /* arguments and locals of the functions on the stack */
};

/* An argument or local of a function in progress. */
struct rf_dump_value {
    struct rf_text name; /* empty: the build does not tell */
    bool argument;
    struct rf_text type; /* as rayforce names it: "i64" is an atom, "I64" a vector; empty: it is not set so far */
    int64_t length;      /* elements, rows of a table, keys of a dictionary; -1: has none */
    struct rf_text text; /* its beginning, at most 240 bytes; see `cut` */
    bool cut;            /* text does not show all of it */
    bool changed;        /* the thread ran on and changed it before it was read: there is nothing else to say */
};
enum { RF_DUMP_VALUES = 32, RF_DUMP_DEPTH = 100 }; /* values of a frame; frames of a thread that have their values */

struct rf_dump_frame {
    bool native; /* a C function: file as in rows by native, no source */
    struct rf_text fn, file;
    uint32_t line, col;    /* 1-based; 0: not known */
    struct rf_text source; /* the line's text, without blanks around it and what closes earlier forms; "": not known */
    const struct rf_dump_value *value; /* arguments first */
    size_t n_values, n_left_out;
    const char *no_values; /* why there are none, where they were asked for and there should be; else NULL */
};

struct rf_dump_thread {
    pid_t tid;
    struct rf_text name; /* "main", "worker-1", else what the kernel calls it, with its id */
    char state; /* its letter in proc(5): R running, S sleeping, D in an uninterruptible sleep, T stopped ... */
    struct rf_text wait; /* of one that sleeps, or did when it was stopped: "<epoll>", "<futex>" ...; else empty */
    bool idle;           /* a pool worker that waits for its next task */
    bool dispatched;     /* its Rayfall frames are those of the main thread, which dispatched its task */
    const char *missing; /* why there is no stack, or less than there should be; else NULL */
    const struct rf_dump_frame *frame; /* innermost first */
    size_t n_frames;
};

struct rf_dump {
    pid_t pid;
    char describe[400];                  /* as rf_session_describe, with the next four */
    char release[32], core[32];          /* "2.4.0", or "unknown", and what the core calls itself, or "" */
    const char *origin;                  /* of the layout: "catalog", "debug-info" or "code" */
    char layout[256];                    /* the same as a sentence, with what is not established */
    bool believed;                       /* else the layout is not confirmed, and there are C functions only */
    const struct rf_dump_thread *thread; /* main first */
    size_t n_threads;
    uint64_t hold_max_ns; /* for which any one thread was held */
};

/* Looks at all threads once, whether they run, sleep or are stopped by a signal. Each is held while its registers and
 * stack are copied; one that is stopped stays so, and what one sleeps in may return EINTR, as with `idle`. On RF_OK
 * *out has to be given to rf_dump_free; everything in it lives until then. Texts are raw bytes of the target. */
enum rf_status rf_dump_take(struct rf_dump **out, const struct rf_dump_options *options, struct rf_error *err);
void rf_dump_free(struct rf_dump *d);

/* --- looking at a process without sampling it ----------------------------------------------------------- */

struct rf_finding {
    char name[24]; /* "release", "build-id", "layout", ... */
    char value[488];
    enum rf_finding_state { RF_FINE, RF_NOTE, RF_BAD } state;
};

/* What was found about the process, in the order of the questions: permission, build-id, symbols, debug
 * information, release, layout, VM, threads. Fills at most max findings, sets *n, and returns RF_OK when it can be
 * profiled, or is waited for (a Python that has not imported rayforce: RF_NOTE), else the status that rf_session_open
 * would have had, with err filled. Running threads are looked at for up to 0.2 s, until the one that has the VM is
 * among them; where it is not, it sleeps, and every thread is stopped once, as by rf_dump_take. A build that the
 * catalog has not and that has no debug information is sampled for up to 0.8 s. */
enum rf_status rf_check(pid_t pid, const struct rf_layout_options *layout, struct rf_finding *findings, size_t max,
                        size_t *n, struct rf_error *err);

/* Writes the layout of the rayforce in this ELF file in the form that the catalog stores, from debug information, else
 * derived from its code alone. */
enum rf_status rf_layout_of_file(const char *path, const struct rf_layout_options *layout, FILE *to,
                                 struct rf_error *err);

/* A process with a rayforce runtime in it. */
struct rf_candidate {
    pid_t pid;
    char release[32];  /* "2.4.0", or "unknown" */
    char command[128]; /* beginning of its command line */
    char how[96];      /* "yes", or why not: "no: needs root", "no: unknown layout" */
};
/* Looks through /proc. *out is malloc'ed, *n set; the caller frees it. */
enum rf_status rf_candidates(struct rf_candidate **out, size_t *n, struct rf_error *err);

#endif
