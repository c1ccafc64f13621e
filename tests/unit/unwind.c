/* unwind.c: how a walk ends: at the root, where the copied stack does, at a word that is no return address, at a pc
 * without CFI; and that CFI which was made to harm us does not. The target is a child that waits in nested calls. */
#include "unwind/unwind.h"
#include "unwind/cfi_check.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    pid_t child;
    struct rf_process *process;
    struct rf_images *images;
    struct rf_unwinder *unwinder;
    struct rf_snapshot snapshot;
};

/* Frames of some pages each, so that single ones can be taken away. */
enum { LOCAL = 3 * RF_PAGE };
int unwind_inner(int ready), unwind_middle(int ready), unwind_outer(int ready);

__attribute__((noinline)) int unwind_inner(int ready)
{
    if (write(ready, "\n", 1) != 1)
        return 1;
    for (;;)
        pause();
}

__attribute__((noinline)) int unwind_middle(int ready)
{
    volatile char local[LOCAL];
    for (size_t i = 0; i < sizeof local; i += 64)
        local[i] = (char)i;
    return unwind_inner(ready) + local[ready];
}

__attribute__((noinline)) int unwind_outer(int ready)
{
    volatile char local[LOCAL];
    for (size_t i = 0; i < sizeof local; i += 64)
        local[i] = (char)i;
    return unwind_middle(ready) + local[ready];
}

static bool copy(struct fixture *f)
{
    struct user_regs_struct r;
    struct rf_snapshot *s = &f->snapshot;
    int status;
    if (ptrace(PTRACE_SEIZE, f->child, 0, 0) != 0 || ptrace(PTRACE_INTERRUPT, f->child, 0, 0) != 0 ||
        waitpid(f->child, &status, __WALL) != f->child || ptrace(PTRACE_GETREGS, f->child, 0, &r) != 0)
        return false;
    const uint64_t reg[RF_REGS] = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
                                   r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip};
    memcpy(s->reg, reg, sizeof reg);
    s->memory.read = rf_snapshot_read;
    s->stack_addr = r.rsp & ~(uint64_t)(RF_PAGE - 1);
    while (s->stack_size < RF_STACK_MAX &&
           rf_read(&f->process->memory, s->stack_addr + s->stack_size, s->stack + s->stack_size, RF_PAGE))
        s->stack_size += RF_PAGE;
    return ptrace(PTRACE_DETACH, f->child, 0, 0) == 0;
}

static int set_up(void **state)
{
    static struct fixture f;
    struct rf_error err = {0};
    int ready[2];
    char byte;
    if (pipe(ready) != 0 || !(f.snapshot.stack = malloc(RF_STACK_MAX)))
        return -1;
    f.child = fork();
    if (f.child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when a test crashes */
        _exit(unwind_outer(ready[1]));
    }
    if (f.child < 0 || read(ready[0], &byte, 1) != 1)
        return -1;
    close(ready[0]);
    close(ready[1]);
    if (rf_process_open(&f.process, f.child, &err) != RF_OK || rf_images_open(&f.images, f.process, &err) != RF_OK ||
        rf_unwinder_open(&f.unwinder, f.images, &err) != RF_OK || !copy(&f)) {
        print_error("%s\n", err.what);
        return -1;
    }
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    rf_unwinder_close(f->unwinder);
    rf_images_close(f->images);
    rf_process_close(f->process);
    kill(f->child, SIGKILL);
    waitpid(f->child, NULL, 0);
    free(f->snapshot.stack);
    return 0;
}

static size_t index_of(const struct rf_native_stack *stack, const char *name)
{
    for (size_t i = 0; i < stack->n; i++) {
        if (stack->frame[i].fn.name && strcmp(stack->frame[i].fn.name, name) == 0)
            return i;
    }
    fail_msg("no frame of %s among %zu", name, stack->n);
    return 0;
}

static unsigned char *on_stack(struct fixture *f, uint64_t addr)
{
    return f->snapshot.stack + (addr - f->snapshot.stack_addr);
}

