/* control.h: how a later command finds the recorder that `rfprof start` left behind, and talks to it.
 *
 * Each recorder listens on a socket, unix(7), named by its target's pid and start time, so that a pid that was given to
 * another process meets none. The sockets are mode 0600 in a folder of ours, mode 0700: /run/rfprof for root,
 * $XDG_RUNTIME_DIR/rfprof, else /tmp/rfprof-UID. A folder that is a symlink, another's, or open to others is refused.
 * Who connects must be the same user, or root (SO_PEERCRED).
 *
 * A message says what is wanted and by whom, and brings two descriptors: the stdout and stderr that the recorder uses
 * from then on. So what it has to say at its end reaches whoever ended it. The answer is one byte, an exit code, sent
 * when the files are complete. */
#ifndef CONTROL_H
#define CONTROL_H

#include "rfprof.h"

enum { OWNER_MAX = 64 };

struct control_place {
    char folder[512];
    int folder_fd; /* -1: there is none yet */
    char name[64]; /* of the target, "4242-118273"; empty when there is no such process */
    pid_t pid;
};

enum control_wish {
    CONTROL_STOP = 1,
    CONTROL_TAKE_OVER, /* a later recorder: end, since I begin */
};

struct control_message {
    uint32_t wish; /* enum control_wish */
    uint32_t quiet;
    char owner[OWNER_MAX + 1];
};

/* Where the recorder of this process would be. make: creates the folder where there is none. A process that does not
 * exist is no error: what was recorded of it may still be there. */
enum rf_status control_open(struct control_place *p, pid_t pid, bool make, struct rf_error *err);
void control_close(struct control_place *p);
/* Is the process of this pid and start time (/proc/PID/stat field 22) still there? */
bool control_is_alive(pid_t pid, unsigned long long ticks);
/* "FOLDER/NAME.suffix" */
void control_path(const struct control_place *p, const char *suffix, char *to, size_t size);
/* One command at a time changes what is in the folder. */
void control_lock(const struct control_place *p);
bool control_try_lock(const struct control_place *p);
void control_unlock(const struct control_place *p);

/* In the recorder. Replaces a socket on which nobody listens any more. -1 with err filled. */
int control_listen(const struct control_place *p, struct rf_error *err);
/* The next who has a wish: a connection to answer on, *fd[0] and *fd[1] its stdout and stderr. -1: nobody, or somebody
 * who may not, or makes no sense. */
int control_accept(int listener, struct control_message *m, int fd[2]);
/* Does who asked on the connection still wait for the answer? */
bool control_is_awaited(int connection);
void control_answer(int connection, int code);

enum { CONTROL_GONE = -1, CONTROL_SILENT = -2 };
/* For the others. CONTROL_GONE: nobody listens. CONTROL_SILENT: who does has not accepted those that came before us, as
 * many as may wait; with `waits` we wait for that. */
int control_connect(const struct control_place *p, bool waits);
/* Sends the wish with our stdout and stderr, and waits for the answer: the exit code; CONTROL_GONE when the recorder
 * ended without one, CONTROL_SILENT when there was none within so many milliseconds (-1: any). */
int control_ask(int connection, const struct control_message *m, int at_most_ms);
/* Whose connection it is: the recorder's process. */
pid_t control_recorder(int connection);

/* Whose recordings the caller's are, when he does not say: those of his login session. */
void control_default_owner(char owner[static OWNER_MAX + 1]);

#endif
