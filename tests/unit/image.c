/* image.c: the ELF files of a live process (a child that waits, so it has our addresses): bias, build-id, symbols,
 * bytes; a deleted executable; and what corrupt files do, which is nothing. */
#include "image/image.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

int image_test_data = 4711; /* looked for by name */
_Thread_local int image_test_tls = 3;
int image_test_function(int x);

__attribute__((noinline)) int image_test_function(int x)
{
    return x * image_test_data + image_test_tls;
}

struct fixture {
    pid_t child;
    struct rf_process *process;
    struct rf_images *images;
};

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static int open_child(void **state)
{
    static struct fixture f;
    struct rf_error err = {0};
    f.child = fork();
    if (f.child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when a test crashes */
        for (;;)
            pause();
    }
    if (f.child < 0 || rf_process_open(&f.process, f.child, &err) != RF_OK ||
        rf_images_open(&f.images, f.process, &err) != RF_OK) {
        print_error("%s\n", err.what);
        return -1;
    }
    *state = &f;
    return 0;
}

static int close_child(void **state)
{
    struct fixture *f = *state;
    rf_images_close(f->images);
    rf_process_close(f->process);
    end_child(f->child);
    return 0;
}

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

/* An ISO C way from a function to its address. */
static uint64_t code_address(void)
{
    int (*f)(int) = image_test_function;
    uint64_t at;
    memcpy(&at, &f, sizeof at);
    return at;
}

static void symbols_are_where_we_see_them(void **state)
{
    struct fixture *f = *state;
    struct rf_symbol s;
    const struct rf_image *image = rf_images_at(f->images, code_address());
    assert_non_null(image);
    assert_true(rf_image_has_symtab(image));
    assert_true(rf_image_find(image, "image_test_function", &s));
    assert_int_equal(s.addr, code_address());
    assert_int_equal(s.type, STT_FUNC);
    assert_true(rf_image_find(image, "image_test_data", &s));
    assert_int_equal(s.addr, address(&image_test_data));
    assert_int_equal(s.size, sizeof image_test_data);
    assert_true(rf_image_find(image, "image_test_tls", &s));
    assert_int_equal(s.type, STT_TLS);
    uint64_t size, align;
    assert_true(rf_image_tls(image, &size, &align));
    assert_true(s.addr < size);
    assert_false(rf_image_find(image, "image_test_", &s));
    assert_true(rf_image_find_base(image, "image_test_function", STT_FUNC, &s));
    assert_false(rf_image_find_base(image, "image_test_function", STT_OBJECT, &s));
}

static void a_function_is_found_by_any_address_in_it(void **state)
{
    struct fixture *f = *state;
    struct rf_symbol s, at;
    const struct rf_image *image = rf_images_at(f->images, code_address());
    assert_true(rf_image_find(image, "image_test_function", &s));
    assert_true(rf_image_function_at(image, s.addr, &at));
    assert_string_equal(at.name, "image_test_function");
    assert_true(rf_image_function_at(image, s.addr + s.size - 1, &at));
    assert_string_equal(at.name, "image_test_function");
    if (rf_image_function_at(image, s.addr + s.size, &at))
        assert_string_not_equal(at.name, "image_test_function");
    assert_false(rf_image_function_at(image, 16, &at));
}

static void libc_has_symbols_too(void **state)
{
    struct fixture *f = *state;
    void *known = dlsym(RTLD_DEFAULT, "qsort");
    struct rf_symbol s;
    assert_non_null(known);
    const struct rf_image *image = rf_images_at(f->images, address(known));
    assert_non_null(image);
    /* Under a sanitizer the first qsort is its own. */
    assert_true(rf_image_function_at(image, address(known), &s));
    assert_int_equal(s.addr, address(known));
}

