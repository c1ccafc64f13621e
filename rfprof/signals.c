/* signals.c: signals as data. */
#include "signals.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum rf_status signals_catch(const int *numbers, size_t n, sigset_t *caught, int *fd, struct rf_error *err)
{
    sigemptyset(caught);
    for (size_t i = 0; i < n; i++) {
        struct sigaction now;
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(caught, numbers[i]);
    }
    sigprocmask(SIG_BLOCK, caught, NULL);
    signal(SIGPIPE, SIG_IGN); /* EPIPE says the same, where it can be handled; so does EFBIG */
    signal(SIGXFSZ, SIG_IGN);
    *fd = signalfd(-1, caught, SFD_CLOEXEC | SFD_NONBLOCK);
    return *fd < 0 ? rf_fail(err, RF_FAILURE, errno, "signalfd: %s", strerror(errno)) : RF_OK;
}

int signals_next(int fd)
{
    struct signalfd_siginfo info;
    return read(fd, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}
