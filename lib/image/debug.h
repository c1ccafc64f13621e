/* debug.h: an image's debug information (DWARF), wherever it is kept.
 *
 * In the file itself, else in a file of its own: /usr/lib/debug/.build-id by the build-id (the convention of gdb,
 * "Separate Debug Files"), or the name in .gnu_debuglink, whose CRC must be that of the file; or where a user says.
 * A file counts only with the image's build-id, as far as both have one. libdw parses it; everything that it returns
 * lives as long as the image. */
#ifndef RF_DEBUG_H
#define RF_DEBUG_H

#include "image.h"

#include <elfutils/libdw.h>

/* The debug information of an image, NULL without. Looked for at the first question. Addresses in it are those of the
 * file: the target's without the bias. */
Dwarf *rf_image_dwarf(const struct rf_image *image);
/* The file that it is in: the image's own path, or another's; NULL without. */
const char *rf_image_dwarf_path(const struct rf_image *image);

/* Takes it from this file and no other. RF_USAGE when that has another build-id (both are named) or no debug
 * information; the image then is as it was. */
enum rf_status rf_image_use_debug_file(const struct rf_image *image, const char *path, struct rf_error *err);
/* Asks the servers that $DEBUGINFOD_URLS names (debuginfod(8)), unless the information is at hand already; for some
 * seconds at most, so never to be called while a thread of the target is held. RF_FAILURE when they have nothing, or
 * cannot be asked. */
enum rf_status rf_image_ask_debuginfod(const struct rf_image *image, struct rf_error *err);

/* The compilation unit with code at this address of the file. */
bool rf_dwarf_unit_at(Dwarf *debug, Dwarf_Addr at, Dwarf_Die *unit);
/* The function of this unit whose code is at the address: a subprogram, never an inlined one. */
bool rf_dwarf_function_at(Dwarf_Die *unit, Dwarf_Addr at, Dwarf_Die *function);

#endif
