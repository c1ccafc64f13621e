/* view-kinds.c: which views show C functions, the interpreter's own and builtins; tables by builtin. */
#include "profile/profile.h"
#include "report/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct rf_frame frame(enum rf_kind kind, const char *file, uint32_t line, const char *fn)
{
    return (struct rf_frame){
        .kind = kind, .file = {file, strlen(file)}, .fn = {fn, strlen(fn)}, .line = line, .named = true};
}

static void add(struct rf_profile *p, const struct rf_frame *f, size_t n, uint64_t ns)
{
    uint32_t node = rf_profile_place(p, 0, f, n);
    assert_int_not_equal(node, UINT32_MAX);
    rf_profile_charge(p, node, 1, (struct rf_charge){.weight_ns = ns});
}

/* main -> interpreter -> (a.rfl:3 f) -> map -> C -> interpreter -> (a.rfl:5 g) -> med -> C; and f alone. The name of
 * the C function of map is one that a Rayfall function in a file of that name has, too. */
static struct rf_profile *merged(void)
{
    struct rf_profile *p = rf_profile_new();
    struct rf_frame run = frame(RF_KIND_NATIVE, "main.c", 9, "main"),
                    vm = frame(RF_KIND_INTERPRETER, "rayforce", 0, "vm_exec"),
                    f = frame(RF_KIND_RAYFALL, "a.rfl", 3, "f"), map = frame(RF_KIND_BUILTIN, "", 0, "map"),
                    ray_map = frame(RF_KIND_NATIVE, "map.c", 41, "ray_map_fn"),
                    g = frame(RF_KIND_RAYFALL, "a.rfl", 5, "g"), med = frame(RF_KIND_BUILTIN, "", 0, "med"),
                    ray_med = frame(RF_KIND_NATIVE, "rayforce", 0, "ray_med_fn"),
                    twin = frame(RF_KIND_RAYFALL, "rayforce", 0, "ray_med_fn");
    struct rf_frame deep[] = {run, vm, f, map, ray_map, vm, g, med, ray_med}, flat[] = {run, vm, f},
                    nested[] = {run, vm, f, med, map, med, ray_med}, other[] = {run, vm, twin};
    add(p, deep, 9, 4000000);
    add(p, flat, 3, 1000000);
    add(p, nested, 7, 500000);
    add(p, other, 3, 250000);
    return p;
}

static void expect(const struct rf_profile *p, const char *format, struct rf_render how, const char *shown)
{
    char *got;
    size_t n;
    struct rf_error err;
    FILE *to = open_memstream(&got, &n);
    const struct rf_format *f = rf_formats();
    while (strcmp(f->name, format))
        f++;
    assert_int_equal(f->write(p, &how, to, &err), RF_OK);
    fclose(to);
    assert_string_equal(got, shown);
    free(got);
}

#define HEADER "file\tline\tfn\tself_ms\ttotal_ms\tsamples\n"

static void without_n_only_rayfall_is_shown(void **state)
{
    (void)state;
    struct rf_profile *p = merged();
    expect(p, "folded", (struct rf_render){0}, "f (a.rfl:3) 2\nf (a.rfl:3);g (a.rfl:5) 1\nray_med_fn (rayforce) 1\n");
    expect(p, "tsv", (struct rf_render){0},
           HEADER "a.rfl\t5\tg\t4.000\t4.000\t1\n"
                  "a.rfl\t3\tf\t1.500\t5.500\t3\n"
                  "rayforce\t0\tray_med_fn\t0.250\t0.250\t1\n");
    rf_profile_free(p);
}