static void bytes_are_those_in_memory(void **state)
{
    struct fixture *f = *state;
    const struct rf_image *image = rf_images_at(f->images, code_address());
    unsigned char ours[64], file[64];
    struct rf_cfi cfi;
    assert_true(rf_read(&f->process->memory, code_address(), ours, sizeof ours));
    assert_true(rf_image_read(image, code_address(), file, sizeof file));
    assert_memory_equal(ours, file, sizeof ours);
    assert_true(rf_image_cfi(image, &cfi));
    assert_true(code_address() >= cfi.start && code_address() < cfi.end);
    /* Across pages of the cache, then to the very end of what is loaded there and one byte more. */
    unsigned char *all = malloc(8 * cfi.entries), *memory = malloc(8 * cfi.entries);
    assert_true(rf_image_read(image, cfi.table, all, 8 * cfi.entries));
    assert_true(rf_read(&f->process->memory, cfi.table, memory, 8 * cfi.entries));
    assert_memory_equal(all, memory, 8 * cfi.entries);
    free(all);
    free(memory);
    assert_false(rf_image_read(image, 16, file, 1));
    assert_false(rf_image_read(image, UINT64_MAX - 3, file, sizeof file));
}

static void the_build_id_is_what_readelf_says(void **state)
{
    struct fixture *f = *state;
    char line[512], id[129] = "";
    const struct rf_image *image = rf_images_at(f->images, code_address());
    snprintf(line, sizeof line, "readelf -n /proc/%d/exe 2>/dev/null", (int)f->child);
    FILE *in = popen(line, "r");
    assert_non_null(in);
    while (fgets(line, sizeof line, in))
        sscanf(line, " Build ID: %128[0-9a-f]", id);
    pclose(in);
    assert_string_equal(rf_image_build_id(image), id);
}

static void the_vdso_is_an_image(void **state)
{
    struct fixture *f = *state;
    struct rf_symbol s;
    const struct rf_image *vdso = NULL;
    for (size_t i = 0; i < rf_images_count(f->images); i++) {
        if (strcmp(rf_image_path(rf_images_get(f->images, i)), "[vdso]") == 0)
            vdso = rf_images_get(f->images, i);
    }
    assert_non_null(vdso);
    assert_true(rf_image_find(vdso, "__vdso_clock_gettime", &s));
    assert_ptr_equal(rf_images_at(f->images, s.addr), vdso);
}

static void nothing_changes_while_nothing_is_mapped(void **state)
{
    struct fixture *f = *state;
    size_t n = rf_images_count(f->images);
    assert_false(rf_images_refresh(f->images));
    assert_int_equal(rf_images_count(f->images), n);
}

/* --- files that are gone or wrong ---------------------------------------------------------------------------- */

static char *copy_of_ourselves(char *path)
{
    char buffer[65536];
    ssize_t n;
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = mkstemp(path);
    assert_true(from >= 0 && to >= 0);
    while ((n = read(from, buffer, sizeof buffer)) > 0)
        assert_int_equal(write(to, buffer, (size_t)n), n);
    fchmod(to, 0700);
    close(from);
    close(to);
    return path;
}

static char *temporary(char *to, size_t n)
{
    const char *dir = getenv("TMPDIR");
    snprintf(to, n, "%s/rfprof-image-XXXXXX", dir ? dir : "/tmp");
    return to;
}

/* The executable is replaced by another file of the same name while it runs, as an upgrade does. */
static void a_deleted_executable_is_still_read(void **state)
{
    char path[256];
    int ready[2];
    char byte;
    struct rf_process *process;
    struct rf_images *images;
    struct rf_error err = {0};
    struct rf_symbol s;
    (void)state;
    copy_of_ourselves(temporary(path, sizeof path));
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ready[1], 1);
        close(ready[0]);
        close(ready[1]);
        execl(path, path, "wait", (char *)NULL);
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    unlink(path);
    FILE *other = fopen(path, "w");
    assert_non_null(other);
    fputs("something else\n", other);
    fclose(other);
    assert_int_equal(rf_process_open(&process, pid, &err), RF_OK);
    assert_int_equal(rf_images_open(&images, process, &err), RF_OK);
    const struct rf_image *exe = NULL;
    for (size_t i = 0; i < rf_images_count(images); i++) {
        if (strcmp(rf_image_path(rf_images_get(images, i)), path) == 0)
            exe = rf_images_get(images, i);
    }
    assert_non_null(exe);
    assert_true(rf_image_find(exe, "image_test_function", &s));
    rf_images_close(images);
    rf_process_close(process);
    end_child(pid);
    unlink(path);
}

