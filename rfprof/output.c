/* output.c: writing profiles to files, pipes and terminals. */
#include "output.h"
#include "console.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TABLE_ROWS = 20, LINKS_MAX = 40 };

static enum rf_status cannot_write(struct rf_error *err, const struct output *o, int errnum)
{
    return rf_fail(err, RF_FAILURE, errnum, "cannot write %s: %s", o->name, strerror(errnum));
}

/* The path's folder, or its last part, in a buffer that the caller frees. */
static char *folder_of(const char *path)
{
    char *copy = strdup(path);
    char *folder = copy ? strdup(dirname(copy)) : NULL;
    free(copy);
    return folder;
}

static char *join(const char *folder, const char *name)
{
    char *path;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

/* In a folder like /tmp anybody can have put a symlink, for root to follow. The kernel, where it is set to
 * (protected_symlinks, proc_sys_fs(5)), follows those of the caller and of the folder's owner; here it is we who
 * follow. */
static bool may_follow(const char *link, const char *folder)
{
    struct stat st, in;
    if (lstat(link, &st) < 0 || stat(folder, &in) < 0)
        return false;
    bool open_to_all = (in.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH);
    if (!open_to_all || st.st_uid == geteuid() || st.st_uid == in.st_uid)
        return true;
    errno = EACCES;
    return false;
}

/* Follows symlinks to the last name, which need not exist (realpath(3) wants it to). NULL with errno set. */
static char *follow(const char *from)
{
    char *path = strdup(from);
    for (unsigned i = 0; path && i < LINKS_MAX; i++) {
        char link[4096];
        ssize_t n = readlink(path, link, sizeof link - 1);
        if (n < 0)
            return path; /* EINVAL: no link; ENOENT: a new file */
        link[n] = '\0';
        char *folder = folder_of(path);
        bool may = folder && may_follow(path, folder);
        char *next = !may ? NULL : link[0] == '/' ? strdup(link) : join(folder, link);
        free(folder);
        free(path);
        path = next;
    }
    if (path)
        errno = ELOOP;
    free(path);
    return NULL;
}

static bool ends_with(const char *name, const char *extension)
{
    size_t n = strlen(name), m = strlen(extension);
    return n > m && !strcmp(name + n - m, extension);
}

static const struct rf_format *by_extension(const char *name)
{
    for (const struct rf_format *f = rf_formats(); f->name; f++)
        for (size_t i = 0; f->extensions[i]; i++)
            if (ends_with(name, f->extensions[i]))
                return f;
    return NULL;
}

static const struct rf_format *by_name(const char *name)
{
    const struct rf_format *f = rf_formats();
    while (f->name && strcmp(f->name, name))
        f++;
    return f;
}

/* In a sticky folder such as /tmp only its owner, the folder's and root may replace a file. */
static bool may_replace(const char *folder, const struct stat *file)
{
    struct stat st;
    uid_t us = geteuid();
    return us == 0 || stat(folder, &st) < 0 || !(st.st_mode & S_ISVTX) || file->st_uid == us || st.st_uid == us;
}

static enum rf_status prepare_file(struct output *o, struct stat *st, struct rf_error *err)
{
    bool exists = stat(o->name, st) == 0, folder_meant = o->name[strlen(o->name) - 1] == '/';
    if (!exists && errno != ENOENT)
        return cannot_write(err, o, errno);
    if (folder_meant || (exists && S_ISDIR(st->st_mode)))
        return cannot_write(err, o, EISDIR);
    if (exists && !S_ISREG(st->st_mode)) {
        /* as given: what /proc/self/fd/N links to is no path */
        o->in_place = true;
        o->path = strdup(o->name);
        return !o->path || access(o->path, W_OK) ? cannot_write(err, o, errno) : RF_OK;
    }
    o->path = follow(o->name);
    if (!o->path)
        return cannot_write(err, o, errno);
    char *folder = folder_of(o->path);
    int errnum = folder && access(folder, W_OK | X_OK) == 0 ? 0 : errno;
    if (!errnum && exists && !may_replace(folder, st))
        errnum = EPERM;
    free(folder);
    if (errnum) {
        cannot_write(err, o, errnum);
        rf_hint(err, errnum == EPERM ? "the file is another user's, in a folder where only its owner may replace it"
                                     : "its folder must exist and be writable");
        return RF_FAILURE;
    }
    if (!exists)
        st->st_mode = S_IFREG;
    return RF_OK;
}

enum rf_status output_prepare(struct output *o, const char *name, const struct rf_format *fallback,
                              struct rf_error *err)
{
    struct stat st = {0};
    *o = (struct output){.name = name, .fd = STDOUT_FILENO};
    bool to_stderr = !strcmp(name, OUTPUT_STDERR);
    if (to_stderr || !strcmp(name, "-") || !strcmp(name, "/dev/stdout")) {
        o->name = to_stderr ? "stderr" : "stdout";
        o->fd = to_stderr ? STDERR_FILENO : STDOUT_FILENO;
        o->in_place = true;
        o->terminal = isatty(o->fd);
        if (fstat(o->fd, &st) < 0)
            return cannot_write(err, o, errno);
    } else {
        o->format = by_extension(name);
        enum rf_status status = prepare_file(o, &st, err);
        if (status != RF_OK)
            return status;
    }
    if (!o->format)
        o->format = fallback ? fallback : to_stderr ? by_name("table") : NULL;
    if (!o->format) {
        o->chosen = true;
        o->format = by_name(o->terminal ? "table" : S_ISREG(st.st_mode) ? "tsv" : "folded");
    }
    return RF_OK;
}

enum rf_status output_render(struct output *o, const struct rf_profile *profile, const struct rf_render *view,
                             struct rf_error *err)
{
    struct rf_render how = *view;
    struct winsize size;
    if (o->terminal) {
        const char *term = getenv("TERM"), *plain = getenv("NO_COLOR");
        how.rows = TABLE_ROWS;
        how.colour = !(plain && *plain) && term && strcmp(term, "dumb");
        if (ioctl(o->fd, TIOCGWINSZ, &size) == 0)
            how.width = size.ws_col;
    }
    free(o->bytes);
    o->bytes = NULL;
    FILE *to = open_memstream(&o->bytes, &o->n);
    enum rf_status status = to ? o->format->write(profile, &how, to, err) : RF_FAILURE;
    bool complete = to && !ferror(to);
    if (to && fclose(to) != 0)
        complete = false;
    if (!to || (status == RF_OK && !complete))
        return rf_fail(err, RF_FAILURE, 0, "out of memory while writing %s", o->name);
    return status;
}

/* 0, or the errno. */
static int write_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t done = write(fd, bytes, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return errno;
        bytes += done;
        n -= (size_t)done;
    }
    return 0;
}