static void with_n_c_functions_stand_between(void **state)
{
    (void)state;
    struct rf_profile *p = merged();
    expect(p, "folded", (struct rf_render){.native = true},
           "main (main.c:9);f (a.rfl:3) 1\n"
           "main (main.c:9);f (a.rfl:3);ray_map_fn (map.c:41);g (a.rfl:5);ray_med_fn (rayforce) 1\n"
           "main (main.c:9);f (a.rfl:3);ray_med_fn (rayforce) 1\n"
           "main (main.c:9);ray_med_fn (rayforce) 1\n");
    expect(p, "folded", (struct rf_render){.native = true, .view = RF_VIEW_FN},
           "main (main.c);f (a.rfl) 1\n"
           "main (main.c);f (a.rfl);ray_map_fn (map.c);g (a.rfl);ray_med_fn (rayforce) 1\n"
           "main (main.c);f (a.rfl);ray_med_fn (rayforce) 1\n"
           "main (main.c);ray_med_fn (rayforce) 1\n");
    /* a function of the language and a C function of that name are two rows */
    expect(p, "tsv", (struct rf_render){.native = true},
           HEADER "rayforce\t0\tray_med_fn\t4.500\t4.500\t2\n"
                  "a.rfl\t3\tf\t1.000\t5.500\t3\n"
                  "rayforce\t0\tray_med_fn\t0.250\t0.250\t1\n"
                  "a.rfl\t5\tg\t0.000\t4.000\t1\n"
                  "main.c\t9\tmain\t0.000\t5.750\t4\n"
                  "map.c\t41\tray_map_fn\t0.000\t4.000\t1\n");
    /* paths are not resolved: the target's folder is not where its C sources are */
    expect(p, "tsv", (struct rf_render){.native = true, .folder = "/d", .view = RF_VIEW_FILE},
           HEADER "rayforce\t0\t\t4.500\t4.500\t2\n"
                  "/d/a.rfl\t0\t\t1.000\t5.500\t3\n"
                  "/d/rayforce\t0\t\t0.250\t0.250\t1\n"
                  "main.c\t0\t\t0.000\t5.750\t4\n"
                  "map.c\t0\t\t0.000\t4.000\t1\n");
    rf_profile_free(p);
}

static void by_native_has_all_the_time_and_no_lines(void **state)
{
    (void)state;
    struct rf_profile *p = merged();
    expect(p, "tsv", (struct rf_render){.view = RF_VIEW_NATIVE},
           HEADER "rayforce\t0\tray_med_fn\t4.500\t4.500\t2\n"
                  "rayforce\t0\tvm_exec\t1.250\t5.750\t4\n"
                  "main.c\t0\tmain\t0.000\t5.750\t4\n"
                  "map.c\t0\tray_map_fn\t0.000\t4.000\t1\n");
    rf_profile_free(p);
}

static void builtins_count_what_they_call_once(void **state)
{
    (void)state;
    struct rf_profile *p = merged();
    /* equal times are in the order of the names; a builtin that is in progress twice counts once */
    expect(p, "tsv", (struct rf_render){.view = RF_VIEW_BUILTIN},
           "name\ttotal_ms\tcalls\tavg_ms\nmap\t4.500\t\t\nmed\t4.500\t\t\n");
    expect(p, "folded", (struct rf_render){.view = RF_VIEW_BUILTIN}, "map;med 1\nmed;map;med 1\n");
    /* threads are no builtins, though they are roots of stacks */
    struct rf_frame worker[] = {frame(RF_KIND_THREAD, "", 0, "worker-1"), frame(RF_KIND_BUILTIN, "", 0, "asc")};
    add(p, worker, 2, 125000);
    expect(p, "tsv", (struct rf_render){.view = RF_VIEW_BUILTIN, .threads = true},
           "name\ttotal_ms\tcalls\tavg_ms\nmap\t4.500\t\t\nmed\t4.500\t\t\nasc\t0.125\t\t\n");
    expect(p, "folded", (struct rf_render){.view = RF_VIEW_BUILTIN, .threads = true},
           "map;med 1\nmed;map;med 1\nworker-1;asc 1\n");
    char table[256];
    snprintf(table, sizeof table,
             " total   total ms  builtin\n"
             " 76.6%%        4.5  map\n"
             "2 more rows: -f tsv writes all\n%s\n",
             rf_builtin_note());
    expect(p, "table", (struct rf_render){.view = RF_VIEW_BUILTIN, .rows = 1}, table);
    rf_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_n_only_rayfall_is_shown),
        cmocka_unit_test(with_n_c_functions_stand_between),
        cmocka_unit_test(by_native_has_all_the_time_and_no_lines),
        cmocka_unit_test(builtins_count_what_they_call_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
