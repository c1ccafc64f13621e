/* call_site.c: calls as they are encoded (Intel SDM, volume 2, CALL: E8 rel32 and FF /2 with a ModRM operand). */
#include "call_site.h"

#include <string.h>

/* Length of FF /2 with this ModRM and SIB byte, 0 when it is another instruction. Far calls (FF /3) do not occur. */
static size_t indirect_length(unsigned char modrm, unsigned char sib)
{
    unsigned mod = modrm >> 6, reg = (modrm >> 3) & 7, rm = modrm & 7;
    if (reg != 2)
        return 0;
    if (mod == 3)
        return 2;
    size_t n = rm == 4 ? 3 : 2;
    if (mod == 1)
        return n + 1;
    if (mod == 2)
        return n + 4;
    if (rm == 5 || (rm == 4 && (sib & 7) == 5))
        return n + 4;
    return n;
}

bool rf_ends_with_call(const unsigned char *bytes, size_t n)
{
    const unsigned char *end = bytes + n;
    if (n >= 5 && end[-5] == 0xe8)
        return true;
    for (size_t length = 2; length <= RF_CALL_MAX && length <= n; length++) {
        const unsigned char *at = end - length;
        if (at[0] == 0xff && indirect_length(at[1], length > 2 ? at[2] : 0) == length)
            return true;
    }
    return false;
}

bool rf_is_sigreturn(const unsigned char *bytes, size_t n)
{
    static const unsigned char code[RF_SIGRETURN_SIZE] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    return n >= sizeof code && memcmp(bytes, code, sizeof code) == 0;
}
