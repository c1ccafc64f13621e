/* control.c: the folder, the sockets in it, and the one message. */
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATIENCE_MS = 200 }; /* with a client that connects and says nothing: ticks are waiting */

/* --- the place ------------------------------------------------------------------------------------------ */

/* Field 22 of /proc/PID/stat (proc(5)), counted behind the name, which may hold anything. */
static bool start_time(pid_t pid, unsigned long long *ticks)
{
    char path[32], stat[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, stat, sizeof stat - 1) : -1;
    if (fd >= 0)
        close(fd);
    stat[n > 0 ? n : 0] = '\0';
    char *p = strrchr(stat, ')');
    for (unsigned field = 2; p && field < 22; field++)
        p = strchr(p + 1, ' ');
    if (p)
        *ticks = strtoull(p, NULL, 10);
    return p != NULL;
}

bool control_is_alive(pid_t pid, unsigned long long ticks)
{
    unsigned long long now;
    return start_time(pid, &now) && now == ticks;
}

static void choose_folder(char *to, size_t size)
{
    const char *run = secure_getenv("XDG_RUNTIME_DIR");
    if (geteuid() == 0 && access("/run", W_OK) == 0)
        snprintf(to, size, "/run/rfprof");
    else if (geteuid() != 0 && run && run[0] == '/' && access(run, W_OK) == 0)
        snprintf(to, size, "%s/rfprof", run);
    else
        snprintf(to, size, "/tmp/rfprof-%u", (unsigned)geteuid());
}

/* What others may write to, or have put there, is not a place to listen in. */
static enum rf_status open_folder(struct control_place *p, bool make, struct rf_error *err)
{
    struct stat st;
    choose_folder(p->folder, sizeof p->folder);
    if (make && mkdir(p->folder, 0700) < 0 && errno != EEXIST)
        return rf_fail(err, RF_FAILURE, errno, "cannot make the folder %s: %s", p->folder, strerror(errno));
    p->folder_fd = open(p->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (p->folder_fd < 0 && errno == ENOENT && !make)
        return RF_OK;
    if (p->folder_fd < 0 || fstat(p->folder_fd, &st) < 0) {
        rf_fail(err, RF_FAILURE, errno, "cannot use the folder %s: %s", p->folder, strerror(errno));
        rf_hint(err, "it must be a folder of yours, and no symlink");
        return RF_FAILURE;
    }
    if (st.st_uid == geteuid() && !(st.st_mode & 077))
        return RF_OK;
    rf_fail(err, RF_PERMISSION, 0, "the folder %s is not safe: it must be yours, and closed to others", p->folder);
    rf_hint(err, "its owner is uid %u, its mode %03o; remove it, or ask its owner to", (unsigned)st.st_uid,
            (unsigned)st.st_mode & 0777);
    return RF_PERMISSION;
}

enum rf_status control_open(struct control_place *p, pid_t pid, bool make, struct rf_error *err)
{
    unsigned long long ticks;
    *p = (struct control_place){.folder_fd = -1, .pid = pid};
    if (start_time(pid, &ticks))
        snprintf(p->name, sizeof p->name, "%d-%llu", (int)pid, ticks);
    return open_folder(p, make, err);
}

void control_close(struct control_place *p)
{
    if (p->folder_fd >= 0)
        close(p->folder_fd);
    p->folder_fd = -1;
}

void control_path(const struct control_place *p, const char *suffix, char *to, size_t size)
{
    snprintf(to, size, "%s/%s.%s", p->folder, p->name, suffix);
}

void control_lock(const struct control_place *p)
{
    while (flock(p->folder_fd, LOCK_EX) < 0 && errno == EINTR)
        ;
}

bool control_try_lock(const struct control_place *p)
{
    return flock(p->folder_fd, LOCK_EX | LOCK_NB) == 0;
}

void control_unlock(const struct control_place *p)
{
    flock(p->folder_fd, LOCK_UN);
}

void control_default_owner(char owner[static OWNER_MAX + 1])
{
    snprintf(owner, OWNER_MAX + 1, "session-%d", (int)getsid(0));
}

/* --- sockets -------------------------------------------------------------------------------------------- */

static bool address(const struct control_place *p, struct sockaddr_un *to)
{
    char path[600];
    *to = (struct sockaddr_un){.sun_family = AF_UNIX};
    control_path(p, "sock", path, sizeof path);
    if (!p->name[0] || strlen(path) >= sizeof to->sun_path)
        return false;
    strcpy(to->sun_path, path);
    return true;
}

int control_listen(const struct control_place *p, struct rf_error *err)
{
    struct sockaddr_un at;
    errno = ENAMETOOLONG;
    int fd = address(p, &at) ? socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
    if (fd >= 0) {
        unlink(at.sun_path);
        mode_t mask = umask(0177);
        bool listens = bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 8) == 0;
        int why = errno;
        umask(mask);
        errno = why;
        if (listens)
            return fd;
        close(fd);
        errno = why;
    }
    rf_fail(err, RF_FAILURE, errno, "cannot listen in %s: %s", p->folder, strerror(errno));
    return -1;
}

