/* unwind.c: walks the frames of a snapshot, one row of CFI at a time.
 *
 * libunwind turns the CFI for a pc into a row of rules (unw_reg_states_iterate), kept with the place, and applies it
 * to the registers of a frame (unw_apply_reg_state). unw_step would do both, but its own cache takes a lock and
 * blocks signals for each frame (two system calls: more than all the rest), is keyed by a pc that means another row
 * for a caller than for a sampled frame, and where there is no CFI it guesses.
 *
 * A row is looked up by pc for the sampled frame, for signal trampolines and for what a signal interrupted, and by
 * pc - 1 for callers: the call may be the last instruction of its function. */
#include "unwind.h"

#include "call_site.h"
#include "cfi_check.h"

#include <errno.h>
#include <libunwind.h>
#include <stdlib.h>

enum {
    PLACES = 1024,        /* direct mapped; a workload has some hundred call sites */
    ROWS = 256,           /* likewise: functions */
    ROW_MAX = 256,        /* bytes of a row of libunwind's: 18 columns */
    ACCESSES_MAX = 20000, /* memory reads in one step: a hostile DWARF expression may loop */
    CALLEE_SAVED = 1 << RF_RBX | 1 << RF_RBP | 1 << RF_R12 | 1 << RF_R13 | 1 << RF_R14 | 1 << RF_R15,
    ALL_REGS = (1 << RF_REGS) - 1,
};

/* What is known about a pc. It depends on the code alone, so it is kept until the maps change. */
struct place {
    uint64_t pc;
    bool used, exact; /* exact: names and CFI by pc, not pc - 1 */
    bool after_call, sigreturn;
    const struct rf_image *image;
    struct rf_symbol fn;
    enum { NOT_READ, NO_ROW, ROW } cfi;
    _Alignas(uint64_t) unsigned char row[ROW_MAX];
};

/* The row of a function that was last asked for: a sampled pc is often a new one, but in a row that is known. */
struct row {
    const struct rf_image *image;
    uint64_t start, end; /* where it is in force; equal: unused */
    _Alignas(uint64_t) unsigned char bytes[ROW_MAX];
};

struct rf_unwinder {
    const struct rf_images *images;
    unw_addr_space_t space;
    struct place *place;
    struct row *row;
    struct rf_native *frame;
    /* The step that is going on, for the accessors. */
    const struct rf_snapshot *snapshot;
    const struct rf_native *from;
    uint64_t lookup;
    unsigned accesses;
    bool missed;
    uint64_t missed_at; /* valid when missed: a word that is neither in the snapshot nor in the file */
};

/* --- accessors ------------------------------------------------------------------------------------------ */

/* libunwind reads single bytes of CFI as aligned words. The last word of a segment may reach beyond what the file
 * has loaded; only there the missing bytes, which no CFI lies in, are zero. */
static bool read_file_word(const struct rf_image *image, uint64_t addr, uint64_t *to)
{
    unsigned char bytes[sizeof *to] = {0};
    if (rf_image_read(image, addr, to, sizeof *to))
        return true;
    size_t n = 0;
    while (n < sizeof bytes && rf_image_read(image, addr + n, &bytes[n], 1))
        n++;
    memcpy(to, bytes, sizeof bytes);
    return n > 0;
}

static int access_mem(unw_addr_space_t space, unw_word_t addr, unw_word_t *value, int write, void *ctx)
{
    struct rf_unwinder *u = ctx;
    uint64_t word;
    (void)space;
    if (write || ++u->accesses > ACCESSES_MAX)
        return -UNW_EINVAL;
    if (rf_snapshot_word(u->snapshot, addr, &word) || (u->from->image && read_file_word(u->from->image, addr, &word))) {
        *value = word;
        return 0;
    }
    u->missed = true;
    u->missed_at = addr;
    return -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t reg, unw_word_t *value, int write, void *ctx)
{
    const struct rf_unwinder *u = ctx;
    (void)space;
    /* libunwind numbers the registers of x86-64 as DWARF does. */
    if (write || reg < 0 || reg >= RF_REGS || !(u->from->known >> reg & 1))
        return -UNW_EBADREG;
    *value = reg == RF_RIP ? u->lookup : u->from->reg[reg];
    return 0;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t reg, unw_fpreg_t *value, int write, void *ctx)
{
    (void)space, (void)reg, (void)value, (void)write, (void)ctx;
    return -UNW_EBADREG;
}

