/* remains.c: two files in a folder that nobody else may enter. */
#include "remains.h"
#include "console.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_SIZE = 700, CODE_SIZE = 4 /* "  5\n", the first line */, KEPT_SECONDS = 86400 };

struct paths {
    char text[PATH_SIZE], unfinished[PATH_SIZE], output[PATH_SIZE];
};

static struct paths paths_of(const struct control_place *p, const char *kind)
{
    struct paths to;
    char suffix[128];
    control_path(p, kind, to.text, sizeof to.text);
    snprintf(suffix, sizeof suffix, "%s.tmp", kind);
    control_path(p, suffix, to.unfinished, sizeof to.unfinished);
    snprintf(suffix, sizeof suffix, "%s.out", kind);
    control_path(p, suffix, to.output, sizeof to.output);
    return to;
}

void remains_taken_kind(const char *owner, char *to, size_t size)
{
    snprintf(to, size, "taken-%s", owner);
}

static bool redirect(int fd, const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool done = file >= 0 && dup2(file, fd) == fd;
    if (file >= 0)
        close(file);
    return done;
}

bool remains_begin(const struct control_place *p, const char *kind)
{
    struct paths to = paths_of(p, kind);
    fflush(stderr);
    remains_remove(p, kind);
    return redirect(STDOUT_FILENO, to.output) && redirect(STDERR_FILENO, to.unfinished) &&
           write(STDERR_FILENO, "  0\n", CODE_SIZE) == CODE_SIZE;
}

void remains_end(const struct control_place *p, const char *kind, int code)
{
    struct paths to = paths_of(p, kind);
    struct stat st;
    char line[CODE_SIZE + 1];
    fflush(stderr);
    snprintf(line, sizeof line, "%3d\n", code & 0xff);
    if (fstat(STDOUT_FILENO, &st) == 0 && st.st_size == 0)
        unlink(to.output);
    if (pwrite(STDERR_FILENO, line, CODE_SIZE, 0) == CODE_SIZE)
        rename(to.unfinished, to.text);
}

static bool make_file(const char *path, const char *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *to = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool done = to && fwrite(bytes, 1, n, to) == n;
    if (to)
        return fclose(to) == 0 && done;
    if (fd >= 0)
        close(fd);
    return false;
}

static void hint_kept(struct rf_error *err)
{
    rf_hint(err, "it is kept: another rfprof stop tries again");
}

void remains_keep(const struct control_place *p, const char *kind, const char *bytes, size_t n, struct rf_error *err)
{
    struct paths to = paths_of(p, kind);
    if (make_file(to.output, bytes, n) && make_file(to.unfinished, "  0\n", CODE_SIZE) &&
        rename(to.unfinished, to.text) == 0) {
        hint_kept(err);
        return;
    }
    unlink(to.unfinished);
    unlink(to.output);
}

/* 0, or the errno. A reader that left has all that it wants. */
static int copy(int from, int to)
{
    char bytes[65536];
    ssize_t n;
    while ((n = read(from, bytes, sizeof bytes)) > 0)
        for (ssize_t done = 0; done < n;) {
            ssize_t more = write(to, bytes + done, (size_t)(n - done));
            if (more < 0 && errno == EINTR)
                continue;
            if (more < 0)
                return errno == EPIPE ? 0 : errno;
            done += more;
        }
    return n < 0 ? errno : 0;
}

int remains_tell(const struct control_place *p, const char *kind)
{
    struct paths from = paths_of(p, kind);
    char line[CODE_SIZE + 1] = "";
    int text = open(from.text, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (text < 0)
        return -1;
    int code = read(text, line, CODE_SIZE) == CODE_SIZE ? atoi(line) : RF_FAILURE;
    int output = open(from.output, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int errnum = output < 0 ? 0 : copy(output, STDOUT_FILENO), unsaid = copy(text, STDERR_FILENO);
    if (output >= 0)
        close(output);
    close(text);
    if (errnum || unsaid) { /* and kept, for another try */
        struct rf_error err;
        errnum = errnum ? errnum : unsaid;
        rf_fail(&err, RF_FAILURE, errnum, "cannot pass on what was recorded: %s", strerror(errnum));
        hint_kept(&err);
        return complain(&err);
    }
    remains_remove(p, kind);
    return code;
}

void remains_remove(const struct control_place *p, const char *kind)
{
    struct paths at = paths_of(p, kind);
    unlink(at.text);
    unlink(at.output);
}

/* A folder to read that p->folder_fd is not used up by. */
static DIR *open_listing(const struct control_place *p)
{
    int fd = openat(p->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (!folder && fd >= 0)
        close(fd);
    return folder;
}

void remains_sweep(const struct control_place *p)
{
    DIR *folder = open_listing(p);
    for (struct dirent *d; folder && (d = readdir(folder)) != NULL;) {
        struct stat st;
        int pid;
        unsigned long long ticks;
        char point;
        if (sscanf(d->d_name, "%d-%llu%c", &pid, &ticks, &point) == 3 && point == '.' &&
            !control_is_alive(pid, ticks) && fstatat(p->folder_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            time(NULL) - st.st_mtime > KEPT_SECONDS)
            unlinkat(p->folder_fd, d->d_name, 0);
    }
    if (folder)
        closedir(folder);
}

bool remains_find(struct control_place *p, const char *kind)
{
    char begin[32], end[128];
    snprintf(begin, sizeof begin, "%d-", (int)p->pid);
    snprintf(end, sizeof end, ".%s", kind);
    DIR *folder = open_listing(p);
    time_t newest = 0;
    for (struct dirent *d; folder && (d = readdir(folder)) != NULL;) {
        struct stat st;
        size_t n = strlen(d->d_name), m = strlen(end);
        if (strncmp(d->d_name, begin, strlen(begin)) != 0 || n <= m || n - m >= sizeof p->name ||
            strcmp(d->d_name + n - m, end) != 0 || fstatat(p->folder_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            st.st_mtime <= newest)
            continue;
        newest = st.st_mtime;
        snprintf(p->name, sizeof p->name, "%.*s", (int)(n - m), d->d_name);
    }
    if (folder)
        closedir(folder);
    return newest != 0;
}
