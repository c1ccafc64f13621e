/* maps.c: the text of /proc/PID/maps (proc(5)) as an array. Any file can be named anything, so a line is taken
 * apart by position and a name is whatever stands between the inode's blanks and the newline. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* The kernel writes a newline in a name as \012 and nothing else so (seq_file_path with "\n"). */
static void unescape(char *s)
{
    char *to = s;
    while (*s) {
        if (s[0] == '\\' && s[1] == '0' && s[2] == '1' && s[3] == '2') {
            *to++ = '\n';
            s += 4;
        } else {
            *to++ = *s++;
        }
    }
    *to = 0;
}

static bool number(char **s, int base, char after, uint64_t *out)
{
    char *end;
    if (**s == '-' || **s == '+' || **s == ' ')
        return false;
    errno = 0;
    *out = strtoull(*s, &end, base);
    if (end == *s || *end != after || errno)
        return false;
    *s = end + 1;
    return true;
}

/* "start-end perms offset major:minor inode   path", the line's newline already replaced by a zero. */
static bool parse_line(char *line, struct rf_map *m)
{
    uint64_t major, minor;
    if (!number(&line, 16, '-', &m->start) || !number(&line, 16, ' ', &m->end) || m->start >= m->end)
        return false;
    if (strnlen(line, 5) < 5 || line[4] != ' ')
        return false;
    memcpy(m->perms, line, 4);
    m->perms[4] = 0;
    line += 5;
    if (!number(&line, 16, ' ', &m->offset) || !number(&line, 16, ':', &major) || !number(&line, 16, ' ', &minor))
        return false;
    m->dev_major = (uint32_t)major;
    m->dev_minor = (uint32_t)minor;
    char *end;
    errno = 0;
    m->inode = strtoull(line, &end, 10);
    if (end == line || errno || (*end && *end != ' '))
        return false;
    end += strspn(end, " ");
    unescape(end);
    m->path = end;
    return true;
}

bool rf_maps_parse(struct rf_maps *out, char *text)
{
    size_t lines = 1;
    for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
        lines++;
    *out = (struct rf_maps){.v = calloc(lines, sizeof *out->v), .text = text};
    if (!out->v) {
        free(text);
        out->text = NULL;
        return false;
    }
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        struct rf_map *m = &out->v[out->n];
        /* Ascending and apart is promised above; a file that changed while it was read may break it. */
        if (parse_line(line, m) && (out->n == 0 || m->start >= m[-1].end))
            out->n++;
    }
    return true;
}

/* All of a file of unknown size (procfs gives none), zero-terminated. */
static char *read_all(int fd)
{
    size_t n = 0, size = 32 * 1024;
    char *text = malloc(size);
    while (text) {
        ssize_t got = read(fd, text + n, size - n - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            free(text);
            return NULL;
        }
        n += (size_t)got;
        text[n] = 0;
        if (got == 0)
            return text;
        if (size - n < 4096) {
            size *= 2;
            char *more = realloc(text, size);
            if (!more)
                free(text);
            text = more;
        }
    }
    return NULL;
}

enum rf_status rf_maps_read(const struct rf_process *p, struct rf_maps *out, struct rf_error *err)
{
    *out = (struct rf_maps){0};
    char *text = NULL;
    int fd = openat(p->proc_fd, "maps", O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        text = read_all(fd);
    int why = errno;
    if (fd >= 0)
        close(fd);
    if (!text && (why == ESRCH || why == ENOENT))
        return rf_fail(err, RF_TARGET, why, "process %d has ended", (int)p->pid);
    if (!text)
        return rf_fail(err, why == EACCES || why == EPERM ? RF_PERMISSION : RF_FAILURE, why,
                       "cannot read /proc/%d/maps: %s", (int)p->pid, strerror(why));
    if (!rf_maps_parse(out, text))
        return rf_fail(err, RF_FAILURE, ENOMEM, "out of memory for the mappings of %d", (int)p->pid);
    return RF_OK;
}

void rf_maps_free(struct rf_maps *m)
{
    free(m->v);
    free(m->text);
    *m = (struct rf_maps){0};
}

const struct rf_map *rf_maps_at(const struct rf_maps *m, uint64_t addr)
{
    size_t low = 0, high = m->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (m->v[mid].end <= addr)
            low = mid + 1;
        else
            high = mid;
    }
    return low < m->n && m->v[low].start <= addr ? &m->v[low] : NULL;
}