static int no_dyn_info(unw_addr_space_t space, unw_word_t *addr, void *ctx)
{
    (void)space, (void)addr, (void)ctx;
    return -UNW_ENOINFO;
}

static int no_resume(unw_addr_space_t space, unw_cursor_t *cursor, void *ctx)
{
    (void)space, (void)cursor, (void)ctx;
    return -UNW_EINVAL;
}

static int no_proc_name(unw_addr_space_t space, unw_word_t addr, char *to, size_t n, unw_word_t *off, void *ctx)
{
    (void)space, (void)addr, (void)to, (void)n, (void)off, (void)ctx;
    return -UNW_ENOINFO;
}

/* Exported by libunwind for remote unwinders (perf uses it, too), but in no header. */
extern int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *table,
                                              unw_proc_info_t *out, int need_unwind_info, void *ctx);

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *out, int need_unwind_info, void *ctx)
{
    struct rf_unwinder *u = ctx;
    struct rf_cfi cfi;
    memset(out, 0, sizeof *out);
    if (u->from->image && rf_image_cfi(u->from->image, &cfi) && ip >= cfi.start && ip < cfi.end &&
        rf_cfi_is_sane(u->from->image, &cfi, ip)) {
        unw_dyn_info_t table = {.format = UNW_INFO_FORMAT_REMOTE_TABLE, .start_ip = cfi.start, .end_ip = cfi.end};
        table.u.rti.segbase = cfi.hdr;
        table.u.rti.table_data = cfi.table;
        table.u.rti.table_len = cfi.entries * 8 / sizeof(unw_word_t);
        /* A corrupt table may lead to a CIE where an FDE should be: libunwind then answers 0, without any info. */
        if (UNW_OBJ(dwarf_search_unwind_table)(space, ip, &table, out, need_unwind_info, ctx) == 0 &&
            (out->unwind_info || !need_unwind_info)) {
            return 0;
        }
    }
    return -UNW_ENOINFO;
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *ctx)
{
    (void)space, (void)info, (void)ctx;
}

/* --- places ------------------------------------------------------------------------------------------------ */

static struct place *place_of(struct rf_unwinder *u, uint64_t pc, bool exact)
{
    struct place *p = &u->place[((pc ^ pc >> 10) * 2 + exact) % PLACES];
    unsigned char code[RF_SIGRETURN_SIZE];
    if (p->used && p->pc == pc && p->exact == exact)
        return p;
    *p = (struct place){.pc = pc, .used = true, .exact = exact};
    p->image = rf_images_at(u->images, pc);
    if (!p->image && !exact)
        p->image = rf_images_at(u->images, pc - 1);
    if (!p->image)
        return p;
    if (!rf_image_function_at(p->image, exact ? pc : pc - 1, &p->fn))
        p->fn.name = NULL;
    p->sigreturn = rf_image_read(p->image, pc, code, sizeof code) && rf_is_sigreturn(code, sizeof code);
    for (size_t n = RF_CALL_MAX; !exact && n >= 2; n--) {
        if (rf_image_read(p->image, pc - n, code, n)) {
            p->after_call = rf_ends_with_call(code, n);
            break;
        }
    }
    return p;
}

static void place_frame(struct rf_native *f, const struct place *p)
{
    f->image = p->image;
    f->fn = p->fn;
}

/* --- the walk ------------------------------------------------------------------------------------------------ */

enum step { STEPPED, AT_ROOT, NO_RULES, STUCK };

/* A row that is looked for. */
struct wanted {
    struct row *row;
    uint64_t at;
    bool found;
};

/* Called for each range of addresses of a function that has a row of its own. */
static int keep_row(void *ctx, void *row, size_t n, unw_word_t start, unw_word_t end)
{
    struct wanted *w = ctx;
    if (w->at < start || w->at >= end || n > sizeof w->row->bytes)
        return 0;
    w->row->start = start;
    w->row->end = end;
    memcpy(w->row->bytes, row, n);
    w->found = true;
    return -UNW_ESTOPUNWIND; /* enough */
}

