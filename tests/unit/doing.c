/* doing.c: names for what the runtime does. */
#include "rayfall/doing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct rf_image *const runtime = (const struct rf_image *)&runtime; /* its address is what counts */

static void expect(const char *leaf, const char *of_runtime, const char *outer, const char *shown)
{
    struct rf_native frame[] = {
        {.fn.name = leaf}, {.fn.name = of_runtime, .image = runtime}, {.fn.name = outer, .image = runtime}};
    struct rf_text got = rf_doing(runtime, &(struct rf_native_stack){frame, 3, RF_UNWIND_ROOT});
    assert_int_equal(got.n, strlen(shown));
    assert_memory_equal(got.s, shown, got.n);
}

static void the_innermost_function_says_it(void **state)
{
    (void)state;
    expect("recv", "ray_sock_recv", "ray_poll_run", "<ipc read>");
    expect("recv", "ipc_recv_fn", "ray_poll_run", "<ipc read>");
    expect("send", "ray_sock_send", "ipc_read_payload", "<ipc write>");
    expect("memcpy", "parse_expr", "ipc_read_payload", "<parse>");
    expect("sched_yield", "worker_loop", NULL, "<pool idle>");
}

static void else_the_c_function(void **state)
{
    (void)state;
    expect("epoll_wait", "ray_poll_run", "main", "epoll_wait");
    expect("ray_sock_recv", "ray_poll_run", "main", "ray_sock_recv"); /* of another program */
    expect(NULL, "group_by", "main", "group_by");
    expect(NULL, NULL, NULL, "<unwind>");
    expect("memcpy", "ray_lazy_materialize", "ipc_read_payload", "memcpy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_innermost_function_says_it),
                                       cmocka_unit_test(else_the_c_function)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
