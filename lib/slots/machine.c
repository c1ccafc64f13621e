/* machine.c: x86-64 through capstone, reduced to what machine.h keeps. The only file that knows capstone. */
#include "machine.h"

#include <stdlib.h>
#include <string.h>

#ifdef RF_CAPSTONE
#include <capstone/capstone.h>

static unsigned char reg_number(x86_reg r)
{
    static const struct {
        unsigned char dwarf;
        x86_reg names[4];
    } regs[] = {
        {RF_RAX, {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL}},
        {RF_RBX, {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL}},
        {RF_RCX, {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL}},
        {RF_RDX, {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL}},
        {RF_RSI, {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL}},
        {RF_RDI, {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL}},
        {RF_RBP, {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL}},
        {RF_RSP, {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL}},
        {RF_R8, {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B}},
        {RF_R9, {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B}},
        {RF_R10, {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B}},
        {RF_R11, {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B}},
        {RF_R12, {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B}},
        {RF_R13, {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B}},
        {RF_R14, {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B}},
        {RF_R15, {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B}},
    };
    for (size_t i = 0; i < sizeof regs / sizeof *regs; i++)
        for (unsigned k = 0; k < 4; k++)
            if (regs[i].names[k] == r)
                return regs[i].dwarf;
    return M_NO_REG;
}

static uint16_t high_byte(x86_reg r)
{
    switch (r) {
    case X86_REG_AH:
        return 1u << RF_RAX;
    case X86_REG_BH:
        return 1u << RF_RBX;
    case X86_REG_CH:
        return 1u << RF_RCX;
    case X86_REG_DH:
        return 1u << RF_RDX;
    default:
        return 0;
    }
}

static struct rf_moperand operand(const cs_x86_op *o, uint64_t next)
{
    struct rf_moperand r = {.size = o->size, .reg = M_NO_REG, .base = M_NO_REG, .index = M_NO_REG};
    if (o->type == X86_OP_REG) {
        r.kind = M_REG;
        r.reg = reg_number(o->reg);
    } else if (o->type == X86_OP_IMM) {
        r.kind = M_IMM;
        r.disp = o->imm;
    } else if (o->type == X86_OP_MEM) {
        bool rip = o->mem.base == X86_REG_RIP;
        r.kind = M_MEM;
        r.base = rip ? M_NO_REG : reg_number(o->mem.base);
        r.index = reg_number(o->mem.index);
        r.scale = (unsigned char)o->mem.scale;
        r.disp = rip ? (int64_t)(next + (uint64_t)o->mem.disp) : o->mem.disp;
        /* A vector register as index (gathers), and what else is no general register, make no address that could be
         * followed: as if behind a segment. */
        r.segment = o->mem.segment != X86_REG_INVALID || (o->mem.index != X86_REG_INVALID && r.index == M_NO_REG) ||
                    (o->mem.base != X86_REG_INVALID && !rip && r.base == M_NO_REG);
    }
    return r;
}

static enum rf_mop operation(csh cs, const cs_insn *i)
{
    switch (i->id) {
    case X86_INS_MOV:
    case X86_INS_MOVABS:
        return M_MOV;
    case X86_INS_MOVZX:
        return M_MOVZX;
    case X86_INS_MOVSX:
    case X86_INS_MOVSXD:
    case X86_INS_CDQE:
        return M_MOVSX;
    case X86_INS_LEA:
        return M_LEA;
    case X86_INS_ADD:
    case X86_INS_INC:
        return M_ADD;
    case X86_INS_SUB:
    case X86_INS_DEC:
        return M_SUB;
    case X86_INS_AND:
        return M_AND;
    case X86_INS_OR:
        return M_OR;
    case X86_INS_XOR:
        return M_XOR;
    case X86_INS_SHL:
        return M_SHL;
    case X86_INS_SHR:
        return M_SHR;
    case X86_INS_CMP:
        return M_CMP;
    case X86_INS_TEST:
        return M_TEST;
    case X86_INS_JMP:
        return M_JMP;
    case X86_INS_CALL:
        return M_CALL;
    case X86_INS_RET:
        return M_RET;
    case X86_INS_UD2:
    case X86_INS_HLT:
        return M_TRAP;
    case X86_INS_PUSH:
        return M_PUSH;
    case X86_INS_POP:
        return M_POP;
    case X86_INS_NOP:
    case X86_INS_VZEROUPPER:
    case X86_INS_ENDBR64:
    case X86_INS_PAUSE:
        return M_NOP;
    default:
        break;
    }
    if (cs_insn_group(cs, i, CS_GRP_JUMP))
        return M_JCC;
    if (strncmp(i->mnemonic, "cmov", 4) == 0)
        return M_CMOV;
    return strncmp(i->mnemonic, "set", 3) == 0 ? M_SETCC : M_OTHER;
}