/* The row of u->lookup, which is in place p. */
static void find_row(struct rf_unwinder *u, unw_cursor_t *cursor, struct place *p)
{
    uint64_t key = p->fn.name ? p->fn.addr >> 4 : u->lookup >> 8;
    struct wanted w = {.row = &u->row[(key ^ key >> 8) % ROWS], .at = u->lookup};
    w.found = w.row->image == p->image && w.at >= w.row->start && w.at < w.row->end;
    if (!w.found) {
        *w.row = (struct row){.image = p->image};
        unw_reg_states_iterate(cursor, keep_row, &w);
        u->missed = false;
    }
    p->cfi = w.found ? ROW : NO_ROW;
    memcpy(p->row, w.row->bytes, sizeof p->row);
}

/* One step: from's caller into to, with all of its registers. */
static enum step step(struct rf_unwinder *u, const struct rf_native *from, struct place *p, struct rf_native *to)
{
    unw_cursor_t cursor;
    unw_word_t value;
    u->from = from;
    u->lookup = p->exact ? from->pc : from->pc - 1;
    u->accesses = 0;
    u->missed = false;
    if (unw_init_remote(&cursor, u->space, u) < 0)
        return STUCK;
    if (p->cfi == NOT_READ)
        find_row(u, &cursor, p);
    if (p->cfi == NO_ROW)
        return NO_RULES;
    int moved = unw_apply_reg_state(&cursor, p->row);
    if (moved < 0)
        return STUCK;
    if (moved == 0)
        return AT_ROOT;
    *to = (struct rf_native){0};
    /* What CFI does not mention libunwind takes as unchanged: of what a callee may change that is not known. The
     * kernel's signal frame has all of them. */
    uint32_t wanted = p->sigreturn ? ALL_REGS : CALLEE_SAVED | 1 << RF_RSP | 1 << RF_RIP;
    for (int reg = 0; reg < RF_REGS; reg++) {
        if (!(wanted >> reg & 1) || unw_get_reg(&cursor, reg, &value) < 0)
            continue;
        to->reg[reg] = value;
        to->known |= 1U << reg;
    }
    to->pc = to->reg[RF_RIP];
    to->sp = to->reg[RF_RSP];
    uint32_t needed = 1 << RF_RSP | 1 << RF_RIP;
    if ((to->known & needed) != needed)
        return STUCK;
    return to->pc == 0 ? AT_ROOT : STEPPED;
}

/* Why a step failed: the copied stack ended, or the CFI makes no sense. */
static enum rf_unwind_end why_stuck(const struct rf_unwinder *u)
{
    const struct rf_snapshot *s = u->snapshot;
    if (!u->missed || u->missed_at < s->stack_addr)
        return RF_UNWIND_BAD;
    if (u->missed_at < s->stack_addr + s->stack_size)
        return RF_UNWIND_TRUNCATED;
    const struct rf_map *m = rf_maps_at(rf_images_maps(u->images), s->stack_addr);
    return !m || u->missed_at < m->end ? RF_UNWIND_TRUNCATED : RF_UNWIND_BAD;
}

static bool is_code_without_file(const struct rf_unwinder *u, uint64_t pc)
{
    const struct rf_map *m = rf_maps_at(rf_images_maps(u->images), pc);
    return m && m->perms[2] == 'x';
}

/* The C library ends its rules for clone before the system call, since they would be wrong in the child; so what
 * posix_spawn(3) and system(3) cost would be under no line. In the parent nothing has been pushed: it is about to
 * return to the word at sp, which has to be behind a call. */
static enum step leave_clone(const struct rf_unwinder *u, const struct rf_native *from, struct rf_native *to)
{
    static const char *const names[] = {"clone3", "__clone3", "clone", "__clone"};
    bool clones = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        clones = clones || rf_symbol_is(from->fn.name, names[i]);
    *to = *from;
    if (!clones || !rf_snapshot_word(u->snapshot, from->sp, &to->pc))
        return NO_RULES;
    unsigned char code[RF_CALL_MAX];
    const struct rf_image *image = rf_images_at(u->images, to->pc);
    if (!image || !rf_image_read(image, to->pc - RF_CALL_MAX, code, RF_CALL_MAX) ||
        !rf_ends_with_call(code, RF_CALL_MAX))
        return NO_RULES;
    to->sp += 8;
    to->reg[RF_RIP] = to->pc;
    to->reg[RF_RSP] = to->sp;
    to->known = CALLEE_SAVED | 1 << RF_RSP | 1 << RF_RIP;
    return STEPPED;
}

