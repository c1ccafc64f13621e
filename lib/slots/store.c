/* store.c: one file a build. What is read is checked as if somebody else might have put it there: the folder and the
 * file must belong to the effective user and be writable by nobody else, and the text is parsed strictly. */
#include "store.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 256 * 1024, NAME_BYTES = 160, HEADER_BYTES = 256, VERSION = 2 };

static int enter(int dir, const char *name)
{
    mkdirat(dir, name, 0700);
    return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* ~/.cache/rfprof, made when missing; -1 without one of our own. */
static int open_folder(void)
{
    struct passwd entry, *found = NULL;
    char buffer[4096];
    struct stat st;
    if (getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) != 0 || !found || found->pw_dir[0] != '/')
        return -1;
    int home = open(found->pw_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int cache = home < 0 ? -1 : enter(home, ".cache");
    int ours = cache < 0 ? -1 : enter(cache, "rfprof");
    if (home >= 0)
        close(home);
    if (cache >= 0)
        close(cache);
    if (ours >= 0 && (fstat(ours, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & 022))) {
        close(ours);
        ours = -1;
    }
    return ours;
}

/* Build-ids are hex; anything else names no file. */
static bool file_name(char name[NAME_BYTES], const char *build_id)
{
    if (!*build_id || strspn(build_id, "0123456789abcdef") != strlen(build_id))
        return false;
    int n = snprintf(name, NAME_BYTES, "%s.slots", build_id);
    return n > 0 && n < NAME_BYTES;
}

static int header(char text[HEADER_BYTES], const char *build_id, uint64_t size)
{
    return snprintf(text, HEADER_BYTES, "# rfprof slots %d %s %" PRIu64 "\n", VERSION, build_id, size);
}

static bool own_file(int fd, off_t *size)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022) ||
        st.st_size <= 0 || st.st_size > FILE_MAX)
        return false;
    *size = st.st_size;
    return true;
}

bool rf_store_load(struct rf_slotmap *out, const char *build_id, uint64_t size)
{
    char name[NAME_BYTES], first[HEADER_BYTES], *text = NULL;
    off_t n = 0;
    unsigned line;
    int folder = file_name(name, build_id) ? open_folder() : -1;
    int fd = folder < 0 ? -1 : openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool ok = fd >= 0 && own_file(fd, &n) && (text = malloc((size_t)n)) && read(fd, text, (size_t)n) == n;
    int head = header(first, build_id, size);
    ok = ok && head < HEADER_BYTES && n > head && memcmp(text, first, (size_t)head) == 0 &&
         rf_slotmap_parse(out, text, (size_t)n, &line);
    free(text);
    if (fd >= 0)
        close(fd);
    if (folder >= 0)
        close(folder);
    return ok;
}

static bool write_all(int fd, const struct rf_slotmap *map, const char *build_id, uint64_t size)
{
    char first[HEADER_BYTES];
    FILE *to = fdopen(fd, "w");
    if (!to) {
        close(fd);
        return false;
    }
    header(first, build_id, size);
    fputs(first, to);
    rf_slotmap_print(map, to);
    bool ok = !ferror(to);
    return fclose(to) == 0 && ok;
}

void rf_store_save(const struct rf_slotmap *map, const char *build_id, uint64_t size)
{
    char name[NAME_BYTES], temporary[NAME_BYTES + 32];
    int folder = file_name(name, build_id) ? open_folder() : -1;
    if (folder < 0)
        return;
    snprintf(temporary, sizeof temporary, "%s.%d", name, (int)getpid());
    unlinkat(folder, temporary, 0); /* of an rfprof that had our pid and was killed: nobody else has it now */
    int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && (!write_all(fd, map, build_id, size) || renameat(folder, temporary, folder, name) != 0))
        unlinkat(folder, temporary, 0);
    close(folder);
}
