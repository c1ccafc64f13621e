/* top.c: rfprof top: what burns the CPU now? A page each second, on the terminal or as text.
 *
 * Sampling goes on in the same loop, between the keys: a key or a page is served between two ticks, when nothing of
 * the target is held. Whatever ends the loop, the terminal is given back before anything else is said. */
#include "top.h"
#include "console.h"
#include "signals.h"
#include "target.h"
#include "verbs.h"

#include "clock.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Pages of a batch: columns, where it is no terminal that has its own, and lines at most. */
enum { BATCH_WIDTH = 120, BATCH_HEIGHT = 44 };
static const uint64_t SECOND = 1000000000;
/* A page that takes long to make comes less often: the time between two is so many times what one takes. */
static const uint64_t PAGE_SHARE = 50;

struct top {
    const struct options *options;
    struct rf_session *session;
    struct screen *screen; /* NULL: batch */
    struct top_model model;
    sigset_t caught;
    int signals;
    uint64_t end_ns, next_page_ns, page_ns; /* page_ns: when the last one was made; 0: none was */
    size_t from, shown;                     /* the row at the top; how many there is room for */
    bool paused, help, leave;
};

static enum rf_status open_session(struct top *t, struct rf_error *err)
{
    const struct options *o = t->options;
    struct rf_session_options how = {.pid = o->pid,
                                     .rate_hz = o->rate,
                                     .layout = o->layout,
                                     .max_stop_percent = o->max_stop,
                                     .want_source = true,
                                     .want_query = true,
                                     .want_builtin = true,
                                     .want_threads = true,
                                     .want_native = o->view == RF_VIEW_NATIVE};
    enum rf_status status = rf_session_open(&t->session, &how, err);
    if (status == RF_OK && o->full_paths && !rf_session_folder(t->session))
        status = rf_fail(err, RF_FAILURE, 0, "cannot read the working directory of %d, for --full-paths", o->pid);
    return status;
}

static enum rf_status catch_signals(struct top *t, struct rf_error *err)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
    size_t n = sizeof numbers / sizeof *numbers;
    /* a batch has no terminal to put in order first */
    return signals_catch(numbers, t->options->batch ? n - 4 : n, &t->caught, &t->signals, err);
}

static struct top_page page_of(const struct top *t, const char *remark)
{
    return (struct top_page){.model = &t->model, .options = t->options, .from = t->from, .remark = remark};
}

static void draw(struct top *t)
{
    struct top_page page = page_of(t, t->paused ? " paused" : " ? help");
    struct top_paper paper = screen_paper(t->screen);
    size_t rows = t->model.rows->n;
    t->shown = page_rows(&paper);
    if (page.from + t->shown > rows)
        page.from = t->from = rows > t->shown ? rows - t->shown : 0;
    if (t->help)
        page_help(rf_session_describe(t->session), &paper);
    else
        page_draw(&page, &paper);
    screen_show(t->screen);
}

/* The size of the terminal, as far as it can be told. */
static struct winsize terminal_size(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_col || !size.ws_row)
        size = (struct winsize){.ws_col = 80, .ws_row = 24};
    return size;
}

/* Writes to stdout, in pieces that a pipe takes at once when it has room. While nobody reads, a signal ends the program
 * as it always does. */
static enum rf_status put_out(const struct top *t, const char *bytes, size_t n, struct rf_error *err)
{
    while (n) {
        struct pollfd fds[] = {{STDOUT_FILENO, POLLOUT, 0}, {t->signals, POLLIN, 0}};
        if (poll(fds, 2, -1) > 0 && !fds[0].revents)
            sigprocmask(SIG_UNBLOCK, &t->caught, NULL);
        if (!fds[0].revents)
            continue;
        ssize_t written = write(STDOUT_FILENO, bytes, n < PIPE_BUF ? n : PIPE_BUF);
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return rf_fail(err, RF_FAILURE, errno, "cannot write to stdout: %s", strerror(errno));
        bytes += written > 0 ? written : 0;
        n -= written > 0 ? (size_t)written : 0;
    }
    return RF_OK;
}

