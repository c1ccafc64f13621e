/* Format speedscope: stacks in their order, by thread, with what they weigh. */
#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct rf_text text(const char *s)
{
    return (struct rf_text){s, strlen(s)};
}

static void sample(struct rf_profile *p, const char *thread, const struct rf_frame *f, size_t n, uint64_t time_ns,
                   uint64_t ns)
{
    struct rf_frame root = {.kind = RF_KIND_THREAD, .file = {"", 0}, .fn = text(thread), .named = true};
    uint32_t node = rf_profile_place(p, rf_profile_place(p, 0, &root, 1), f, n);
    rf_profile_charge(p, node, 1, (struct rf_charge){.weight_ns = ns});
    if (rf_profile_log(p))
        rf_log_add(rf_profile_log(p), (struct rf_event){.time_ns = time_ns, .weight_ns = ns, .node = node, .tid = 1});
}

/* a, b, b on one thread and a, not in that order, on another. */
static void fill(struct rf_profile *p)
{
    struct rf_frame a = {.file = text("x.rfl"), .fn = text("f\n\xff\""), .line = 3, .named = true},
                    b[] = {a, {.file = text("x.rfl"), .fn = text("g"), .line = 9, .col = 4, .named = true}};
    sample(p, "main", b, 2, 30, 200);
    sample(p, "main", &a, 1, 10, 1000);
    sample(p, "worker-1", &a, 1, 20, 50);
    sample(p, "main", b, 2, 40, 300);
    sample(p, "main", &a, 1, 50, 7);
}

static void expect(const struct rf_profile *p, struct rf_render how, const char *profiles)
{
    char *bytes, expected[2000];
    size_t n;
    struct rf_about about = {.pid = 7, .command = "ray x"};
    const struct rf_format *f = rf_formats();
    while (strcmp(f->name, "speedscope"))
        f++;
    how.about = &about;
    FILE *to = open_memstream(&bytes, &n);
    assert_int_equal(f->write(p, &how, to, NULL), RF_OK);
    fclose(to);
    snprintf(expected, sizeof expected,
             "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"rfprof\","
             "\"name\":\"ray x, pid 7\",\n\"shared\":{\"frames\":["
             "{\"name\":\"f\\\\x0a\\\\xff\\\"\",\"file\":\"x.rfl\",\"line\":3},\n"
             "{\"name\":\"g\",\"file\":\"x.rfl\",\"line\":9}]},\n\"profiles\":[%s]}\n",
             profiles);
    assert_string_equal(bytes, expected);
    free(bytes);
}

#define PROFILE "{\"type\":\"sampled\",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":"

static void in_the_order_of_time(void **state)
{
    (void)state;
    struct rf_tids *tids = rf_tids_new(1);
    struct rf_profile *p = rf_profile_new();
    assert_true(rf_profile_keep_log(p, tids));
    fill(p);
    /* what follows itself is one */
    expect(p, (struct rf_render){0},
           PROFILE "1557,\"name\":\"ray x, pid 7\",\n\"samples\":[[0],\n[0,1],\n[0]],\n\"weights\":[1050,\n500,\n7]}");
    expect(p, (struct rf_render){.threads = true},
           PROFILE "1507,\"name\":\"main\",\n\"samples\":[[0],\n[0,1],\n[0]],\n\"weights\":[1000,\n500,\n7]},\n" //
           PROFILE "50,\"name\":\"worker-1\",\n\"samples\":[[0]],\n\"weights\":[50]}");
    rf_profile_free(p);
    rf_tids_free(tids);
}

static void each_stack_once_without_times(void **state)
{
    (void)state;
    struct rf_profile *p = rf_profile_new();
    fill(p);
    expect(p, (struct rf_render){.threads = true},
           PROFILE "1507,\"name\":\"main\",\n\"samples\":[[0],\n[0,1]],\n\"weights\":[1007,\n500]},\n" //
           PROFILE "50,\"name\":\"worker-1\",\n\"samples\":[[0]],\n\"weights\":[50]}");
    rf_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_the_order_of_time),
        cmocka_unit_test(each_stack_once_without_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
