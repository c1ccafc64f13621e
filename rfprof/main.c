/* main.c: rfprof, a sampling profiler for live RayforceDB processes: which verb was meant, and off. */
#include "console.h"
#include "verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>

static const char version[] = "0.1.0";

static const struct verb {
    const char *name, *synopsis, *about;
    unsigned bit;
    int (*run)(const struct options *o, uint64_t started_ns);
} verbs[] = {
    {"record", "[record] -p PID [-d SEC] [options]", "sample a live process (what is done without a command)",
     FOR_RECORD, verb_record},
    {"check", "check [-p PID]", "can it be profiled, what was found? without -p: which processes can?", FOR_CHECK,
     verb_check},
    {"layout", "layout FILE", "the layout found in an ELF file, in the form of the catalog", FOR_LAYOUT, verb_layout},
};
enum { VERBS = sizeof verbs / sizeof verbs[0], RECORD = 0, CHECK = 1 };

static void help(FILE *to)
{
    fputs("rfprof: which Rayfall line of a live RayforceDB process burns the CPU?\n\n", to);
    for (size_t i = 0; i < VERBS; i++)
        fprintf(to, "%s rfprof %s\n", i ? "      " : "usage:", verbs[i].synopsis);
    putc('\n', to);
    for (size_t i = 0; i < VERBS; i++)
        fprintf(to, "  %-8s %s\n", verbs[i].name, verbs[i].about);
    putc('\n', to);
    options_help(to);
    fputs("\nexamples:\n"
          "  rfprof -p 4242 -d 30\n"
          "  rfprof -p 4242 -d 30 > cpu.tsv\n"
          "  rfprof -p 4242 -d 30 | flamegraph.pl > cpu.svg\n",
          to);
}

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
    uint64_t started_ns = now_ns();
    occupy_standard_descriptors();
    if (!setlocale(LC_CTYPE, ""))
        setlocale(LC_CTYPE, "C.UTF-8");
    const struct verb *verb = argc > 1 ? &verbs[RECORD] : &verbs[CHECK];
    for (size_t i = 0; argc > 1 && i < VERBS; i++) {
        if (strcmp(argv[1], verbs[i].name))
            continue;
        verb = &verbs[i];
        argv++;
        argc--;
        break;
    }
    struct options o;
    int status = options_parse(&o, verb->bit, verb->name, argc, argv);
    if (status)
        return status;
    if (o.help)
        help(stdout);
    else if (o.version)
        printf("rfprof %s\n", version);
    else
        status = verb->run(&o, started_ns);
    return close_stdout(status);
}
