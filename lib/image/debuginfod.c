/* debuginfod.c: asks a debuginfod server through elfutils' client library.
 *
 * The library brings a web client and TLS with it, and waits as long as it likes. So it is loaded only when somebody
 * asked for it, and in a child: that can be ended when its time is over, and what a server sends is never near a
 * process that traces others. The file stays in the cache that other tools use (debuginfod_find_debuginfo(3)). */
#include "debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAIT_MS = 5000 };

/* The child's exit status, else an errno of the client's. */
enum { FETCHED = 0, NO_LIBRARY = 255 };

struct debuginfod_client;

/* In the child: writes the path of the file into the pipe. */
static int fetch(const char *build_id, int to)
{
    struct debuginfod_client *(*begin)(void);
    int (*find)(struct debuginfod_client *, const unsigned char *id, int size, char **path);
    char *path = NULL;
    void *library = dlopen("libdebuginfod.so.1", RTLD_NOW);
    if (!library)
        return NO_LIBRARY;
    *(void **)&begin = dlsym(library, "debuginfod_begin");
    *(void **)&find = dlsym(library, "debuginfod_find_debuginfo");
    struct debuginfod_client *client = begin && find ? begin() : NULL;
    if (!client)
        return NO_LIBRARY;
    int fd = find(client, (const unsigned char *)build_id, 0, &path); /* size 0: it is in hex */
    if (fd < 0)
        return -fd < NO_LIBRARY ? -fd : EIO;
    size_t n = path ? strlen(path) : 0;
    return n && write(to, path, n) == (ssize_t)n ? FETCHED : EIO;
}

static _Noreturn void be_child(const char *build_id, int to)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int fd = 0; fd <= 2 && null >= 0; fd++)
        dup2(null, fd);
    _exit(fetch(build_id, to));
}

/* The path that the child writes, until it ends or its time is over. False when it is. */
static bool read_path(int from, char *path, size_t size)
{
    struct pollfd p = {.fd = from, .events = POLLIN};
    size_t n = 0;
    while (poll(&p, 1, WAIT_MS) == 1) {
        ssize_t r = read(from, path + n, size - 1 - n);
        if (r <= 0) {
            path[n] = '\0';
            return r == 0;
        }
        n += (size_t)r;
    }
    path[n] = '\0';
    return false;
}

static enum rf_status explain(int status, bool late, const char *build_id, struct rf_error *err)
{
    if (late)
        return rf_fail(err, RF_FAILURE, 0, "debuginfod did not answer within %d s", WAIT_MS / 1000);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
    if (code == NO_LIBRARY) {
        rf_fail(err, RF_FAILURE, 0, "--debuginfod needs libdebuginfod.so.1");
        rf_hint(err, "on Debian: apt-get install libdebuginfod1");
        return RF_FAILURE;
    }
    rf_fail(err, RF_FAILURE, code, "debuginfod has no debug information of build %s: %s", build_id, strerror(code));
    rf_hint(err, "asked: %s", getenv("DEBUGINFOD_URLS"));
    return RF_FAILURE;
}

enum rf_status rf_debuginfod_fetch(const char *build_id, int *fd, struct rf_error *err)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    char path[PATH_MAX];
    int pipes[2], status = 0;
    if (!urls || !*urls) {
        rf_fail(err, RF_FAILURE, 0, "--debuginfod: DEBUGINFOD_URLS is not set");
        rf_hint(err, "it names the servers to ask; under sudo: sudo --preserve-env=DEBUGINFOD_URLS rfprof ...");
        return RF_FAILURE;
    }
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return rf_fail(err, RF_FAILURE, errno, "cannot make a pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0)
        be_child(build_id, pipes[1]);
    close(pipes[1]);
    if (child < 0) {
        close(pipes[0]);
        return rf_fail(err, RF_FAILURE, errno, "cannot start a process: %s", strerror(errno));
    }
    bool late = !read_path(pipes[0], path, sizeof path);
    close(pipes[0]);
    if (late)
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (late || !WIFEXITED(status) || WEXITSTATUS(status) != FETCHED)
        return explain(status, late, build_id, err);
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    return *fd >= 0 ? RF_OK : rf_fail(err, RF_FAILURE, errno, "cannot open %s: %s", path, strerror(errno));
}
