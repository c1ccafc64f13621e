/* candidates.c: which processes could be profiled: those whose program, or a library that they have loaded, is a
 * rayforce runtime. They are told by their symbols, not by their names, each file once. */
#include "layout/layout.h"
#include "target/procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct verdict {
    dev_t dev;
    ino_t ino;
    bool rayforce;
};

struct search {
    struct rf_candidate *found;
    size_t n_found, room_found;
    struct verdict *seen; /* files that were looked into */
    size_t n_seen, room_seen;
    bool no_memory;
};

static bool grow(struct search *s, void **array, size_t n, size_t *room, size_t size)
{
    if (n < *room)
        return true;
    size_t more = *room ? *room * 2 : 32;
    void *bigger = reallocarray(*array, more, size);
    if (!bigger) {
        s->no_memory = true;
        return false;
    }
    *array = bigger;
    *room = more;
    return true;
}

static bool is_rayforce_file(struct search *s, const char *path)
{
    struct stat st;
    struct rf_image *image;
    if (stat(path, &st) < 0)
        return false;
    for (size_t i = 0; i < s->n_seen; i++)
        if (s->seen[i].dev == st.st_dev && s->seen[i].ino == st.st_ino)
            return s->seen[i].rayforce;
    if (!grow(s, (void **)&s->seen, s->n_seen, &s->room_seen, sizeof *s->seen))
        return false;
    bool rayforce = false;
    if (rf_image_open_file(&image, path, NULL) == RF_OK) {
        rayforce = rf_image_is_rayforce(image);
        rf_image_close_file(image);
    }
    s->seen[s->n_seen++] = (struct verdict){st.st_dev, st.st_ino, rayforce};
    return rayforce;
}

/* Libraries of the distribution, which are many and no runtime, are not looked into. Some install Python packages among
 * them. */
static bool is_systems(const char *path)
{
    bool below = !strncmp(path, "/lib/", 5) || !strncmp(path, "/lib64/", 7) || !strncmp(path, "/usr/lib/", 9) ||
                 !strncmp(path, "/usr/lib64/", 11);
    return below && !strstr(path, "/_rayforce_c");
}

/* A shared object with the runtime, like the Python package's _rayforce_c.so. */
static bool library_of(struct search *s, const struct rf_process *p, char *path, size_t size)
{
    struct rf_maps maps;
    bool found = false;
    if (rf_maps_read(p, &maps, NULL) != RF_OK)
        return false;
    for (size_t i = 0; i < maps.n && !found; i++) {
        const struct rf_map *m = &maps.v[i];
        if (m->perms[2] != 'x' || m->path[0] != '/' || is_systems(m->path))
            continue;
        int n = snprintf(path, size, "/proc/%d/root%s", p->pid, m->path);
        found = n > 0 && (size_t)n < size && is_rayforce_file(s, path);
    }
    rf_maps_free(&maps);
    return found;
}

/* The first line of what an error says to do or, without one, what happened. */
static void why_not(struct rf_candidate *c, const struct rf_error *err)
{
    const char *text = err->next[0] ? err->next + strspn(err->next, " ") : err->what;
    snprintf(c->how, sizeof c->how, "no: %.*s", (int)strcspn(text, "\n"), text);
}

static void judge(struct rf_candidate *c, const char *path)
{
    struct rf_image *image;
    struct rf_runtime rt;
    struct rf_error err = {0};
    if (rf_image_open_file(&image, path, &err) != RF_OK) {
        why_not(c, &err);
        return;
    }
    if (rf_layout_choose(&rt, image, NULL, &err) == RF_OK) {
        snprintf(c->release, sizeof c->release, "%s", rt.layout.release);
        snprintf(c->how, sizeof c->how, "yes");
    } else {
        snprintf(c->how, sizeof c->how, "no: unknown layout");
    }
    rf_image_close_file(image);
}

/* A process that cannot be opened is known by its name only. */
static bool named_rayforce(pid_t pid)
{
    char path[64], comm[32];
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    return rf_procfs_read(AT_FDCWD, path, comm, sizeof comm) && !strcmp(comm, "rayforce\n");
}

static void look_at(struct search *s, pid_t pid)
{
    struct rf_candidate c = {.pid = pid, .release = "unknown"};
    struct rf_error err = {0};
    struct rf_process *p = NULL;
    char path[4200];
    bool found;
    if (rf_process_open(&p, pid, &err) != RF_OK) {
        found = err.status == RF_PERMISSION && named_rayforce(pid);
        why_not(&c, &err);
    } else {
        found = library_of(s, p, path, sizeof path);
        if (!found) {
            snprintf(path, sizeof path, "/proc/%d/exe", pid);
            found = is_rayforce_file(s, path) || named_rayforce(pid);
        }
        if (found)
            judge(&c, path);
    }
    rf_process_close(p);
    if (found && grow(s, (void **)&s->found, s->n_found, &s->room_found, sizeof *s->found)) {
        rf_process_command(pid, c.command, sizeof c.command);
        s->found[s->n_found++] = c;
    }
}

enum rf_status rf_candidates(struct rf_candidate **out, size_t *n, struct rf_error *err)
{
    struct search s = {0};
    DIR *proc = opendir("/proc");
    if (!proc)
        return rf_fail(err, RF_FAILURE, errno, "cannot read /proc: %s", strerror(errno));
    for (struct dirent *entry; !s.no_memory && (entry = readdir(proc));) {
        pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? (pid_t)strtol(entry->d_name, NULL, 10) : 0;
        if (pid > 0 && pid != getpid())
            look_at(&s, pid);
    }
    closedir(proc);
    free(s.seen);
    if (s.no_memory) {
        free(s.found);
        return rf_fail(err, RF_FAILURE, ENOMEM, "out of memory");
    }
    *out = s.found;
    *n = s.n_found;
    return RF_OK;
}