static void the_whole_stack_ends_at_the_root(void **state)
{
    struct fixture *f = *state;
    struct rf_native_stack stack;
    rf_unwind(f->unwinder, &f->snapshot, &stack);
    assert_int_equal(stack.end, RF_UNWIND_ROOT);
    size_t inner = index_of(&stack, "unwind_inner");
    assert_true(inner > 0);
    assert_int_equal(index_of(&stack, "unwind_middle"), inner + 1);
    assert_int_equal(index_of(&stack, "unwind_outer"), inner + 2);
    assert_int_equal(index_of(&stack, "_start"), stack.n - 1);
    assert_true(stack.frame[inner + 1].sp - stack.frame[inner].sp < RF_PAGE);
    assert_true(stack.frame[inner + 2].sp - stack.frame[inner + 1].sp > LOCAL);
    for (size_t i = 1; i < stack.n; i++)
        assert_true(stack.frame[i].sp > stack.frame[i - 1].sp);
}

static void caches_change_nothing(void **state)
{
    struct fixture *f = *state;
    struct rf_native_stack stack;
    uint64_t pc[16], rbx[16];
    rf_unwinder_flush(f->unwinder);
    rf_unwind(f->unwinder, &f->snapshot, &stack);
    size_t n = stack.n;
    assert_true(n > 3 && n < 16);
    for (size_t i = 0; i < n; i++) {
        pc[i] = stack.frame[i].pc;
        rbx[i] = stack.frame[i].reg[RF_RBX];
    }
    for (int again = 0; again < 3; again++) {
        rf_unwind(f->unwinder, &f->snapshot, &stack);
        assert_int_equal(stack.n, n);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(stack.frame[i].pc, pc[i]);
            assert_int_equal(stack.frame[i].reg[RF_RBX], rbx[i]);
        }
    }
}

static void a_missing_page_truncates(void **state)
{
    struct fixture *f = *state;
    struct rf_native_stack stack;
    rf_unwind(f->unwinder, &f->snapshot, &stack);
    size_t outer = index_of(&stack, "unwind_outer");
    size_t page = (size_t)(stack.frame[outer + 1].sp - 8 - f->snapshot.stack_addr) / RF_PAGE;
    f->snapshot.absent[page / 64] |= (uint64_t)1 << page % 64;
    rf_unwind(f->unwinder, &f->snapshot, &stack);
    f->snapshot.absent[page / 64] = 0;
    assert_int_equal(stack.end, RF_UNWIND_TRUNCATED);
    assert_int_equal(stack.n, outer + 1);
}

static void a_short_copy_truncates(void **state)
{
    struct fixture *f = *state;
    struct rf_native_stack stack;
    size_t whole = f->snapshot.stack_size;
    f->snapshot.stack_size = RF_PAGE;
    rf_unwind(f->unwinder, &f->snapshot, &stack);
    f->snapshot.stack_size = whole;
    assert_int_equal(stack.end, RF_UNWIND_TRUNCATED);
    assert_true(stack.n >= 1);
}

static void a_word_that_follows_no_call_is_no_return_address(void **state)
{
    struct fixture *f = *state;
    struct rf_native_stack stack;
    struct rf_symbol s;
    uint64_t was;
    rf_unwind(f->unwinder, &f->snapshot, &stack);
    size_t middle = index_of(&stack, "unwind_middle");
    assert_true(rf_image_find(stack.frame[middle].image, "unwind_outer", &s));
    unsigned char *word = on_stack(f, stack.frame[middle].sp - 8);
    memcpy(&was, word, sizeof was);
    assert_int_equal(was, stack.frame[middle].pc);
    /* A small integer, the beginning of a function, and nowhere. */
    const uint64_t other[] = {0x1234, s.addr + 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        memcpy(word, &other[i], sizeof was);
        rf_unwind(f->unwinder, &f->snapshot, &stack);
        assert_int_equal(stack.end, RF_UNWIND_BAD);
        assert_int_equal(stack.n, middle);
    }
    memcpy(word, &was, sizeof was);
}

static void a_pc_outside_every_file_has_no_cfi(void **state)
{
    struct fixture *f = *state;
    struct rf_native_stack stack;
    uint64_t was = f->snapshot.reg[RF_RIP];
    f->snapshot.reg[RF_RIP] = 0x10;
    rf_unwind(f->unwinder, &f->snapshot, &stack);
    f->snapshot.reg[RF_RIP] = was;
    assert_int_equal(stack.end, RF_UNWIND_NO_CFI);
    assert_int_equal(stack.n, 1);
    assert_null(stack.frame[0].image);
    assert_null(stack.frame[0].fn.name);
}

