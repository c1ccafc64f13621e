/* procfs.h: small files of /proc and the few of their fields that target/ needs (proc(5)). Only for lib/target. */
#ifndef RF_PROCFS_H
#define RF_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads at most n - 1 bytes of the file at dir_fd/name and ends them with a zero. False when there are none. */
bool rf_procfs_read(int dir_fd, const char *name, char *to, size_t n);

/* The number behind "Key:" in the text of a status file; base as for strtoull. */
bool rf_procfs_status(const char *text, const char *key, int base, uint64_t *out);

/* /proc/PID/stat: the fields after the name in parentheses, which may itself hold blanks and parentheses.
 * The string at field number `field` (3 is the state), NULL when the line is shorter. */
const char *rf_procfs_stat_field(const char *text, unsigned field);

#endif
