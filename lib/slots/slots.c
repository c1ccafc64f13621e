/* slots.c: answers where a frame of the interpreter is, by the map, and where that says nothing by its code. */
#include "slots.h"

#include "store.h"

#include <stdlib.h>

enum { HANDLERS_MAX = 256, STEPS_LIVE = 2000, CALLS_MANY = 64 };

/* The interpreter's code, decoded: wanted only when the map is not enough, so made late. */
struct code {
    bool tried, ready;
    struct rf_machine machine;
    struct rf_owners owners;
    struct rf_follower *follower;
    uint64_t handler[HANDLERS_MAX];
    size_t n_handlers;
};

struct rf_slots {
    const struct rf_runtime *rt;
    const struct rf_memory *live;
    enum rf_slots_origin origin;
    struct rf_slotmap map;
    struct code code;
};

static void free_code(struct code *c)
{
    rf_follower_free(c->follower);
    rf_owners_free(&c->owners);
    rf_machine_free(&c->machine);
    memset(c, 0, sizeof *c);
}

static bool load_code(struct code *c, const struct rf_runtime *rt, const struct rf_memory *from)
{
    size_t n = rt->opcodes > 0 && rt->opcodes <= HANDLERS_MAX ? (size_t)rt->opcodes : 0;
    if (c->tried)
        return c->ready;
    c->tried = true;
    if (n == 0 || rt->interpreter_size > RF_MACHINE_MAX)
        return false;
    unsigned char *bytes = malloc(rt->interpreter_size);
    c->ready = bytes && rf_read(from, rt->interpreter, bytes, rt->interpreter_size) &&
               rf_read(from, rt->dispatch, c->handler, n * sizeof *c->handler) &&
               rf_machine_decode(&c->machine, bytes, rt->interpreter_size, rt->interpreter) &&
               rf_owners_find(&c->owners, &c->machine, c->handler, n) &&
               (c->follower =
                    rf_follower_new(&c->machine, (struct rf_dispatch){rt->dispatch, c->handler, n, rt->layout.exec_rp,
                                                                      rt->layout.exec_fn, rt->layout.exec_rs}));
    c->n_handlers = n;
    free(bytes);
    return c->ready;
}

bool rf_slots_derive(struct rf_slotmap *out, const struct rf_runtime *rt, const struct rf_memory *from)
{
    struct code c = {.tried = false};
    bool ok = load_code(&c, rt, from) && rf_slotmap_derive(out, &c.machine, c.follower, &c.owners);
    free_code(&c);
    return ok;
}

/* "build-id HEX" lines at the beginning of a text that ships; *map is where the map begins. */
static bool is_for(const char *text, const char *build_id, const char **map)
{
    static const char key[] = "build-id ";
    size_t n = strlen(build_id);
    bool found = false;
    for (; *text == '#' || strncmp(text, key, sizeof key - 1) == 0;
         text += strcspn(text, "\n"), text += *text == '\n') {
        const char *id = text + sizeof key - 1;
        found = found || (*text != '#' && n && strncmp(id, build_id, n) == 0 && (id[n] == '\n' || id[n] == 0));
    }
    *map = text;
    return found;
}

static bool from_catalog(struct rf_slots *s)
{
    const char *map;
    unsigned line;
    for (const char *const *text = rf_slots_catalog; *text; text++)
        if (is_for(*text, rf_image_build_id(s->rt->image), &map))
            return rf_slotmap_parse(&s->map, map, strlen(map), &line);
    return false;
}

struct rf_slots *rf_slots_new(const struct rf_runtime *rt, const struct rf_memory *live)
{
    struct rf_slots *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->rt = rt;
    s->live = live;
    const char *id = rf_image_build_id(rt->image);
    if (from_catalog(s)) {
        s->origin = RF_SLOTS_CATALOG;
    } else if (rf_store_load(&s->map, id, rt->interpreter_size)) {
        s->origin = RF_SLOTS_CACHE;
    } else if (load_code(&s->code, rt, live) &&
               rf_slotmap_derive(&s->map, &s->code.machine, s->code.follower, &s->code.owners)) {
        s->origin = RF_SLOTS_DERIVED;
        rf_store_save(&s->map, id, rt->interpreter_size);
    }
    return s;
}

