/* view.h: a profile as it is printed: which frames are told apart, under which names. */
#ifndef RF_VIEW_H
#define RF_VIEW_H

#include "../profile/profile.h"

/* The profile as `how` wants to see it: texts escaped (unless RF_UNESCAPED is set), frames that the view does not show
 * taken out, what prints alike one frame. Samples without a frame that is shown stand on the root. Where lines are
 * shown and RF_APART_FORMS is set, the forms of one line are told apart: col and expr are kept. Else both are empty. A
 * frame that has a line has its source, where that was kept. With RF_APART_THREADS so are the rows of different
 * threads, and the thread is no frame; likewise RF_APART_PROCESSES. The caller frees it with rf_profile_free. */
enum { RF_APART_FORMS = 1, RF_APART_THREADS = 2, RF_UNESCAPED = 4, RF_APART_PROCESSES = 8 };
enum rf_status rf_printable(const struct rf_profile *p, const struct rf_render *how, unsigned apart,
                            struct rf_profile **out, struct rf_error *err);
/* The same, and which of its nodes each node of p became; *nodes is malloc'ed. */
enum rf_status rf_printable_nodes(const struct rf_profile *p, const struct rf_render *how, unsigned apart,
                                  struct rf_profile **out, uint32_t **nodes, struct rf_error *err);
/* What these columns need apart. */
unsigned rf_columns_apart(const enum rf_column *column, size_t n);

/* The columns that a table has behind the usual ones: those asked for, and those that the profile and the view imply.
 */
size_t rf_columns_shown(const struct rf_profile *p, const struct rf_render *how, enum rf_column out[RF_COLUMNS]);

/* Is this the file of text that came from no file? A client may have sent it: --no-text withholds it. */
bool rf_unfiled(struct rf_text file);

/* A relative name, resolved against a folder as text: "." and ".." are taken out, links are not looked at. Names that
 * stand for no file, such as <ipc>, stay as they are. out->s is malloc'ed, NULL when out of memory. */
struct rf_text rf_full_path(const char *folder, struct rf_text name);

#endif