/* --- CFI of others --------------------------------------------------------------------------------------------- */

static void real_cfi_is_sane(void **state)
{
    struct fixture *f = *state;
    size_t n = 0;
    for (size_t i = 0; i < rf_images_count(f->images); i++) {
        const struct rf_image *image = rf_images_get(f->images, i);
        struct rf_cfi cfi;
        if (!rf_image_cfi(image, &cfi))
            continue;
        for (uint64_t k = 0; k < cfi.entries; k++, n++) {
            int32_t start;
            assert_true(rf_image_read(image, cfi.table + 8 * k, &start, sizeof start));
            if (!rf_cfi_is_sane(image, &cfi, cfi.hdr + (uint64_t)(int64_t)start))
                fail_msg("%s: entry %lu", rf_image_path(image), (unsigned long)k);
        }
    }
    assert_true(n > 1000);
}

/* A child that has the code of a copy of this executable mapped (a file that is executed cannot be written). */
struct victim {
    pid_t pid;
    int file;
    char path[256];
    struct rf_process *process;
    uint64_t mapped; /* where the child has the code */
    uint64_t size;
    uint64_t to_offset; /* adds to one of our addresses in read-only segments, whose offsets are their addresses */
    uint64_t to_mapped; /* adds to an address of our code */
    struct rf_cfi cfi;  /* of ourselves */
};

static void make_victim(struct fixture *f, struct victim *v)
{
    char buffer[65536];
    const char *dir = getenv("TMPDIR");
    ssize_t n;
    int ready[2], from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    snprintf(v->path, sizeof v->path, "%s/rfprof-unwind-XXXXXX", dir ? dir : "/tmp");
    v->file = mkstemp(v->path);
    assert_true(from >= 0 && v->file >= 0 && pipe(ready) == 0);
    while ((n = read(from, buffer, sizeof buffer)) > 0)
        assert_int_equal(write(v->file, buffer, (size_t)n), n);
    close(from);
    struct rf_native_stack stack;
    rf_unwind(f->unwinder, &f->snapshot, &stack);
    const struct rf_native *known = &stack.frame[index_of(&stack, "unwind_outer")];
    const struct rf_map *text = rf_maps_at(rf_images_maps(f->images), known->pc);
    assert_true(text && rf_image_cfi(known->image, &v->cfi));
    v->size = text->end - text->start;
    v->to_offset = -rf_image_bias(known->image);
    v->pid = fork();
    if (v->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        void *at = mmap(NULL, v->size, PROT_READ | PROT_EXEC, MAP_PRIVATE, v->file, (off_t)text->offset);
        if (write(ready[1], &at, sizeof at) == sizeof at)
            for (;;)
                pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &v->mapped, sizeof v->mapped), sizeof v->mapped);
    v->to_mapped = v->mapped - text->start;
    close(ready[0]);
    close(ready[1]);
    assert_int_equal(rf_process_open(&v->process, v->pid, NULL), RF_OK);
}

static void end_victim(struct victim *v)
{
    rf_process_close(v->process);
    kill(v->pid, SIGKILL);
    waitpid(v->pid, NULL, 0);
    close(v->file);
    unlink(v->path);
}

static void open_victim(const struct victim *v, struct rf_images **images, struct rf_unwinder **u)
{
    assert_int_equal(rf_images_open(images, v->process, NULL), RF_OK);
    assert_int_equal(rf_unwinder_open(u, *images, NULL), RF_OK);
    assert_non_null(rf_images_at(*images, v->mapped));
}

/* Offset in the file of the CFI instructions of one of our functions. */
static off_t program_of(struct fixture *f, const struct victim *v, const char *name, uint64_t *addr)
{
    struct rf_native_stack stack;
    struct rf_symbol s;
    rf_unwind(f->unwinder, &f->snapshot, &stack);
    const struct rf_image *image = stack.frame[index_of(&stack, name)].image;
    assert_true(rf_image_find(image, name, &s));
    *addr = s.addr;
    for (uint64_t k = 0; k < v->cfi.entries; k++) {
        int32_t entry[2];
        assert_true(rf_image_read(image, v->cfi.table + 8 * k, entry, sizeof entry));
        if (v->cfi.hdr + (uint64_t)(int64_t)entry[0] == s.addr)
            /* Behind length, CIE, start, size and an empty augmentation. */
            return (off_t)(v->cfi.hdr + (uint64_t)(int64_t)entry[1] + 17 + v->to_offset);
    }
    fail_msg("no FDE for %s", name);
    return 0;
}