void rf_slots_free(struct rf_slots *s)
{
    if (!s)
        return;
    free_code(&s->code);
    rf_slotmap_free(&s->map);
    free(s);
}

enum rf_slots_origin rf_slots_origin(const struct rf_slots *s)
{
    return s->origin;
}

bool rf_slots_blind(const struct rf_slots *s)
{
    for (size_t i = 0; i < s->map.n; i++)
        for (unsigned k = 0; k < s->map.v[i].n; k++)
            for (unsigned t = 0; t < s->map.v[i].place[k].n; t++)
                if (s->map.v[i].place[k].t[t].sym < 16)
                    return false;
    return s->map.n >= CALLS_MANY;
}

bool rf_slots_tells(const struct rf_slots *s)
{
    for (size_t i = 0; i < s->map.n; i++)
        if (s->map.v[i].kind == RF_SLOT_PLACE)
            return true;
    return false;
}

/* --- a place, with what the frame holds ------------------------------------------------------------------------- */

static bool term_value(const struct rf_slots_frame *f, struct rf_term t, uint64_t *out)
{
    if (t.sym < 16) {
        if (!(f->native->known >> t.sym & 1))
            return false;
        *out = f->native->reg[t.sym];
    } else if (!rf_read(&f->snapshot->memory, f->native->sp + t.sym - RF_SYM_STACK, out, t.narrow ? 4 : 8)) {
        return false;
    }
    if (t.narrow)
        *out = (uint64_t)(int64_t)(int32_t)(uint32_t)*out;
    return true;
}

/* The index that a place holds, when it lies in the bytecode (its end included). */
static bool place_ip(const struct rf_slots_frame *f, const struct rf_place *p, uint32_t *ip)
{
    uint64_t sum = (uint64_t)(int64_t)p->add, v = 0;
    for (unsigned i = 0; i < p->n; i++) {
        if (!term_value(f, p->t[i], &v))
            return false;
        sum += v;
    }
    if (p->address)
        sum -= f->code_addr;
    *ip = (uint32_t)sum;
    return sum <= f->code->len;
}

/* Code that a return shares already holds its caller's ip while the callee's bytecode is still that of the block. */
static bool may_return(rf_ops ops)
{
    return ops & RF_OP(OP_RET);
}

static enum rf_at at_ip(uint32_t ip, rf_ops ops, enum rf_at otherwise)
{
    if (ip)
        return otherwise;
    return !ops || (ops & RF_RUNS) ? RF_AT_ENTERING : RF_AT_UNKNOWN;
}

static struct rf_whereabouts by_map(const struct rf_slots_frame *f, const struct rf_slot *slot)
{
    struct rf_whereabouts w = {.ops = slot->ops};
    uint32_t ip[2] = {0, 0};
    if (slot->kind == RF_SLOT_ENTERING)
        w.at = RF_AT_ENTERING;
    if (slot->kind != RF_SLOT_PLACE)
        return w;
    for (unsigned i = 0; i < slot->n; i++)
        if (!place_ip(f, &slot->place[i], &ip[i]) || ip[i] != ip[0])
            return w;
    w.at = at_ip(ip[0], slot->ops, RF_AT_IP);
    w.ip = ip[0];
    return w;
}

/* --- by the code ------------------------------------------------------------------------------------------------ */

struct reader {
    const struct rf_slots *s;
    const struct rf_slots_frame *f;
};

/* A byte of the bytecode, which the snapshot need not have: it is known from its instructions. */
static bool code_byte(const struct rf_code *c, uint64_t at, unsigned char *to)
{
    const struct rf_instruction *i = rf_code_with(c, at);
    if (!i)
        return false;
    *to = (unsigned char)(at == i->start ? (uint32_t)i->op : i->arg >> 8 * (i->end - 1 - at));
    return true;
}

static bool read_target(void *ctx, uint64_t addr, void *to, size_t n)
{
    const struct reader *r = ctx;
    const struct code *c = &r->s->code;
    uint64_t table = addr - r->s->rt->dispatch, at = addr - r->f->code_addr;
    if (table < c->n_handlers * 8 && n <= c->n_handlers * 8 - table) {
        memcpy(to, (const char *)c->handler + table, n);
        return true;
    }
    for (size_t i = 0; at < r->f->code->len && i < n; i++)
        if (!code_byte(r->f->code, at + i, (unsigned char *)to + i))
            return false;
    return at < r->f->code->len || rf_read(&r->f->snapshot->memory, addr, to, n);
}

