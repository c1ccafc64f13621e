/* start.c: rfprof start: a recording in the background. The command returns after the first tick; what stays is the
 * recorder, a process of its own session and with none of the caller's descriptors, which does what `record` does until
 * it is stopped (stop.c), taken over by a later start, or its target ends. */
#include "console.h"
#include "control.h"
#include "recording.h"
#include "remains.h"
#include "target.h"
#include "verbs.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HAND_OVER_MS = 5000, FIRST_FREE_FD = 4 };

struct recorder {
    struct recording recording;
    struct options options;
    struct control_place place;
    char owner[OWNER_MAX + 1];
    int starter; /* `rfprof start` waits here for the exit code; -1 once it has it */
    int listener, connection;
    ino_t socket; /* of the listener's file: is it still ours? */
    enum { BY_ITSELF, STOPPED, HANDED_OVER, TAKEN } end;
    char kind[OWNER_MAX + 16]; /* of what remains; empty: nothing does */
};

/* Nothing of the caller's lives on in us: a target that runs this has its listening socket among its descriptors. The
 * working directory stays, since names of files are relative to it. */
static void detach(int *starter)
{
    sigset_t none;
    setsid();
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (*starter != FIRST_FREE_FD - 1)
        dup3(*starter, FIRST_FREE_FD - 1, O_CLOEXEC);
    *starter = FIRST_FREE_FD - 1;
    closefrom(FIRST_FREE_FD);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    close(null);
}

/* --- the recording's hooks -------------------------------------------------------------------------------- */

/* What is said after WATCH_ENDS goes to whoever asked for that. accept(2) may go on failing, for want of descriptors.
 */
static enum watch_result serve(void *ctx)
{
    struct recorder *c = ctx;
    struct control_message m;
    int fd[2], connection = control_accept(c->listener, &m, fd);
    if (connection < 0)
        return WATCH_RESTS;
    bool stop = m.wish == CONTROL_STOP, same = !strcmp(m.owner, c->owner);
    if (!stop && !control_is_awaited(connection)) { /* no longer: it gave up, and nobody would record */
        close(fd[0]);
        close(fd[1]);
        close(connection);
        return WATCH_GOES_ON;
    }
    c->connection = connection;
    if (stop || same)
        c->options.quiet = m.quiet != 0;
    c->end = stop ? STOPPED : same ? HANDED_OVER : TAKEN;
    if (stop)
        dup2(fd[0], STDOUT_FILENO);
    if (stop || same)
        dup2(fd[1], STDERR_FILENO);
    close(fd[0]);
    close(fd[1]);
    if (c->end == TAKEN && c->starter < 0) /* else its starter is still there to be told */
        remains_taken_kind(c->owner, c->kind, sizeof c->kind);
    return WATCH_ENDS;
}

static void say_who(const struct recorder *c)
{
    if (c->end == TAKEN)
        note("another start took %d over, and its recording goes on: nothing was stopped; what this one had %s",
             c->options.pid, c->options.n_outputs ? "is in its files" : "follows on stdout");
    else if (c->end == HANDED_OVER && !c->options.quiet)
        note("the earlier recording of %d ends here%s", c->options.pid,
             c->options.n_outputs ? "" : "; it had no -o, so its profile is gone");
}

static void ended(void *ctx)
{
    struct recorder *c = ctx;
    if (c->end == BY_ITSELF && c->starter < 0)
        snprintf(c->kind, sizeof c->kind, "%s", REMAINS_ENDED);
    if (c->kind[0] && !remains_begin(&c->place, c->kind))
        c->kind[0] = '\0';
    say_who(c);
}

/* An earlier recorder writes what it has and lets go. One that does not answer may have much yet to write, and where it
 * is stopped it goes on some time: two would then sample, and only the later could be found. */
static enum rf_status end_earlier(const struct recorder *c, struct rf_error *err)
{
    struct control_message m = {.wish = CONTROL_TAKE_OVER, .quiet = c->options.quiet};
    memcpy(m.owner, c->owner, sizeof m.owner);
    int earlier = control_connect(&c->place, false);
    if (earlier == CONTROL_GONE)
        return RF_OK;
    if (earlier == CONTROL_SILENT) { /* who it is, the kernel tells on a connection only */
        rf_fail(err, RF_FAILURE, 0, "the earlier recorder of %d does not answer, nor did it answer earlier starts",
                c->options.pid);
        rf_hint(err, "those named its process: kill -CONT lets it go on where it is stopped, kill -KILL ends it");
        return RF_FAILURE;
    }
    int answer = control_ask(earlier, &m, HAND_OVER_MS), its = control_recorder(earlier);
    close(earlier);
    if (answer != CONTROL_SILENT)
        return RF_OK;
    rf_fail(err, RF_FAILURE, 0, "the earlier recorder of %d, process %d, does not answer", c->options.pid, its);
    rf_hint(err,
            "where it is stopped, kill -CONT %d lets it go on; where it writes to what nobody reads, kill -KILL "
            "%d ends it",
            its, its);
    return RF_FAILURE;
}

