/* target.c: which process is meant, and is it still there? */
#include "target.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pid_t process_of(pid_t pid)
{
    char path[64], line[256];
    pid_t tgid = pid;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *status = fopen(path, "re");
    if (!status)
        return pid;
    while (fgets(line, sizeof line, status))
        if (!strncmp(line, "Tgid:", 5)) {
            char *end;
            long n = strtol(line + 5, &end, 10);
            tgid = n > 0 ? (pid_t)n : pid;
            break;
        }
    fclose(status);
    return tgid;
}

enum rf_target_state target_state(const struct rf_session *s)
{
    struct pollfd fd = {rf_session_pidfd(s), POLLIN, 0};
    enum rf_target_state state = rf_session_state(s);
    return state == RF_RUNNING && poll(&fd, 1, 0) > 0 ? RF_EXITED : state;
}