static int write_in_place(const struct output *o)
{
    int fd = o->path ? open(o->path, O_WRONLY | O_CLOEXEC | O_NOCTTY) : o->fd;
    if (fd < 0)
        return errno;
    int errnum = write_all(fd, o->bytes, o->n);
    if (o->path && close(fd) < 0 && !errnum)
        errnum = errno;
    return errnum == EPIPE ? 0 : errnum;
}

/* A number of the environment, as sudo(8) sets it; -1 without one. */
static long sudo_id(const char *name)
{
    const char *text = getenv(name);
    char *end;
    long id = text && *text ? strtol(text, &end, 10) : -1;
    return id >= 0 && id <= INT32_MAX && !*end ? id : -1;
}

/* The mode that an earlier file had or a new one would get, and under sudo the owner who called it. */
static int dress(int fd, const char *path)
{
    struct stat st;
    mode_t mask = umask(0);
    umask(mask);
    mode_t mode = stat(path, &st) == 0 ? st.st_mode & 0777 : 0666 & ~mask;
    long uid = sudo_id("SUDO_UID"), gid = sudo_id("SUDO_GID");
    if (geteuid() == 0 && uid >= 0 && gid >= 0 && fchown(fd, (uid_t)uid, (gid_t)gid) < 0)
        return errno;
    return fchmod(fd, mode) < 0 ? errno : 0;
}

