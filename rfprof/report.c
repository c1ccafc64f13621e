/* report.c: rfprof report: a saved profile, in any format and view, as the recording would have written it. */
#include "console.h"
#include "output.h"
#include "verbs.h"

#include <signal.h>
#include <string.h>

/* What another program's profile has nothing for; NULL when it has it all. */
static const char *lacks(const struct options *o)
{
    if (o->view == RF_VIEW_QUERY || o->view == RF_VIEW_NATIVE || o->view == RF_VIEW_BUILTIN ||
        o->view == RF_VIEW_THREAD)
        return rf_views()[o->view].name;
    if (o->threads)
        return "thread";
    for (size_t i = 0; i < o->n_columns; i++)
        if (o->column[i] == RF_COLUMN_THREAD || o->column[i] == RF_COLUMN_EXPR)
            return rf_columns()[o->column[i]].name;
    return NULL;
}

static enum rf_status write_outputs(const struct options *o, const struct rf_saved *saved, struct output *output,
                                    size_t n, struct rf_error *err)
{
    struct rf_render how = options_render(o);
    how.about = rf_saved_about(saved);
    how.no_text |= rf_saved_no_text(saved);
    const char *what = rf_saved_foreign(saved) ? lacks(o) : NULL;
    if (what) {
        rf_fail(err, RF_USAGE, 0, "%s was not written by rfprof: there is no %s in it", o->file, what);
        rf_hint(err, "it can be shown by line, fn and file");
        return RF_USAGE;
    }
    if (o->full_paths) {
        how.folder = how.about->folder;
        if (!how.folder)
            return rf_fail(err, RF_FAILURE, 0, "%s does not say what the target's working directory was", o->file);
    }
    if (!o->quiet) {
        outputs_note(output, n);
        if (o->view == RF_VIEW_BUILTIN)
            note("%s", rf_builtin_note());
        if (rf_saved_no_text(saved) && !o->no_text)
            note("texts of clients are not in it: it was recorded with --no-text");
    }
    enum rf_status status = outputs_render(output, n, rf_saved_profile(saved), &how, err);
    if (status == RF_OK)
        status = outputs_write_files(output, n, err);
    if (status == RF_OK)
        status = outputs_write_streams(output, n, err);
    if (status == RF_OK && rf_saved_empty(saved))
        status = rf_fail(err, RF_NO_SAMPLES, 0, "no samples in %s", o->file);
    return status;
}

int verb_report(const struct options *o, uint64_t started_ns)
{
    struct rf_error err = {0};
    struct rf_saved *saved = NULL;
    struct output output[OUTPUTS_MAX];
    const char *const standard[] = {"-"};
    size_t n = 0;
    (void)started_ns;
    if (!o->file)
        return complain_usage("report needs a profile: a file that rfprof record -o FILE.pb.gz wrote");
    signal(SIGPIPE, SIG_IGN); /* as while recording: a reader that went away is no error */
    signal(SIGXFSZ, SIG_IGN);
    enum rf_status status = rf_saved_open(&saved, !strcmp(o->file, "-") ? "/dev/stdin" : o->file, &err);
    if (status == RF_OK)
        status = outputs_prepare(output, &n, o->n_outputs ? o->output : standard, o->n_outputs ? o->n_outputs : 1,
                                 o->format, &err);
    if (status == RF_OK)
        status = write_outputs(o, saved, output, n, &err);
    for (size_t i = 0; i < n; i++)
        output_free(&output[i]);
    rf_saved_close(saved);
    return status == RF_OK ? 0 : complain(&err);
}