static rf_ops ops_of_handler(const struct code *c, uint64_t handler)
{
    rf_ops ops = 0;
    for (size_t i = 0; i < c->n_handlers && i < OP_COUNT; i++)
        if (c->handler[i] == handler)
            ops |= RF_OP(i);
    return ops;
}

/* Which opcodes can be in progress: those of the handlers that lead here, or the one that was about to be entered. */
static rf_ops possible_ops(const struct code *c, const struct rf_minsn *i, const struct rf_ends *ends)
{
    rf_ops here = c->owners.ops[i - c->machine.v], ops = 0;
    for (size_t k = 0; k < ends->n_entered; k++)
        ops |= ops_of_handler(c, ends->entered[k]);
    if (!ends->stayed)
        return ops;
    return here ? ops | here : 0;
}

/* ip at one end; false where it is not in the bytecode that runs. *kept: it needs nothing that was loaded. */
static bool end_ip(const struct rf_slots_frame *f, const struct rf_end *e, rf_ops ops, uint32_t *ip, bool *kept)
{
    struct rf_place p;
    uint64_t at = e->addr.number - f->code_addr;
    enum rf_slot_kind kind = rf_slot_read(e, &p);
    *kept = kind == RF_SLOT_PLACE;
    *ip = (uint32_t)at;
    /* A return to the same function: its call goes on, as soon as the return stack says so. */
    if (e->moved || (e->switched && !may_return(ops)))
        return false;
    if (e->addr.known)
        return at <= f->code->len;
    if (may_return(ops) && !f->exec) /* or it is not known what else the path has stored */
        return false;
    if (kind == RF_SLOT_ENTERING)
        *ip = 0;
    return kind == RF_SLOT_ENTERING || (kind == RF_SLOT_PLACE && place_ip(f, &p, ip));
}

/* The conditional jump whose two ways these are. */
static const struct rf_instruction *forks(const struct rf_code *c, uint32_t a, uint32_t b)
{
    const struct rf_instruction *i = rf_code_ending(c, a);
    if (!i || i->op != OP_JMPF || rf_code_target(i) != b)
        i = rf_code_ending(c, b);
    bool both = i && i->op == OP_JMPF && rf_code_target(i) == (i->end == a ? b : a);
    return both ? i : NULL;
}

/* The ip of the ends that need what was loaded, or of those that do not; at most two that differ. Returns how many. */
static unsigned gather(const struct rf_slots_frame *f, const struct rf_ends *ends, rf_ops ops, bool kept,
                       uint32_t ip[2])
{
    unsigned n = 0;
    for (size_t i = 0; i < ends->n; i++) {
        uint32_t this;
        bool is_kept;
        if (!end_ip(f, &ends->v[i], ops, &this, &is_kept) || is_kept != kept || (n > 0 && this == ip[0]) ||
            (n > 1 && this == ip[1]))
            continue;
        if (n == 2)
            return 3;
        ip[n++] = this;
    }
    return n;
}

/* A call that is about to be made says itself where it goes on: behind an instruction that calls, and one of those that
 * can be in progress. Paths that were given up do not matter: without optimisation most calls have one, in the ways
 * through errors, and what the others say was right each time (tests/oracle). */
static const struct rf_instruction *calls(const struct rf_slots_frame *f, const struct rf_ends *ends, rf_ops ops)
{
    uint32_t back = 0;
    for (size_t i = 0; i < ends->n; i++) {
        if (!ends->v[i].back || (back && back != ends->v[i].back))
            return NULL;
        back = ends->v[i].back;
    }
    const struct rf_instruction *i = back ? rf_code_ending(f->code, back) : NULL;
    return i && (RF_RUNS & (ops ? ops : RF_RUNS) & RF_OP(i->op)) ? i : NULL;
}

/* A return that has not yet given up its place on the return stack; one that has is at no instruction that the block
 * would tell. */
static bool leaves(const struct rf_ends *ends, rf_ops ops)
{
    bool all = !ends->lost && may_return(ops);
    for (size_t i = 0; all && i < ends->n; i++)
        all = ends->v[i].moved;
    return all;
}