static void reduce(csh cs, const cs_insn *i, struct rf_minsn *out)
{
    const cs_x86 *x = &i->detail->x86;
    cs_regs read, written;
    uint8_t n_read = 0, n_written = 0;
    out->len = (unsigned char)i->size;
    out->op = (unsigned char)operation(cs, i);
    out->cc = (x->opcode[0] == 0x0f ? x->opcode[1] : x->opcode[0]) & 15;
    out->keeps_flags = x->eflags == 0;
    for (unsigned k = 0; k < 2 && k < x->op_count; k++)
        out->o[k] = operand(&x->operands[k], i->address + i->size);
    if (x->op_count == 1 && (i->id == X86_INS_INC || i->id == X86_INS_DEC))
        out->o[1] = (struct rf_moperand){.kind = M_IMM, .size = out->o[0].size, .disp = 1};
    if (i->id == X86_INS_CDQE)
        for (unsigned k = 0; k < 2; k++)
            out->o[k] = (struct rf_moperand){.kind = M_REG, .size = k ? 4 : 8, .reg = RF_RAX};
    if (cs_regs_access(cs, i, read, &n_read, written, &n_written) != CS_ERR_OK)
        out->writes = 0xffff;
    for (unsigned k = 0; k < n_written; k++) {
        unsigned char r = reg_number(written[k]);
        out->writes = (uint16_t)(out->writes | (r == M_NO_REG ? high_byte(written[k]) : 1u << r));
        if (written[k] == X86_REG_EFLAGS)
            out->keeps_flags = false;
    }
}

bool rf_machine_decode(struct rf_machine *out, const unsigned char *bytes, size_t size, uint64_t base)
{
    csh cs;
    memset(out, 0, sizeof *out);
    if (size == 0 || size > RF_MACHINE_MAX || cs_open(CS_ARCH_X86, CS_MODE_64, &cs) != CS_ERR_OK)
        return false;
    cs_option(cs, CS_OPT_DETAIL, CS_OPT_ON);
    cs_insn *i = cs_malloc(cs);
    size_t room = size / 2 + 16, left = size;
    uint64_t addr = base;
    out->base = base;
    out->size = (uint32_t)size;
    out->v = calloc(room, sizeof *out->v);
    out->index = calloc(size, sizeof *out->index);
    bool ok = i && out->v && out->index;
    while (ok && left && out->n < room) {
        const uint8_t *at = bytes;
        uint64_t where = addr;
        if (!cs_disasm_iter(cs, &bytes, &left, &addr, i)) {
            bytes = at + 1; /* padding or data between blocks */
            addr = where + 1;
            left--;
            continue;
        }
        struct rf_minsn *to = &out->v[out->n++];
        to->at = (uint32_t)(where - base);
        out->index[to->at] = (uint16_t)out->n;
        reduce(cs, i, to);
    }
    if (i)
        cs_free(i, 1);
    cs_close(&cs);
    if (!ok)
        rf_machine_free(out);
    return ok;
}
#else
bool rf_machine_decode(struct rf_machine *out, const unsigned char *bytes, size_t size, uint64_t base)
{
    (void)bytes;
    (void)size;
    (void)base;
    memset(out, 0, sizeof *out);
    return false;
}
#endif

void rf_machine_free(struct rf_machine *m)
{
    free(m->v);
    free(m->index);
    memset(m, 0, sizeof *m);
}

const struct rf_minsn *rf_machine_at(const struct rf_machine *m, uint64_t addr)
{
    uint64_t off = addr - m->base;
    return off < m->size && m->index[off] ? &m->v[m->index[off] - 1] : NULL;
}