static enum rf_status print(const struct top *t, size_t width, size_t height, struct rf_error *err)
{
    struct top_page page = page_of(t, NULL);
    char *bytes;
    size_t n;
    enum rf_status status = batch_print(&page, width, height, &bytes, &n, err);
    if (status == RF_OK)
        status = put_out(t, bytes, n, err);
    free(bytes);
    return status;
}

/* Makes a page and shows it. */
static enum rf_status look(struct top *t, struct rf_error *err)
{
    uint64_t now = rf_now_ns();
    enum rf_status status = t->paused ? RF_OK : model_look(&t->model, t->session, now, err);
    if (status != RF_OK)
        return status;
    uint64_t cost = (rf_now_ns() - now) * PAGE_SHARE, between = cost > SECOND ? cost : SECOND;
    t->page_ns = now;
    t->next_page_ns += between;
    if (t->next_page_ns <= now) /* this one was late */
        t->next_page_ns = now + between;
    if (!t->screen)
        return print(t, isatty(STDOUT_FILENO) ? terminal_size().ws_col : BATCH_WIDTH, BATCH_HEIGHT, err);
    draw(t);
    return RF_OK;
}

/* Ctrl-Z: the terminal first, then as the signal always does. Returns when the program goes on. */
static void stop_here(struct top *t)
{
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    screen_leave(t->screen);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, NULL);
    sigprocmask(SIG_BLOCK, &stop, NULL);
    screen_resize(t->screen);
    draw(t);
}

static void serve_signals(struct top *t)
{
    int number;
    while (!t->leave && (number = signals_next(t->signals))) {
        if (number == SIGTSTP) {
            stop_here(t);
        } else if (number == SIGWINCH || number == SIGCONT) {
            screen_resize(t->screen);
            draw(t);
        } else {
            t->leave = true;
        }
    }
}

static void turn_view(struct top *t, size_t by)
{
    t->model.at = (t->model.at + by) % t->model.n_views;
    t->from = 0;
}

/* What a key does. True when the rows are others now. */
static bool obey(struct top *t, enum screen_key key)
{
    struct top_model *m = &t->model;
    if (t->help && key != PRESSED_LEAVE) { /* any key leaves it */
        t->help = false;
        return false;
    }
    switch (key) {
    case PRESSED_LEAVE:
        t->leave = true;
        return false;
    case PRESSED_NEXT_VIEW:
        turn_view(t, 1);
        return true;
    case PRESSED_PREVIOUS_VIEW:
        turn_view(t, m->n_views - 1);
        return true;
    case PRESSED_BY_SELF:
    case PRESSED_BY_TOTAL:
        m->by_total = key == PRESSED_BY_TOTAL;
        return true;
    case PRESSED_OTHER_TIME:
        m->by_all = !m->by_all;
        return true;
    case PRESSED_PAUSE:
        t->paused = !t->paused;
        t->next_page_ns = t->paused ? t->next_page_ns : 0; /* at once */
        return false;
    case PRESSED_HELP:
        t->help = true;
        return false;
    case PRESSED_ROW_UP:
        t->from -= t->from > 0;
        return false;
    case PRESSED_ROW_DOWN:
        t->from++;
        return false;
    case PRESSED_PAGE_UP:
        t->from -= t->from < t->shown ? t->from : t->shown;
        return false;
    case PRESSED_PAGE_DOWN:
        t->from += t->shown;
        return false;
    case PRESSED_HOME:
        t->from = 0;
        return false;
    case PRESSED_NOTHING:
    case PRESSED_OTHER:
        break;
    }
    return false;
}

static enum rf_status serve_keys(struct top *t, struct rf_error *err)
{
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};
    enum rf_status status = RF_OK;
    if (!t->screen || poll(&in, 1, 0) <= 0)
        return RF_OK;
    if (in.revents & (POLLHUP | POLLERR | POLLNVAL)) /* the terminal has gone */
        t->leave = true;
    enum screen_key key;
    while (!t->leave && status == RF_OK && (key = screen_key(t->screen)) != PRESSED_NOTHING)
        if (obey(t, key))
            status = model_list(&t->model, t->session, err);
    if (!t->leave && status == RF_OK)
        draw(t);
    return status;
}