static enum rf_move move(const struct rf_ends *ends)
{
    size_t moved = 0, switched = 0;
    for (size_t i = 0; i < ends->n; i++) {
        moved += ends->v[i].moved;
        switched += ends->v[i].switched && !ends->v[i].moved;
    }
    if (ends->n && moved == ends->n)
        return RF_MOVE_AHEAD;
    return ends->n && switched == ends->n ? RF_MOVE_HALF_DONE : RF_MOVE_UNKNOWN;
}

/* Ends whose ip was there at the start outweigh those that load it: the latter are jumps, and ways through errors. */
static struct rf_whereabouts weigh(const struct rf_slots_frame *f, const struct rf_ends *ends, rf_ops ops)
{
    struct rf_whereabouts w = {.ops = ops};
    for (int kept = 1; kept >= 0; kept--) {
        uint32_t ip[2];
        unsigned n = gather(f, ends, ops, kept, ip);
        const struct rf_instruction *jump = n == 2 ? forks(f->code, ip[0], ip[1]) : NULL;
        if (n == 1) {
            w.ip = ip[0];
            w.at = at_ip(ip[0], ops, kept ? RF_AT_IP : RF_AT_TARGET);
        } else if (jump) {
            w.ip = jump->end;
            w.at = RF_AT_END;
        }
        if (n)
            return w;
    }
    const struct rf_instruction *call = calls(f, ends, ops);
    if (call) {
        w.at = RF_AT_END;
        w.ip = call->end;
    } else if (leaves(ends, ops)) {
        w.at = RF_AT_LEAVING;
    }
    w.move = move(ends);
    return w;
}

static struct rf_whereabouts by_code(struct rf_slots *s, const struct rf_slots_frame *f)
{
    struct rf_whereabouts none = {.at = RF_AT_UNKNOWN};
    struct code *c = &s->code;
    struct reader r = {s, f};
    struct rf_ends ends;
    if (!load_code(c, s->rt, s->live))
        return none;
    const struct rf_minsn *i = rf_machine_at(&c->machine, f->native->pc);
    if (!i)
        return none;
    struct rf_entry from = {.pc = f->native->pc,
                            .leaf = f->leaf,
                            .known = f->native->known,
                            .reg = f->native->reg,
                            .exec = f->exec,
                            .read = read_target,
                            .ctx = &r};
    rf_follow(c->follower, &from, STEPS_LIVE, &ends);
    return weigh(f, &ends, possible_ops(c, i, &ends));
}

static const struct rf_slot *site(const struct rf_slots *s, uint64_t pc)
{
    uint64_t at = pc - s->rt->interpreter;
    return at <= s->rt->interpreter_size ? rf_slotmap_at(&s->map, (uint32_t)at) : NULL;
}

enum rf_slots_part rf_slots_part(struct rf_slots *s, uint64_t pc, bool leaf)
{
    const struct rf_slot *slot = leaf ? NULL : site(s, pc);
    const struct code *c = &s->code;
    if (slot)
        return slot->kind == RF_SLOT_ENTRY ? RF_PART_ENTRY : RF_PART_HANDLER;
    const struct rf_minsn *i = load_code(&s->code, s->rt, s->live) ? rf_machine_at(&c->machine, pc) : NULL;
    if (!i)
        return RF_PART_UNKNOWN;
    size_t k = (size_t)(i - c->machine.v);
    return c->owners.ops[k] ? RF_PART_HANDLER : c->owners.entry[k] ? RF_PART_ENTRY : RF_PART_UNKNOWN;
}

struct rf_whereabouts rf_slots_locate(struct rf_slots *s, const struct rf_slots_frame *f)
{
    if (f->leaf)
        return by_code(s, f);
    const struct rf_slot *slot = site(s, f->native->pc);
    struct rf_whereabouts w = {.at = RF_AT_UNKNOWN};
    if (slot) {
        w = by_map(f, slot);
        if (w.at != RF_AT_UNKNOWN && !may_return(slot->ops))
            return w;
        w.at = RF_AT_UNKNOWN;
    }
    struct rf_whereabouts live = by_code(s, f);
    live.ops = live.ops ? live.ops : w.ops;
    return live;
}
