/* tids.h: the threads that were sampled, and what they are called. */
#ifndef RF_TIDS_H
#define RF_TIDS_H

#include "rfprof.h"

struct rf_tid {
    pid_t tid, pid;      /* pid: its process */
    uint32_t number;     /* from 0 in the order of first sight */
    unsigned worker;     /* of the pool: its number, from 1 in the order of first sight; else 0 */
    struct rf_text name; /* "main", "worker-1", or what the kernel calls it with its id: "rayforce-4243" */
    struct rf_text comm; /* as the kernel calls it (proc(5)), raw */
};

struct rf_tids;

struct rf_tids *rf_tids_new(pid_t pid); /* NULL when out of memory */
void rf_tids_free(struct rf_tids *t);
pid_t rf_tids_pid(const struct rf_tids *t);

/* NULL when it was not added yet. What is returned lives as long as the table. */
const struct rf_tid *rf_tids_find(const struct rf_tids *t, pid_t tid);
/* All of them in the order of first sight: the one after `after` (NULL: the first), NULL at the end. */
const struct rf_tid *rf_tids_next(const struct rf_tids *t, const struct rf_tid *after);
/* Adds a thread, or says of one that was added that it is a worker after all: it may have been caught in its first
 * instructions. NULL when out of memory. */
const struct rf_tid *rf_tids_add(struct rf_tids *t, pid_t tid, struct rf_text comm, bool worker);
/* The same with a thread of another process, as another table has it; its number among the workers is a new one. */
const struct rf_tid *rf_tids_take(struct rf_tids *t, const struct rf_tid *from);

#endif