static enum rf_unwind_end walk(struct rf_unwinder *u, const struct rf_snapshot *s, size_t *n)
{
    struct rf_native *f = u->frame;
    memcpy(f->reg, s->reg, sizeof f->reg);
    f->known = ALL_REGS;
    f->pc = s->reg[RF_RIP];
    f->sp = s->reg[RF_RSP];
    struct place *p = place_of(u, f->pc, true);
    place_frame(f, p);
    for (*n = 1; *n < RF_NATIVE_MAX; f = &u->frame[(*n)++]) {
        struct rf_native *to = f + 1;
        bool interrupted = p->sigreturn;
        enum step stepped = f->image ? step(u, f, p, to) : NO_RULES;
        if (stepped == NO_RULES && *n == 1)
            stepped = leave_clone(u, f, to);
        switch (stepped) {
        case STEPPED:
            break;
        case AT_ROOT:
            return RF_UNWIND_ROOT;
        case NO_RULES:
            return RF_UNWIND_NO_CFI;
        case STUCK:
            return why_stuck(u);
        }
        /* A handler may run on another stack (sigaltstack(2)), anywhere; else stacks grow down. */
        if (to->sp <= f->sp && !interrupted)
            return RF_UNWIND_BAD;
        p = place_of(u, to->pc, interrupted);
        if (!p->image)
            return is_code_without_file(u, to->pc) ? RF_UNWIND_NO_CFI : RF_UNWIND_BAD;
        if (!interrupted && !p->sigreturn && !p->after_call)
            return RF_UNWIND_BAD;
        /* The kernel makes the trampoline the handler's return address: no call leads there, its CFI is at pc. */
        if (p->sigreturn && !p->exact)
            p = place_of(u, to->pc, true);
        place_frame(to, p);
    }
    return RF_UNWIND_DEPTH;
}

void rf_unwind(struct rf_unwinder *u, const struct rf_snapshot *s, struct rf_native_stack *out)
{
    u->snapshot = s;
    out->frame = u->frame;
    out->end = walk(u, s, &out->n);
}

/* --- life ------------------------------------------------------------------------------------------------------ */

enum rf_status rf_unwinder_open(struct rf_unwinder **out, const struct rf_images *images, struct rf_error *err)
{
    unw_accessors_t accessors = {
        .find_proc_info = find_proc_info,
        .put_unwind_info = put_unwind_info,
        .get_dyn_info_list_addr = no_dyn_info,
        .access_mem = access_mem,
        .access_reg = access_reg,
        .access_fpreg = access_fpreg,
        .resume = no_resume,
        .get_proc_name = no_proc_name,
    };
    struct rf_unwinder *u = calloc(1, sizeof *u);
    *out = NULL;
    if (!u)
        return rf_fail(err, RF_FAILURE, ENOMEM, "out of memory");
    u->images = images;
    u->place = calloc(PLACES, sizeof *u->place);
    u->row = calloc(ROWS, sizeof *u->row);
    u->frame = calloc(RF_NATIVE_MAX + 1, sizeof *u->frame);
    u->space = unw_create_addr_space(&accessors, 0);
    if (!u->place || !u->row || !u->frame || !u->space) {
        rf_unwinder_close(u);
        return rf_fail(err, RF_FAILURE, ENOMEM, "out of memory");
    }
    unw_set_caching_policy(u->space, UNW_CACHE_NONE);
    *out = u;
    return RF_OK;
}

void rf_unwinder_close(struct rf_unwinder *u)
{
    if (!u)
        return;
    if (u->space)
        unw_destroy_addr_space(u->space);
    free(u->place);
    free(u->row);
    free(u->frame);
    free(u);
}

void rf_unwinder_flush(struct rf_unwinder *u)
{
    memset(u->place, 0, PLACES * sizeof *u->place);
    memset(u->row, 0, ROWS * sizeof *u->row);
}

const char *rf_unwind_end_name(enum rf_unwind_end end)
{
    switch (end) {
    case RF_UNWIND_ROOT:
        return "root";
    case RF_UNWIND_TRUNCATED:
        return "truncated";
    case RF_UNWIND_NO_CFI:
        return "no unwind information";
    case RF_UNWIND_BAD:
        return "bad return address";
    case RF_UNWIND_DEPTH:
        return "too deep";
    }
    return "unknown";
}