static int replace(const struct output *o)
{
    /* A name of its own: the file's, with something behind it, may be too long. */
    char *folder = folder_of(o->path), *temporary = folder ? join(folder, ".rfprof.XXXXXX") : NULL;
    free(folder);
    if (!temporary)
        return ENOMEM;
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) {
        int errnum = errno;
        free(temporary);
        return errnum;
    }
    int errnum = write_all(fd, o->bytes, o->n);
    if (!errnum)
        errnum = dress(fd, o->path);
    if (close(fd) < 0 && !errnum)
        errnum = errno;
    if (!errnum && rename(temporary, o->path) < 0)
        errnum = errno;
    if (errnum)
        unlink(temporary);
    free(temporary);
    return errnum;
}

enum rf_status output_write(const struct output *o, struct rf_error *err)
{
    int errnum = o->in_place ? write_in_place(o) : replace(o);
    return errnum ? cannot_write(err, o, errnum) : RF_OK;
}

void output_free(struct output *o)
{
    free(o->path);
    free(o->bytes);
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Would one overwrite, or run into, what the other writes? Devices and FIFOs may be told apart by their readers. */
static bool same_place(const struct output *a, const struct output *b)
{
    struct stat ours, theirs;
    if (!a->path || !b->path)
        return a->path == b->path && a->fd == b->fd;
    if (a->in_place || b->in_place || strcmp(base_of(a->path), base_of(b->path)))
        return false;
    char *folder = folder_of(a->path), *other = folder_of(b->path);
    bool same = folder && other && stat(folder, &ours) == 0 && stat(other, &theirs) == 0 &&
                ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
    free(folder);
    free(other);
    return same;
}

enum rf_status outputs_prepare(struct output *o, size_t *n, const char *const *name, size_t n_names,
                               const struct rf_format *fallback, struct rf_error *err)
{
    enum rf_status status = RF_OK;
    for (size_t i = 0; i < n_names && status == RF_OK; i++) {
        struct output *last = &o[(*n)++];
        status = output_prepare(last, name[i], fallback, err);
        for (struct output *other = o; other < last && status == RF_OK; other++)
            if (same_place(other, last))
                status = rf_fail(err, RF_USAGE, 0, "-o %s: that was given before, under another name", name[i]);
    }
    return status;
}

enum rf_status outputs_render(struct output *o, size_t n, const struct rf_profile *profile,
                              const struct rf_render *view, struct rf_error *err)
{
    enum rf_status status = RF_OK;
    for (size_t i = 0; i < n && status == RF_OK; i++)
        status = output_render(&o[i], profile, view, err);
    return status;
}

static enum rf_status write_those(const struct output *o, size_t n, bool in_place, struct rf_error *err)
{
    enum rf_status status = RF_OK;
    for (size_t i = 0; i < n; i++) {
        struct rf_error one;
        if (o[i].in_place == in_place && output_write(&o[i], &one) != RF_OK && status == RF_OK) {
            *err = one;
            status = one.status;
        }
    }
    return status;
}

enum rf_status outputs_write_files(const struct output *o, size_t n, struct rf_error *err)
{
    return write_those(o, n, false, err);
}

enum rf_status outputs_write_streams(const struct output *o, size_t n, struct rf_error *err)
{
    return write_those(o, n, true, err);
}

void outputs_note(const struct output *o, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (o[i].chosen && !o[i].terminal)
            note("%s gets format %s%s; -f chooses another", o[i].name, o[i].format->name,
                 o[i].path && !o[i].in_place ? ", its name has no extension of a format" : "");
}