/* Descriptors that came with a message, two at most; others than two are closed again. */
static bool take_fds(struct msghdr *h, int fd[2])
{
    struct cmsghdr *c = CMSG_FIRSTHDR(h);
    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
        return false;
    size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(fd, CMSG_DATA(c), (n < 2 ? n : 2) * sizeof(int));
    if (n == 1)
        close(fd[0]);
    return n == 2;
}

static bool may_ask(int connection)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

int control_accept(int listener, struct control_message *m, int fd[2])
{
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(2 * sizeof(int))];
    } ancillary;
    int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    struct pollfd wait = {connection, POLLIN, 0};
    struct iovec part = {m, sizeof *m};
    struct msghdr h = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &ancillary, .msg_controllen = sizeof ancillary};
    if (connection < 0)
        return -1;
    bool understood = false;
    if (may_ask(connection) && poll(&wait, 1, PATIENCE_MS) > 0) {
        ssize_t n = recvmsg(connection, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        bool fds = n >= 0 && take_fds(&h, fd);
        understood = fds && n == sizeof *m && !m->owner[OWNER_MAX];
        if (fds && !understood) {
            close(fd[0]);
            close(fd[1]);
        }
    }
    if (understood)
        return connection;
    close(connection);
    return -1;
}

bool control_is_awaited(int connection)
{
    struct pollfd gone = {.fd = connection}; /* POLLHUP is told unasked */
    return poll(&gone, 1, 0) == 0;
}

void control_answer(int connection, int code)
{
    unsigned char byte = (unsigned char)code;
    if (connection >= 0 && send(connection, &byte, 1, MSG_NOSIGNAL) < 0)
        return; /* who asked has gone */
}

int control_connect(const struct control_place *p, bool waits)
{
    struct sockaddr_un at;
    int type = SOCK_SEQPACKET | SOCK_CLOEXEC | (waits ? 0 : SOCK_NONBLOCK);
    int fd = p->folder_fd >= 0 && address(p, &at) ? socket(AF_UNIX, type, 0) : -1;
    if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) < 0) {
        int why = errno;
        close(fd);
        return why == EAGAIN ? CONTROL_SILENT : CONTROL_GONE;
    }
    return fd >= 0 ? fd : CONTROL_GONE;
}

int control_ask(int connection, const struct control_message *m, int at_most_ms)
{
    const int fd[2] = {STDOUT_FILENO, STDERR_FILENO};
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(sizeof fd)];
    } ancillary = {0};
    struct iovec part = {(void *)(uintptr_t)m, sizeof *m};
    struct msghdr h = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &ancillary, .msg_controllen = sizeof ancillary};
    struct cmsghdr *c = CMSG_FIRSTHDR(&h);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), fd, sizeof fd);
    unsigned char code;
    struct pollfd wait = {connection, POLLIN, 0};
    if (sendmsg(connection, &h, MSG_NOSIGNAL) < 0)
        return CONTROL_GONE;
    if (poll(&wait, 1, at_most_ms) <= 0)
        return CONTROL_SILENT;
    return recv(connection, &code, 1, 0) == 1 ? code : CONTROL_GONE;
}

pid_t control_recorder(int connection)
{
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size); /* of listen(2), socket(7) */
    return peer.pid;
}
