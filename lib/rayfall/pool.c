/* pool.c: windows and roles. */
#include "pool.h"

struct rf_window rf_window_of(const struct rf_runtime *rt, const struct rf_snapshot *s)
{
    struct rf_window w = {0};
    int32_t flag = 0;
    w.open = rf_read_i32(&s->memory, rt->parallel_flag, &flag) && flag != 0;
    if (rt->layout.pool_task_limit >= 0)
        rf_read_u64(&s->memory, rt->g_pool + (uint64_t)rt->layout.pool_task_limit, &w.tasks);
    return w;
}

bool rf_window_same(const struct rf_window *a, const struct rf_window *b)
{
    return a->open && b->open && a->tasks == b->tasks;
}

/* The pool's own functions: inside of them stands the task, outside the dispatcher. Inlined ones are missing. */
static bool runs_tasks(const char *name)
{
    static const char *const own[] = {"worker_loop",         "pool_run_steal",     "pool_exec",
                                      "pool_main_run_steal", "pool_run_window",    "pool_dispatch_at",
                                      "ray_pool_dispatch",   "ray_pool_dispatch_n"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (rf_symbol_is(name, own[i]))
            return true;
    return false;
}

static size_t innermost_own(const struct rf_native_stack *native)
{
    size_t n = 0;
    while (n < native->n && !runs_tasks(native->frame[n].fn.name))
        n++;
    return n;
}

uint64_t rf_task_of(const struct rf_native_stack *native)
{
    size_t own = innermost_own(native);
    return own > 0 && own < native->n ? native->frame[own - 1].fn.addr : 0;
}

uint64_t rf_dispatcher_of(const struct rf_native_stack *native)
{
    size_t i = innermost_own(native);
    while (i < native->n && runs_tasks(native->frame[i].fn.name))
        i++;
    return i < native->n ? native->frame[i].fn.addr : 0;
}

size_t rf_task_frames(const struct rf_native_stack *native)
{
    size_t n = 0;
    while (n < native->n && !runs_tasks(native->frame[n].fn.name))
        if (rf_symbol_is(native->frame[n++].fn.name, "pq_symflush_fn"))
            break;
    return n ? n : native->n > 0;
}

/* Threads of the pool are inside worker_loop for all their life. Directly above it stands the task, or on some releases
 * pool_run_steal or pool_exec and then the task. */
enum rf_role rf_role_of(const struct rf_native_stack *native, const struct rf_image *runtime)
{
    size_t loop = 0;
    while (loop < native->n) {
        const struct rf_native *f = &native->frame[loop];
        if (f->image == runtime && rf_symbol_is(f->fn.name, "pq_symflush_fn"))
            return RF_WRITER;
        if (f->image == runtime && rf_symbol_is(f->fn.name, "worker_loop"))
            break;
        loop++;
    }
    if (loop == native->n)
        return RF_OTHER_THREAD;
    for (size_t i = loop; i-- > 0;) {
        const char *name = native->frame[i].fn.name;
        if (rf_symbol_is(name, "pool_run_steal") || rf_symbol_is(name, "pool_exec"))
            continue;
        return rf_symbol_is(name, "ray_sem_wait") || (name && strncmp(name, "sem_", 4) == 0) ? RF_WORKER_IDLE
                                                                                             : RF_WORKER_BUSY;
    }
    return RF_WORKER_IDLE;
}
