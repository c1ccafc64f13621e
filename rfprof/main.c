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

static int no_command(const char *name)
{
    struct rf_error err;
    const struct verb *meant = verb_like(name);
    rf_fail(&err, RF_USAGE, 0, "there is no command '%s'", name);
    if (meant)
        rf_hint(&err, "rfprof %s: %s", meant->name, meant->about);
    rf_hint(&err, "rfprof --help lists commands and options");
    return complain(&err);
}

/* "rfprof help", "rfprof help COMMAND": as --help. */
static int help(const char *name)
{
    const struct verb *verb = name ? verb_named(name) : NULL;
    if (name && !verb)
        return no_command(name);
    if (verb)
        help_verb(stdout, verb);
    else
        help_all(stdout);
    return close_stdout(0);
}

int main(int argc, char **argv)
{
    uint64_t started_ns = rf_now_ns();
    occupy_standard_descriptors();
    if (!setlocale(LC_CTYPE, ""))
        setlocale(LC_CTYPE, "C.UTF-8");
    if (argc > 1 && !strcmp(argv[1], "help"))
        return help(argv[2]);
    const struct verb *verb = argc > 1 ? verb_named(argv[1]) : verb_named("check");
    bool named = argc > 1 && verb;
    argv += named;
    argc -= named;
    if (!verb && argv[1][0] != '-' && !parse_pid(argv[1]))
        return no_command(argv[1]);
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
