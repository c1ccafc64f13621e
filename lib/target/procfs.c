/* procfs.c: reads and takes apart the small files of /proc. */
#include "procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool rf_procfs_read(int dir_fd, const char *name, char *to, size_t n)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t have = 0;
    ssize_t got;
    while (have < n - 1 && ((got = read(fd, to + have, n - 1 - have)) > 0 || (got < 0 && errno == EINTR)))
        if (got > 0)
            have += (size_t)got;
    int why = errno;
    close(fd);
    errno = why;
    to[have] = 0;
    return have > 0;
}

bool rf_procfs_status(const char *text, const char *key, int base, uint64_t *out)
{
    size_t n = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) != 0 || line[n] != ':')
            continue;
        char *end;
        *out = strtoull(line + n + 1, &end, base);
        return end != line + n + 1;
    }
    return false;
}

const char *rf_procfs_stat_field(const char *text, unsigned field)
{
    const char *p = strrchr(text, ')');
    for (unsigned at = 2; p && at < field; at++) {
        p = strchr(p, ' ');
        p = p ? p + 1 : NULL;
    }
    return p && *p ? p : NULL;
}
