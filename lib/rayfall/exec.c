/* exec.c: reads execution blocks. */
#include "exec.h"

bool rf_exec_read(const struct rf_memory *m, const struct rf_layout *l, uint64_t addr, struct rf_exec *out)
{
    unsigned char h[RAY_HEADER];
    int32_t tp;
    if (!rf_exec_word(l, addr) || !rf_read(m, addr - RAY_HEADER, h, sizeof h) || h[RAY_ORDER] != l->exec_order)
        return false;
    out->addr = addr;
    if (!rf_read_i32(m, addr + (uint64_t)l->exec_sp, &out->sp) ||
        !rf_read_i32(m, addr + (uint64_t)l->exec_fp, &out->fp) ||
        !rf_read_i32(m, addr + (uint64_t)l->exec_rp, &out->rp) || !rf_read_i32(m, addr + (uint64_t)l->exec_tp, &tp) ||
        !rf_read_u64(m, addr + (uint64_t)l->exec_fn, &out->fn))
        return false;
    return out->fp >= 0 && out->fp <= out->sp && out->sp <= EXEC_INDEX_MAX && out->rp >= 0 &&
           out->rp <= EXEC_INDEX_MAX && tp >= 0 && tp <= 16 && rf_obj_plausible(out->fn);
}

bool rf_exec_returns(const struct rf_memory *m, const struct rf_layout *l, const struct rf_exec *e, int32_t first,
                     int32_t n, struct rf_return *out)
{
    return first >= 0 && n >= 0 && n <= e->rp - first &&
           rf_read(m, e->addr + (uint64_t)l->exec_rs + sizeof *out * (uint64_t)first, out, sizeof *out * (size_t)n);
}
