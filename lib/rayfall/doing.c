/* doing.c: what the runtime does, by its own functions. */
#include "doing.h"

#include <string.h>

struct rf_text rf_doing(const struct rf_image *runtime, const struct rf_native_stack *native)
{
    static const struct {
        const char *base, *shown;
    } known[] = {
        {"ray_lazy_materialize", NULL}, /* work of some result: its C function tells more than who asked for it */
        {"ray_sock_send_until", "<ipc write>"}, {"ray_sock_send", "<ipc write>"},
        {"ray_sock_send_oob", "<ipc write>"},   {"ray_sock_recv", "<ipc read>"},
        {"ipc_recv_fn", "<ipc read>"},          {"recv_full", "<ipc read>"},
        {"conn_on_readable", "<ipc read>"},     {"ipc_read_handshake", "<ipc read>"},
        {"ipc_read_creds", "<ipc read>"},       {"ipc_read_header", "<ipc read>"},
        {"ipc_read_payload", "<ipc read>"},     {"ray_parse", "<parse>"},
        {"ray_parse_with_nfo", "<parse>"},      {"parse_expr", "<parse>"},
        {"ray_sem_wait", "<pool idle>"},        {"worker_loop", "<pool idle>"},
    };
    const char *shown = NULL;
    bool said = false;
    for (size_t i = 0; i < native->n && !said; i++)
        for (size_t k = 0; k < sizeof known / sizeof *known && !said; k++) {
            said = native->frame[i].image == runtime && rf_symbol_is(native->frame[i].fn.name, known[k].base);
            shown = said ? known[k].shown : NULL;
        }
    for (size_t i = 0; i < native->n && !shown; i++)
        shown = native->frame[i].fn.name;
    shown = shown ? shown : "<unwind>";
    return (struct rf_text){shown, strlen(shown)};
}