static void harmful_cfi_is_refused(void **state)
{
    static const struct {
        const char *what;
        unsigned char code[12];
        size_t n;
    } evil[] = {
        {"DW_CFA_register of a far register", {0x09, 0x10, 0xff, 0xff, 0xff, 0x7f}, 6},
        {"DW_OP_div", {0x0f, 5, 0x11, 0x00, 0x31, 0x1b, 0x96}, 7},
        {"DW_OP_skip back to itself", {0x0f, 3, 0x2f, 0xfd, 0xff}, 5},
        {"an unknown instruction", {0x3f}, 1},
    };
    struct fixture *f = *state;
    struct victim v;
    struct rf_images *images;
    struct rf_unwinder *u;
    struct rf_native_stack stack;
    uint64_t addr;
    make_victim(f, &v);
    off_t at = program_of(f, &v, "unwind_outer", &addr);
    struct rf_snapshot s = f->snapshot;
    s.reg[RF_RIP] = addr + v.to_mapped;
    open_victim(&v, &images, &u);
    rf_unwind(u, &s, &stack);
    assert_string_equal(stack.frame[0].fn.name, "unwind_outer");
    assert_int_not_equal(stack.end, RF_UNWIND_NO_CFI);
    rf_unwinder_close(u);
    rf_images_close(images);
    for (size_t i = 0; i < sizeof evil / sizeof *evil; i++) {
        assert_int_equal(pwrite(v.file, evil[i].code, evil[i].n, at), evil[i].n);
        open_victim(&v, &images, &u);
        rf_unwind(u, &s, &stack);
        if (stack.end != RF_UNWIND_NO_CFI || stack.n != 1)
            fail_msg("accepted: %s", evil[i].what);
        rf_unwinder_close(u);
        rf_images_close(images);
    }
    end_victim(&v);
}

static void corrupt_cfi_does_no_harm(void **state)
{
    struct fixture *f = *state;
    struct victim v;
    struct rf_images *images;
    struct rf_unwinder *u;
    struct rf_native_stack stack;
    unsigned random = 7, frames = 0;
    make_victim(f, &v);
    struct rf_snapshot s = f->snapshot;
    for (unsigned round = 0; round < 60; round++) {
        for (unsigned i = 0; i < 500 && round > 0; i++) {
            random = random * 1664525 + 1013904223;
            unsigned char c = (unsigned char)(random >> 8 & (random & 3 ? 0xff : 0x1f));
            off_t at = (off_t)(v.cfi.hdr + 12 + v.to_offset + (random >> 4) % (v.cfi.entries * 40));
            assert_int_equal(pwrite(v.file, &c, 1, at), 1);
        }
        open_victim(&v, &images, &u);
        for (unsigned i = 0; i < 200; i++) {
            random = random * 1664525 + 1013904223;
            s.reg[RF_RIP] = v.mapped + (random >> 4) % v.size;
            rf_unwind(u, &s, &stack);
            frames += (unsigned)stack.n;
        }
        rf_unwinder_close(u);
        rf_images_close(images);
    }
    assert_true(frames > 60 * 200);
    end_victim(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_stack_ends_at_the_root),
        cmocka_unit_test(caches_change_nothing),
        cmocka_unit_test(a_missing_page_truncates),
        cmocka_unit_test(a_short_copy_truncates),
        cmocka_unit_test(a_word_that_follows_no_call_is_no_return_address),
        cmocka_unit_test(a_pc_outside_every_file_has_no_cfi),
        cmocka_unit_test(real_cfi_is_sane),
        cmocka_unit_test(harmful_cfi_is_refused),
        cmocka_unit_test(corrupt_cfi_does_no_harm),
    };
    return cmocka_run_group_tests_name("unwind", tests, set_up, tear_down);
}
