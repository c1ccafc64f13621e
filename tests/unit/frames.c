/* frames.c: the search table that is made of .eh_frame says what the linker's own says; damaged frames do no harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "image/elf_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct entry {
    int32_t function, fde;
};

static struct entry entry_at(const struct rf_image *image, const struct rf_cfi *cfi, uint64_t i)
{
    struct entry e = {0, 0};
    assert_true(rf_image_read(image, cfi->table + i * sizeof e, &e, sizeof e));
    return e;
}

static void is_the_linkers(void **state)
{
    struct rf_image *image;
    struct rf_cfi own, made = {.entries = 0};
    (void)state;
    assert_int_equal(rf_image_open_file(&image, "/proc/self/exe", NULL), RF_OK);
    assert_true(rf_image_cfi(image, &own));
    rf_elf_make_cfi(image, &made);
    assert_true(own.entries > 10);
    assert_int_equal(made.entries, own.entries);
    assert_int_equal(made.table % 8, 0);
    for (uint64_t i = 0; i < own.entries; i++) {
        struct entry a = entry_at(image, &own, i), b = entry_at(image, &made, i);
        assert_int_equal(own.hdr + (uint64_t)(int64_t)a.function, made.hdr + (uint64_t)(int64_t)b.function);
        assert_int_equal(own.hdr + (uint64_t)(int64_t)a.fde, made.hdr + (uint64_t)(int64_t)b.fde);
    }
    struct entry e;
    assert_false(rf_image_read(image, made.table + made.entries * sizeof e, &e, sizeof e));
    assert_false(rf_image_read(image, made.table + made.entries * sizeof e - 4, &e, sizeof e));
    rf_image_close_file(image);
}

static unsigned char *read_whole(const char *path, size_t *n)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    *n = (size_t)st.st_size;
    unsigned char *bytes = malloc(*n);
    assert_non_null(bytes);
    for (size_t at = 0; at < *n;) {
        ssize_t got = read(fd, bytes + at, *n - at);
        assert_true(got > 0);
        at += (size_t)got;
    }
    close(fd);
    return bytes;
}

static void damaged_frames_do_no_harm(void **state)
{
    size_t n;
    unsigned char *whole = read_whole("/proc/self/exe", &n);
    unsigned random = 7;
    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        struct rf_image *image;
        struct rf_cfi made = {.entries = 0};
        unsigned char *copy = malloc(n);
        assert_non_null(copy);
        memcpy(copy, whole, n);
        assert_int_equal(rf_elf_load(&image, "copy", -1, copy, n, NULL), RF_OK);
        struct rf_section *s = &image->eh_frame; /* at the same offset as its address, or only few bytes are hit */
        assert_true(s->size > 0);
        for (unsigned i = 0; i < 20; i++) {
            random = random * 1664525 + 1013904223;
            size_t at = (size_t)(s->off + (random >> 4) % s->size);
            if (at < n)
                copy[at] = (unsigned char)(random & 1 ? 0xff : random >> 8);
        }
        rf_elf_make_cfi(image, &made);
        for (uint64_t i = 0; i < made.entries; i++)
            entry_at(image, &made, i);
        rf_image_close_file(image);
    }
    free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_the_linkers),
        cmocka_unit_test(damaged_frames_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