static void other_files_are_refused(void **state)
{
    struct rf_image *image;
    struct rf_error err = {0};
    (void)state;
    assert_int_equal(rf_image_open_file(&image, "/nonexistent/file", &err), RF_FAILURE);
    assert_int_equal(err.errnum, ENOENT);
    assert_int_equal(rf_image_open_file(&image, "/etc/passwd", &err), RF_FAILURE);
    assert_int_equal(rf_image_open_file(&image, "/dev/zero", &err), RF_FAILURE);
    assert_int_equal(rf_image_open_file(&image, "/", &err), RF_FAILURE);
    assert_null(image);
}

static bool count_symbol(void *ctx, const struct rf_symbol *s)
{
    size_t *n = ctx;
    *n += 1 + strlen(s->name) % 2;
    return true;
}

static void ask_everything(const char *path)
{
    struct rf_image *image;
    struct rf_symbol s;
    struct rf_cfi cfi;
    uint64_t size, align;
    size_t n = 0;
    unsigned char bytes[100];
    if (rf_image_open_file(&image, path, NULL) != RF_OK)
        return;
    rf_image_each_symbol(image, count_symbol, &n);
    rf_image_find(image, "image_test_function", &s);
    rf_image_find_base(image, "main", STT_NOTYPE, &s);
    for (uint64_t at = 0; at < 0x20000; at += 0x333) {
        rf_image_function_at(image, at, &s);
        rf_image_read(image, at, bytes, sizeof bytes);
    }
    rf_image_read(image, UINT64_MAX - 50, bytes, sizeof bytes);
    if (rf_image_cfi(image, &cfi))
        rf_image_read(image, cfi.table + 8 * (cfi.entries - 1), bytes, 8);
    rf_image_tls(image, &size, &align);
    assert_true(strlen(rf_image_build_id(image)) <= 128);
    assert_true(strlen(rf_image_comment(image)) < 128);
    rf_image_close_file(image);
}

static void corrupt_files_do_no_harm(void **state)
{
    char path[256];
    struct stat st;
    Elf64_Ehdr ehdr;
    unsigned random = 1;
    (void)state;
    int fd = open(copy_of_ourselves(temporary(path, sizeof path)), O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    assert_int_equal(pread(fd, &ehdr, sizeof ehdr, 0), sizeof ehdr);
    const off_t region[][2] = {
        {0, sizeof ehdr},
        {(off_t)ehdr.e_phoff, ehdr.e_phnum * ehdr.e_phentsize},
        {(off_t)ehdr.e_shoff, ehdr.e_shnum * ehdr.e_shentsize},
        {0, st.st_size},
    };
    for (unsigned round = 0; round < 400; round++) {
        const off_t *where = region[round % 4];
        off_t at[8];
        unsigned char was[8];
        for (unsigned i = 0; i < 8; i++) {
            random = random * 1664525 + 1013904223;
            at[i] = where[0] + (off_t)(random >> 4) % where[1];
            unsigned char now = random & 1 ? 0xff : (unsigned char)(random >> 8);
            assert_int_equal(pread(fd, &was[i], 1, at[i]), 1);
            assert_int_equal(pwrite(fd, &now, 1, at[i]), 1);
        }
        ask_everything(path);
        for (unsigned i = 8; i-- > 0;)
            assert_int_equal(pwrite(fd, &was[i], 1, at[i]), 1);
    }
    for (off_t size = st.st_size; size > 0; size = size * 3 / 4 - 7) {
        assert_int_equal(ftruncate(fd, size), 0);
        ask_everything(path);
    }
    close(fd);
    unlink(path);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "wait") == 0) {
        if (write(1, "\n", 1) != 1)
            return 1;
        for (;;)
            pause();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbols_are_where_we_see_them),
        cmocka_unit_test(a_function_is_found_by_any_address_in_it),
        cmocka_unit_test(libc_has_symbols_too),
        cmocka_unit_test(bytes_are_those_in_memory),
        cmocka_unit_test(the_build_id_is_what_readelf_says),
        cmocka_unit_test(the_vdso_is_an_image),
        cmocka_unit_test(nothing_changes_while_nothing_is_mapped),
        cmocka_unit_test(a_deleted_executable_is_still_read),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(corrupt_files_do_no_harm),
    };
    return cmocka_run_group_tests_name("image", tests, open_child, close_child);
}
