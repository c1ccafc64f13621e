/* snapshot.h: one thread at one instant, as plain data: the border between sampling and decoding.
 *
 * An engine fills it while the thread is held; nothing behind this border needs the thread any more. The
 * buffers belong to the engine and are overwritten by its next tick. */
#ifndef RF_SNAPSHOT_H
#define RF_SNAPSHOT_H

#include "memory.h"

#include <sys/types.h>

/* x86-64 registers by their DWARF number (System V ABI, AMD64 supplement, figure 3.36). */
enum {
    RF_RAX,
    RF_RDX,
    RF_RCX,
    RF_RBX,
    RF_RSI,
    RF_RDI,
    RF_RBP,
    RF_RSP,
    RF_R8,
    RF_R9,
    RF_R10,
    RF_R11,
    RF_R12,
    RF_R13,
    RF_R14,
    RF_R15,
    RF_RIP,
    RF_REGS,
};

/* Those that a call leaves as they were (System V ABI): what a caller's frame can be told by. */
enum { RF_SAVED = 6 };
extern const unsigned char rf_saved_regs[RF_SAVED];

struct rf_range {
    uint64_t addr;
    uint32_t size;
};

/* A range copied besides the stack; off is its place in bytes[]. */
struct rf_block {
    uint64_t addr;
    uint32_t size, off;
};

enum { RF_PAGE = 4096, RF_BLOCKS_MAX = 256, RF_BYTES_MAX = 256 * 1024, RF_STACK_MAX = 2 * 1024 * 1024 };

struct rf_snapshot {
    struct rf_memory memory; /* reads the stack and the blocks, and nothing else */
    pid_t tid;
    bool main_thread;   /* tid == pid */
    uint64_t time_ns;   /* CLOCK_MONOTONIC when it was held */
    uint64_t weight_ns; /* CPU time that the thread was charged since its last snapshot, but for what late ticks put off
                         * (late.h); wall-clock time, if sleeping threads are asked for */
    uint64_t reg[RF_REGS];
    uint64_t fs_base;
    char state;      /* its letter in proc(5) before it was held, where each thread is sampled once; else 0 */
    bool in_syscall; /* stopped in a system call */
    bool asleep;     /* which had put it to sleep */
    long syscall;    /* its number, as the thread gave it; of one that the kernel restarts, restart_syscall(2) */
    /* The stack from the page that rsp is in, towards its top. Bit i of absent: page i could not be read. */
    uint64_t stack_addr;
    size_t stack_size;
    unsigned char *stack;
    uint64_t absent[RF_STACK_MAX / RF_PAGE / 64];
    bool stack_capped; /* the stack goes on beyond RF_STACK_MAX or the engine's hint */
    /* What the selector asked for, in that order; ranges that could not be read are left out. */
    struct rf_block block[RF_BLOCKS_MAX];
    size_t n_blocks;
    unsigned char *bytes;
    size_t n_bytes;
};

/* Chooses, while the thread is held, what else to copy. Called in rounds (0, 1, 2 ...) with everything copied
 * so far until it returns 0 or RF_ROUNDS_MAX is reached. It must not call the kernel, allocate or block: the
 * thread is waiting. Fills at most max ranges and returns how many. */
enum { RF_ROUNDS_MAX = 4 };
struct rf_selector {
    size_t (*select)(void *ctx, const struct rf_snapshot *s, unsigned round, struct rf_range *out, size_t max);
    void *ctx;
};

/* The memory.read of snapshots, for engines and tests to install. */
bool rf_snapshot_read(const struct rf_memory *m, uint64_t addr, void *to, size_t n);
/* Reads the snapshot, and the live process where the snapshot has nothing. Both must outlive it. */
struct rf_overlay {
    struct rf_memory memory; /* first member */
    const struct rf_snapshot *s;
    const struct rf_memory *live;
};
struct rf_overlay rf_overlay(const struct rf_snapshot *s, const struct rf_memory *live);
/* The copied word at addr without a call through rf_memory; false where it was not copied. */
bool rf_snapshot_word(const struct rf_snapshot *s, uint64_t addr, uint64_t *to);

#endif