/* One recording per target: the earlier one is over before this one is to be found. */
static enum rf_status take_over(void *ctx, struct rf_error *err)
{
    struct recorder *c = ctx;
    char path[700];
    struct stat st = {0};
    control_lock(&c->place);
    remains_sweep(&c->place);
    enum rf_status status = end_earlier(c, err);
    if (status == RF_OK) {
        remains_remove(&c->place, REMAINS_ENDED);
        remains_taken_kind(c->owner, path, sizeof path);
        remains_remove(&c->place, path);
        c->listener = control_listen(&c->place, err);
        status = c->listener >= 0 ? RF_OK : err->status;
    }
    control_path(&c->place, "sock", path, sizeof path);
    if (status == RF_OK && stat(path, &st) == 0)
        c->socket = st.st_ino;
    control_unlock(&c->place);
    c->recording.watch[0] = (struct recording_watch){c->listener, serve, c, 0};
    c->recording.n_watches = status == RF_OK;
    return status;
}

static void keep_unwritten(void *ctx, const char *bytes, size_t n, struct rf_error *err)
{
    const struct recorder *c = ctx;
    if (c->end == STOPPED)
        remains_keep(&c->place, REMAINS_ENDED, bytes, n, err);
}

static void begun(void *ctx)
{
    struct recorder *c = ctx;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    fflush(stderr);
    dup2(null, STDERR_FILENO);
    close(null);
    control_answer(c->starter, 0);
    close(c->starter);
    c->starter = -1;
}

/* --- the recorder ----------------------------------------------------------------------------------------- */

/* Somebody who is just taking over has the lock, and replaces the socket. */
static void remove_socket(const struct recorder *c)
{
    char path[700];
    struct stat st;
    control_path(&c->place, "sock", path, sizeof path);
    if (c->listener < 0 || c->end == TAKEN || c->end == HANDED_OVER || !control_try_lock(&c->place))
        return;
    if (stat(path, &st) == 0 && st.st_ino == c->socket)
        unlink(path);
    control_unlock(&c->place);
}

static _Noreturn void record(struct recorder *c)
{
    c->recording = (struct recording){.options = &c->options,
                                      .started_ns = rf_now_ns(),
                                      .background = true,
                                      .ctx = c,
                                      .opened = take_over,
                                      .begun = begun,
                                      .ended = ended,
                                      .unwritten = keep_unwritten};
    detach(&c->starter);
    struct rf_error err = {0};
    enum rf_status status = control_open(&c->place, c->options.pid, true, &err);
    int code = status == RF_OK ? recording_run(&c->recording) : complain(&err);
    fflush(stderr);
    if (c->kind[0])
        remains_end(&c->place, c->kind, c->end == TAKEN ? RF_TARGET : code);
    remove_socket(c);
    control_answer(c->starter, code);
    control_answer(c->connection, code);
    _exit(code);
}

int verb_start(const struct options *o, uint64_t started_ns)
{
    (void)started_ns;
    struct recorder c = {.options = *o, .starter = -1, .listener = -1, .connection = -1};
    struct rf_error err = {0};
    int pair[2];
    unsigned char code;
    if (!o->pid)
        return complain_usage("which process? -p PID is missing (rfprof alone lists those that can be profiled)");
    for (size_t i = 0; i < o->n_outputs; i++)
        if (!strcmp(o->output[i], "-") || !strcmp(o->output[i], "/dev/stdout"))
            return complain_usage("a recorder in the background has no stdout: without -o, that of rfprof stop gets "
                                  "the profile");
    c.options.pid = process_of(o->pid);
    if (c.options.pid == getpid()) /* the recorder is another process, to which that would be some target */
        return complain_usage("process %d is rfprof itself", (int)c.options.pid);
    if (o->owner)
        snprintf(c.owner, sizeof c.owner, "%s", o->owner);
    else
        control_default_owner(c.owner);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return complain((rf_fail(&err, RF_FAILURE, errno, "socketpair: %s", strerror(errno)), &err));
    fflush(NULL);
    pid_t recorder = fork();
    if (recorder == 0) {
        c.starter = pair[1];
        record(&c);
    }
    close(pair[1]);
    if (recorder < 0)
        return complain((rf_fail(&err, RF_FAILURE, errno, "cannot fork: %s", strerror(errno)), &err));
    if (recv(pair[0], &code, 1, 0) != 1)
        return complain((rf_fail(&err, RF_FAILURE, 0, "the recorder, process %d, ended unexpectedly", recorder), &err));
    if (code == 0 && !o->quiet)
        note("the recorder is process %d; rfprof stop -p %d ends the recording", recorder, c.options.pid);
    return code;
}
