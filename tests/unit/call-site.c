/* call-site.c: which bytes before a return address are a call. */
#include "unwind/call_site.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct sample {
    const char *text;
    unsigned char bytes[10];
    size_t n;
};

static void calls_of_all_lengths(void **state)
{
    static const struct sample call[] = {
        {"call rel32", {0xe8, 0x12, 0x34, 0x56, 0x00}, 5},
        {"addr32 call rel32", {0x67, 0xe8, 0x12, 0x34, 0x56, 0x00}, 6},
        {"call *%rax", {0xff, 0xd0}, 2},
        {"call *%r12", {0x41, 0xff, 0xd4}, 3},
        {"notrack call *%rdx", {0x3e, 0xff, 0xd2}, 3},
        {"call *(%rbx)", {0xff, 0x13}, 2},
        {"call *(%r12)", {0x41, 0xff, 0x14, 0x24}, 4},
        {"call *(%rax,%rcx,8)", {0xff, 0x14, 0xc8}, 3},
        {"call *0x18(%rax)", {0xff, 0x50, 0x18}, 3},
        {"call *0x18(%rsp)", {0xff, 0x54, 0x24, 0x18}, 4},
        {"call *0x2000(%rax)", {0xff, 0x90, 0x00, 0x20, 0x00, 0x00}, 6},
        {"call *0x2000(%rsp)", {0xff, 0x94, 0x24, 0x00, 0x20, 0x00, 0x00}, 7},
        {"call *table(,%rax,8)", {0xff, 0x14, 0xc5, 0x00, 0x10, 0x40, 0x00}, 7},
        {"call *got(%rip)", {0xff, 0x15, 0x10, 0x20, 0x30, 0x00}, 6},
    };
    (void)state;
    for (size_t i = 0; i < sizeof call / sizeof *call; i++) {
        /* Behind seven bytes of something else, as in a program; and alone, as at the beginning of one. */
        unsigned char bytes[7 + sizeof call->bytes];
        memset(bytes, 0x90, sizeof bytes);
        memcpy(bytes + 7, call[i].bytes, call[i].n);
        if (!rf_ends_with_call(bytes, 7 + call[i].n) || !rf_ends_with_call(call[i].bytes, call[i].n))
            fail_msg("not recognised: %s", call[i].text);
    }
}

static void what_is_no_call(void **state)
{
    static const struct sample other[] = {
        {"nops", {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}, 7},
        {"jmp rel32", {0x90, 0x90, 0xe9, 0x12, 0x34, 0x56, 0x00}, 7},
        {"jmp *%rax", {0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0}, 7},
        {"push *(%rax)", {0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x30}, 7},
        {"jmp *got(%rip)", {0x90, 0xff, 0x25, 0x10, 0x20, 0x30, 0x00}, 7},
        {"mov %rax,%rbx; ret", {0x90, 0x90, 0x90, 0x48, 0x89, 0xc3, 0xc3}, 7},
        {"call *%rax, one byte too far", {0x90, 0x90, 0x90, 0x90, 0xff, 0xd0, 0x90}, 7},
        {"call rel32 in a window cut short", {0x12, 0x34, 0x56, 0x00}, 4},
        {"ff alone", {0xff}, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        if (rf_ends_with_call(other[i].bytes, other[i].n))
            fail_msg("taken for a call: %s", other[i].text);
    }
    assert_false(rf_ends_with_call(other[0].bytes, 0));
}

static void the_signal_trampoline(void **state)
{
    static const unsigned char code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    unsigned char other[sizeof code];
    (void)state;
    assert_true(rf_is_sigreturn(code, sizeof code));
    assert_false(rf_is_sigreturn(code, sizeof code - 1));
    memcpy(other, code, sizeof code);
    other[3] = 0x0e;
    assert_false(rf_is_sigreturn(other, sizeof other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_all_lengths),
        cmocka_unit_test(what_is_no_call),
        cmocka_unit_test(the_signal_trampoline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
