/* derive.c: layouts from machine code. This program stands in for an engine: it has the functions that are looked at,
 * each as another compiler writes it, so that what is found depends on what they do and not on their bytes. */
#include "layout/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

__thread void *__VM __attribute__((used));
void *__RUNTIME;
unsigned char g_env[21512], g_sym[104], g_pool[216];
int ray_parallel_flag;
void *derive_test_dispatch[33] __asm__("vm_exec_rows.dispatch");

__asm__(
    ".pushsection .text\n"
    ".macro function name\n .globl \\name\n .type \\name, @function\n\\name:\n.endm\n"
    ".macro end name\n .size \\name, . - \\name\n.endm\n"
    /* gcc */
    "function ray_eval_get_nfo\n"
    "  sub $8, %rsp\n  mov %fs:0, %rax\n  lea __VM@tpoff(%rax), %rax\n  mov (%rax), %rax\n  test %rax, %rax\n  je 1f\n"
    "  mov 24(%rax), %rax\n1: add $8, %rsp\n  ret\n"
    "end ray_eval_get_nfo\n"
    /* -fcf-protection, the thread-local read directly, the other way round, a far field */
    "function ray_env_scope_depth\n"
    "  endbr64\n  mov %fs:__VM@tpoff, %r8\n  test %r8, %r8\n  jne 2f\n  xor %eax, %eax\n  ret\n"
    "2: mov 0x1234(%r8), %eax\n  ret\n"
    "end ray_env_scope_depth\n"
    /* clang -fPIC: the offset from a table, added */
    "function ray_ipc_current_handle\n"
    "  push %rax\n  mov __VM@gottpoff(%rip), %rcx\n  add %fs:0, %rcx\n  mov (%rcx), %rdx\n  test %rdx, %rdx\n  je 3f\n"
    "  mov 40(%rdx), %rax\n  pop %rcx\n  ret\n3: mov $-1, %rax\n  pop %rcx\n  ret\n"
    "end ray_ipc_current_handle\n"
    "function ray_alloc\n  xor %eax, %eax\n  ret\nend ray_alloc\n"
    "function other\n  ret\nend other\n"
    /* another call with a large constant comes first; something stands between the constant and the call */
    "function vm_exec_rows\n"
    "  mov $0x66b0, %edi\n  call other\n  mov $64, %edi\n  call ray_alloc\n  mov $0x66a0, %edi\n  mov %eax, 4(%rsp)\n"
    "  call ray_alloc\n  mov $0x66c0, %edi\n  call ray_alloc\n  ret\n"
    "end vm_exec_rows\n"
    "function ray_fn\n"
    "  mov $64, %edi\n  call ray_alloc\n  mov $80, %edi\n  call ray_alloc\n  mov $96, %edi\n  xor %edi, %edi\n  ret\n"
    "end ray_fn\n"
    "function worker_loop\n"
    "  mov (%rdi), %r13\n  lea 40(%r13), %rbx\n  mov (%rbx), %rax\n  mov 48(%r13), %rdx\n  lea 1(%rax), %rcx\n"
    "  lock cmpxchg %rcx, (%rbx)\n  ret\n"
    "end worker_loop\n"
    ".popsection\n");

static struct rf_image *image;

static int open_self(void **state)
{
    struct rf_error err;
    (void)state;
    return rf_image_open_file(&image, "/proc/self/exe", &err) == RF_OK ? 0 : -1;
}

static int close_self(void **state)
{
    (void)state;
    rf_image_close_file(image);
    return 0;
}

static const struct rf_layout_options code_alone = {.no_catalog = true, .no_debug_info = true};

/* Without a disassembler there is nothing to test but that it says so. */
static bool derived(struct rf_runtime *rt)
{
    struct rf_error err = {0};
    enum rf_status status = rf_layout_choose(rt, image, &code_alone, &err);
#ifdef RF_CAPSTONE
    if (status != RF_OK)
        fail_msg("%s\n%s", err.what, err.next);
    return true;
#else
    assert_int_equal(status, RF_TARGET);
    assert_non_null(strstr(err.next, "CAPSTONE=0"));
    return false;
#endif
}

