/* main.c: rfprof, a sampling profiler for live RayforceDB processes: which verb was meant, and off. */
#include "console.h"
#include "help.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>

static const char version[] = "0.1.0";

/* Without this, a descriptor opened later could become stdout. Read-only, so that writing to a closed stdout
 * fails as it should. */
static void occupy_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", O_RDONLY);
}

static int close_stdout(int status)
{
    if (!ferror(stdout) && fflush(stdout) == 0)
        return status;
    if (errno == EPIPE)
        return status;
    struct rf_error err;
    return complain((rf_fail(&err, RF_FAILURE, errno, "cannot write to stdout: %s", strerror(errno)), &err));
}

int main(int argc, char **argv)
{
    uint64_t started_ns = rf_now_ns();
    occupy_standard_descriptors();
    if (!setlocale(LC_CTYPE, ""))
        setlocale(LC_CTYPE, "C.UTF-8");
    const struct verb *verb = argc > 1 ? verb_named(argv[1]) : verb_named("check");
    bool named = argc > 1 && verb;
    argv += named;
    argc -= named;
    if (!verb)
        verb = verbs_table();
    struct options o;
    int status = options_parse(&o, verb->bit, verb->name, argc, argv);
    if (status)
        return status;
    if (o.help && named)
        help_verb(stdout, verb);
    else if (o.help)
        help_all(stdout);
    else if (o.version)
        printf("rfprof %s\n", version);
    else
        status = verb->run(&o, started_ns);
    return close_stdout(status);
}
