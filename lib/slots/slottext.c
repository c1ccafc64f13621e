/* slottext.c: slot maps as text. What is parsed may come from a file that somebody else could have written, so each
 * number has its bounds and anything unexpected refuses the whole. */
#include "slotmap.h"

#include <inttypes.h>
#include <stdlib.h>

enum { LINE_BYTES = 160, FIELDS_MAX = 12 };

/* RF_SLOT_PLACE is written as its places. */
static const char *const kinds[] = {"none", "", "entering", "moving", "entry"};

static const char *const regs[16] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
                                     "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

/* "r13", or "[0x20]" for the frame's word at rsp + 0x20; with "d" when only its lower 32 bits count. */
static void print_term(struct rf_term t, FILE *to)
{
    if (t.sym < 16)
        fprintf(to, " %s", regs[t.sym]);
    else
        fprintf(to, " [0x%x]", (unsigned)(t.sym - RF_SYM_STACK));
    if (t.narrow)
        fputc('d', to);
}

static void print_place(const struct rf_place *p, FILE *to)
{
    fputs(p->address ? " address" : " index", to);
    for (unsigned k = 0; k < p->n; k++)
        print_term(p->t[k], to);
    fprintf(to, " %+" PRId32, p->add);
}

void rf_slotmap_print(const struct rf_slotmap *map, FILE *to)
{
    for (size_t i = 0; i < map->n; i++) {
        const struct rf_slot *s = &map->v[i];
        fprintf(to, "0x%" PRIx32 " 0x%" PRIx64, s->at, s->ops);
        if (s->kind != RF_SLOT_PLACE)
            fprintf(to, " %s", kinds[s->kind]);
        for (unsigned k = 0; s->kind == RF_SLOT_PLACE && k < s->n; k++)
            print_place(&s->place[k], to);
        fputc('\n', to);
    }
}

static bool number(const char *text, int base, uint64_t max, uint64_t *out)
{
    char *end;
    if (*text == '-' || *text == '+' || *text == ' ' || *text == 0)
        return false;
    *out = strtoull(text, &end, base);
    return *end == 0 && *out <= max;
}

static bool parse_term(char *text, struct rf_term *out)
{
    size_t n = strlen(text);
    uint64_t off;
    *out = (struct rf_term){.coef = 1};
    if (n > 1 && text[n - 1] == 'd') {
        out->narrow = true;
        text[--n] = 0;
    }
    if (text[0] == '[' && text[n - 1] == ']') {
        text[n - 1] = 0;
        if (!number(text + 1, 16, RF_SYM_STACK_END - RF_SYM_STACK - 1, &off))
            return false;
        out->sym = (uint16_t)(RF_SYM_STACK + off);
        return true;
    }
    for (uint16_t r = 0; r < 16; r++)
        if (strcmp(text, regs[r]) == 0) {
            out->sym = r;
            return true;
        }
    return false;
}

/* "+1", "-64" */
static bool parse_add(const char *text, int32_t *out)
{
    uint64_t v;
    if ((*text != '+' && *text != '-') || !number(text + 1, 10, 64, &v))
        return false;
    *out = *text == '-' ? -(int32_t)v : (int32_t)v;
    return true;
}

/* "index r13d +1", from field[*i] on. */
static bool parse_place(char **field, size_t n, size_t *i, struct rf_place *out)
{
    *out = (struct rf_place){.address = strcmp(field[*i], "address") == 0};
    if (!out->address && strcmp(field[*i], "index") != 0)
        return false;
    for (++*i; *i < n && field[*i][0] != '+' && field[*i][0] != '-'; ++*i)
        if (out->n == 2 || !parse_term(field[*i], &out->t[out->n++]))
            return false;
    return out->n > 0 && *i < n && parse_add(field[(*i)++], &out->add);
}

static bool parse_line(char *line, struct rf_slot *out)
{
    char *field[FIELDS_MAX], *save = NULL;
    size_t n = 0;
    uint64_t at, ops;
    for (char *f = strtok_r(line, " ", &save); f; f = strtok_r(NULL, " ", &save)) {
        if (n == FIELDS_MAX)
            return false;
        field[n++] = f;
    }
    if (n < 3 || !number(field[0], 16, RF_MACHINE_MAX, &at) || !number(field[1], 16, RF_OP(OP_COUNT) - 1, &ops))
        return false;
    *out = (struct rf_slot){.at = (uint32_t)at, .ops = ops, .kind = RF_SLOT_PLACE};
    for (unsigned char k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(kinds[k], field[2]) == 0) {
            out->kind = k;
            return n == 3;
        }
    for (size_t i = 2; i < n;)
        if (out->n == 2 || !parse_place(field, n, &i, &out->place[out->n++]))
            return false;
    return true;
}

static bool parse_lines(struct rf_slotmap *out, const char *text, size_t size, unsigned *line)
{
    for (size_t at = 0; at < size;) {
        char copy[LINE_BYTES];
        size_t n = 0;
        ++*line;
        while (at + n < size && text[at + n] != '\n')
            n++;
        if (n >= sizeof copy || memchr(text + at, 0, n))
            return false;
        memcpy(copy, text + at, n);
        copy[n] = 0;
        at += n + 1;
        if (!n || copy[0] == '#')
            continue;
        struct rf_slot s;
        if (out->n == RF_SLOTS_MAX || !parse_line(copy, &s) || (out->n && out->v[out->n - 1].at >= s.at))
            return false;
        out->v[out->n++] = s;
    }
    return true;
}

bool rf_slotmap_parse(struct rf_slotmap *out, const char *text, size_t size, unsigned *line)
{
    size_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    *line = 0;
    out->n = 0;
    out->v = calloc(lines < RF_SLOTS_MAX ? lines : RF_SLOTS_MAX, sizeof *out->v);
    if (out->v && parse_lines(out, text, size, line))
        return true;
    rf_slotmap_free(out);
    return false;
}