static void all_of_it_is_found(void **state)
{
    struct rf_runtime rt;
    const struct rf_layout *l = &rt.layout;
    (void)state;
    if (!derived(&rt))
        return;
    assert_int_equal(l->origin, RF_ORIGIN_DERIVED);
    assert_string_equal(l->interpreter, "vm_exec_rows");
    assert_int_equal(l->opcodes, 33);
    assert_int_equal(l->exec_size, 0x66a0);
    assert_int_equal(l->exec_order, 15);
    assert_int_equal(l->exec_ps, 32);
    assert_int_equal(l->exec_rs, 9248);
    assert_int_equal(l->exec_tp, 24);
    assert_string_equal(l->vm_via, "runtime");
    assert_int_equal(l->vm_nfo, 24);
    assert_int_equal(l->vm_scope_depth, 0x1234);
    assert_int_equal(l->vm_ipc_handle, 40);
    assert_int_equal(l->lambda_slots, 10);
    assert_int_equal(l->pool_task_claim, 40);
    assert_int_equal(l->pool_task_limit, 48);
    assert_int_equal(l->size_g_env, 21512);
    assert_int_equal(rt.off, 0);
    assert_int_equal(rt.agreed, 0);
}

/* The size alone allows 16 slots of 32 bytes and 16 words more in front: which, running frames must tell. */
static void the_other_shape_is_kept(void **state)
{
    struct rf_runtime rt;
    (void)state;
    if (!derived(&rt))
        return;
    assert_int_equal(rt.n_stacks, 2);
    assert_int_equal(rt.stacks[0].ps, 32);
    assert_int_equal(rt.stacks[1].ps, 160);
    assert_int_equal(rt.stacks[1].rs, 9376);
}

/* What was written is read again, numbers that are not known included. */
static void text_goes_round(void **state)
{
    struct rf_runtime rt;
    struct rf_layout again, l;
    unsigned line;
    char *text = NULL;
    size_t n = 0;
    (void)state;
    if (!derived(&rt))
        return;
    l = rt.layout;
    l.pool_task_limit = l.vm_ipc_handle = RF_UNKNOWN;
    FILE *to = open_memstream(&text, &n);
    assert_non_null(to);
    rf_layout_write(&l, to);
    fclose(to);
    if (!rf_layout_parse(&again, text, &line))
        fail_msg("line %u of:\n%s", line, text);
    again.origin = l.origin;
    assert_memory_equal(&again, &l, sizeof l);
    free(text);
}

/* Numbers that decoders cannot do without cannot be unknown. */
static void some_must_be_known(void **state)
{
    struct rf_layout l;
    unsigned line;
    (void)state;
    assert_false(rf_layout_parse(&l, "exec.rs unknown\n", &line));
    assert_int_equal(line, 1);
    assert_false(rf_layout_parse(&l, "vm.nfo unknown\n", &line));
    assert_int_equal(line, 0); /* what is wrong then is that fields are missing */
}

static void what_is_off_is_named(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < RF_OFF_COUNT; bit++)
        assert_true(strlen(rf_off_name(bit)) > 0);
    struct rf_runtime rt = {.vm = 0x1000, .tls_size = 0x100};
    assert_int_equal(rf_vm_field(&rt, 0x9000, 16), 0x1010);
    assert_int_equal(rf_vm_field(&rt, 0x9000, RF_UNKNOWN), 0);
    rt.vm_in_tls = true;
    assert_int_equal(rf_vm_field(&rt, 0x9000, 16), 0x8f10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it_is_found),   cmocka_unit_test(the_other_shape_is_kept),
        cmocka_unit_test(text_goes_round),      cmocka_unit_test(some_must_be_known),
        cmocka_unit_test(what_is_off_is_named),
    };
    return cmocka_run_group_tests(tests, open_self, close_self);
}
