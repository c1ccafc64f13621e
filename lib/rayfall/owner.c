/* owner.c: the thread with the VM. */
#include "owner.h"

bool rf_owns_vm(struct rf_owner *o, const struct rf_runtime *rt, const struct rf_memory *live,
                const struct rf_snapshot *s)
{
    uint64_t vm;
    if (o->tid == s->tid)
        return true;
    if (rt->vm_in_tls || !rf_thread_vm(rt, live, s->fs_base, &vm))
        return o->tid == 0 && s->main_thread;
    if (vm == 0 || vm != rt->vm)
        return false;
    o->tid = s->tid; /* the first one, or it was handed over */
    return true;
}