static void wait_until(const struct top *t, uint64_t until)
{
    struct pollfd fds[] = {
        {t->signals, POLLIN, 0}, {rf_session_pidfd(t->session), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    uint64_t now = rf_now_ns();
    uint64_t left = until > now ? until - now : 0;
    struct timespec wait = {.tv_sec = (time_t)(left / SECOND), .tv_nsec = (long)(left % SECOND)};
    ppoll(fds, t->screen ? 3 : 2, &wait, NULL);
}

/* Until the user, the clock, the target or an error ends it. */
static enum rf_status run(struct top *t, struct rf_error *err)
{
    enum rf_status status = RF_OK;
    while (status == RF_OK && target_state(t->session) == RF_RUNNING) {
        serve_signals(t);
        if (!t->leave)
            status = serve_keys(t, err);
        uint64_t now = rf_now_ns(), tick = rf_session_next_ns(t->session);
        if (t->leave || status != RF_OK)
            break;
        if (now >= t->next_page_ns)
            status = look(t, err);
        else if (now >= t->end_ns)
            break;
        else if (now >= tick)
            status = rf_session_tick(t->session, err);
        else
            wait_until(t, tick < t->next_page_ns ? tick : t->next_page_ns < t->end_ns ? t->next_page_ns : t->end_ns);
    }
    return status;
}

/* What is left to say at the end. Where the target ended, the last page stays to be read on the terminal, too. */
static enum rf_status last_page(struct top *t, struct rf_error *err)
{
    enum rf_target_state state = target_state(t->session);
    struct winsize size = terminal_size();
    enum rf_status status = RF_OK;
    bool all_said = t->page_ns && rf_now_ns() - t->page_ns < SECOND / 4;
    if (t->options->batch && (state != RF_RUNNING || !all_said)) {
        status = look(t, err);
    } else if (state != RF_RUNNING) {
        status = model_look(&t->model, t->session, rf_now_ns(), err);
        /* a line below it says what happened, and the prompt needs another */
        if (status == RF_OK)
            status = print(t, size.ws_col, size.ws_row > 5 ? size.ws_row - 3u : 2u, err);
    }
    if (state != RF_RUNNING)
        note(state == RF_EXECED ? "%d executed another program" : "%d ended", t->options->pid);
    return status;
}

static enum rf_status show(struct top *t, struct rf_error *err)
{
    const struct options *o = t->options;
    enum rf_status status = catch_signals(t, err);
    if (status == RF_OK && o->batch)
        setlocale(LC_CTYPE, "C.UTF-8"); /* like every other output */
    if (status == RF_OK)
        status = open_session(t, err);
    uint64_t now = rf_now_ns();
    if (status == RF_OK)
        status = model_start(&t->model, o, t->session, now, err);
    if (status == RF_OK && !o->batch)
        status = screen_open(&t->screen, err);
    if (status != RF_OK)
        return status;
    prctl(PR_SET_TIMERSLACK, 1); /* as in recording.c */
    t->next_page_ns = now + SECOND;
    t->end_ns = o->duration > 0 ? now + (uint64_t)llround(o->duration * 1e9) : UINT64_MAX;
    status = t->screen ? look(t, err) : RF_OK;
    if (status == RF_OK)
        status = run(t, err);
    screen_close(t->screen);
    t->screen = NULL;
    return status == RF_OK ? last_page(t, err) : status;
}

int verb_top(const struct options *o, uint64_t started_ns)
{
    struct options own = *o;
    struct top t = {.options = &own, .signals = -1};
    struct rf_error err = {0};
    (void)started_ns;
    if (!o->pid)
        return complain_usage("which process? -p PID is missing (rfprof alone lists those that can be profiled)");
    if (o->view == RF_VIEW_EXPR)
        return complain_usage("--by expr: top has rows by line, with their text, but not by expression");
    own.pid = process_of(o->pid);
    if (own.pid != o->pid)
        note("%d is a thread of process %d, which is sampled", o->pid, own.pid);
    enum rf_status status = show(&t, &err);
    screen_close(t.screen);
    model_end(&t.model);
    rf_session_close(t.session);
    if (t.signals >= 0)
        close(t.signals);
    bool reader_left = status == RF_FAILURE && err.errnum == EPIPE;
    return status == RF_OK || reader_left ? 0 : complain(&err);
}
