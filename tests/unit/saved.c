/* Saved profiles: every format and view from the file is what it was from the session; files that are cut, damaged or
 * written by others. */
#include "profile/profile.h"
#include "report/profile.pb-c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/rfprof-saved.XXXXXX";

static struct rf_text text(const char *s)
{
    return (struct rf_text){s, strlen(s)};
}

/* A profile that has some of everything. */
struct made {
    struct rf_profile *profile;
    struct rf_tids *tids;
    struct rf_about about;
};

static void sample(struct made *m, pid_t tid, const struct rf_frame *f, size_t n, uint64_t ns, uint64_t pool_ns)
{
    static uint64_t now = UINT64_C(7101264307882);
    const struct rf_tid *t = rf_tids_find(m->tids, tid);
    struct rf_frame root = {.kind = RF_KIND_THREAD, .file = {"", 0}, .fn = t->name, .named = true};
    uint32_t node = rf_profile_place(m->profile, rf_profile_place(m->profile, 0, &root, 1), f, n);
    assert_int_not_equal(node, UINT32_MAX);
    rf_profile_charge(m->profile, node, 1, (struct rf_charge){ns, pool_ns});
    rf_log_add(rf_profile_log(m->profile),
               (struct rf_event){.time_ns = now += 9999999, .weight_ns = ns, .node = node, .tid = tid});
}

static struct rf_frame sent(const char *query, const char *expr, uint32_t col)
{
    return (struct rf_frame){
        .file = text("<ipc>"), .fn = text("(secret"), .line = 1, .col = col, .expr = text(expr), .query = text(query)};
}

static struct made make(void)
{
    struct made m = {.profile = rf_profile_new(), .tids = rf_tids_new(100)};
    m.about = (struct rf_about){.pid = 100,
                                .command = "/opt/r\xff/rayforce -c 2 m.rfl",
                                .release = "2.4.0",
                                .rate_hz = 99.9,
                                .began_ns = UINT64_C(1796002403123456789),
                                .wall_ns = 2500000000,
                                .charged_ns = 1234567890,
                                .folder = "/srv/market",
                                .account = "rfprof: 2.5 s\n  samples lost: none\n"};
    assert_true(rf_profile_keep_log(m.profile, m.tids));
    /* it was a worker after the other one, but seen before it */
    rf_tids_add(m.tids, 104, text("rf pool"), false);
    rf_tids_add(m.tids, 105, text("rf pool"), true);
    rf_tids_add(m.tids, 104, text("rf pool"), true);
    rf_tids_add(m.tids, 100, text("ray\nforce"), false);
    rf_tids_add(m.tids, 107, text("other"), false);
    struct rf_frame native = {.kind = RF_KIND_NATIVE, .file = text("libc.so.6"), .fn = text("memcpy")},
                    start = {.kind = RF_KIND_NATIVE, .file = text("src/main.c"), .fn = text("main"), .line = 12},
                    vm = {.kind = RF_KIND_INTERPRETER, .file = text("rayforce"), .fn = text("vm_exec")},
                    med = {.kind = RF_KIND_BUILTIN, .file = text(""), .fn = text("med")},
                    book = {.file = text("book.rfl"), .line = 41, .col = 3, .fn = text("join-all"), .named = true},
                    same = {.file = text("book.rfl"), .line = 41, .col = 9, .fn = text("join-all"), .named = true},
                    odd = {.file = text("o;d\"d\t.rfl"), .fn = {"a\0\xff\n]]>", 7}, .line = 7, .named = true},
                    bare = {.file = text("<runtime>"), .fn = text("<parse>"), .named = true};
    book.expr = text("(med x)");
    same.expr = text("(max y)");
    struct rf_frame one = sent("(secret one that is long)", "(one)", 1), two = sent("(secret two)", "(two)", 1);
    struct rf_frame repl = {.file = text("<repl>"), .fn = text("later"), .expr = text("(hidden)"), .named = true};
    sample(&m, 100, (struct rf_frame[]){start, one, book, vm, med, native}, 6, 7000000, 0);
    sample(&m, 100, (struct rf_frame[]){start, two, book, med}, 4, 5000000, 0);
    sample(&m, 104, (struct rf_frame[]){start, two, same, med, native}, 5, 3000000, 3000000);
    sample(&m, 105, (struct rf_frame[]){start, two, same, odd, same}, 5, 1234567, 1234567);
    sample(&m, 100, (struct rf_frame[]){one, repl, two}, 3, 3000000, 0);
    sample(&m, 107, &bare, 1, 1, 0);
    sample(&m, 100, (struct rf_frame[]){start, one, book}, 3, 2000000, 0);
    return m;
}

static void unmake(struct made *m)
{
    rf_profile_free(m->profile);
    rf_tids_free(m->tids);
}

static const struct rf_format *format(const char *name)
{
    const struct rf_format *f = rf_formats();
    while (f->name && strcmp(f->name, name))
        f++;
    return f;
}

/* What a format writes; the caller frees. */
static char *written(const struct rf_format *f, const struct rf_profile *p, const struct rf_render *how, size_t *n)
{
    char *bytes;
    struct rf_error err;
    FILE *to = open_memstream(&bytes, n);
    assert_int_equal(f->write(p, how, to, &err), RF_OK);
    fclose(to);
    return bytes;
}

static void put_file(const void *bytes, size_t n)
{
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    assert_int_equal(fwrite(bytes, 1, n, to), n);
    assert_int_equal(fclose(to), 0);
}

static void save(const struct made *m, bool no_text)
{
    size_t n;
    struct rf_render how = {.about = &m->about, .no_text = no_text};
    char *bytes = written(format("pprof"), m->profile, &how, &n);
    put_file(bytes, n);
    free(bytes);
}

static struct rf_saved *opened(void)
{
    struct rf_saved *s;
    struct rf_error err = {0};
    if (rf_saved_open(&s, path, &err) != RF_OK)
        fail_msg("%s", err.what);
    return s;
}

/* In each format, with each of the options, the same of the file as of the profile itself. */
static void expect_same(const struct made *m, bool always_no_text)
{
    struct rf_saved *s = opened();
    assert_int_equal(rf_saved_no_text(s), always_no_text);
    assert_false(rf_saved_foreign(s));
    for (const struct rf_format *f = rf_formats(); f->name; f++) {
        for (unsigned i = 0; i < (RF_VIEW_THREAD + 1) * 32; i++) {
            if (i & 16 && strcmp(f->name, "tsv") && strcmp(f->name, "table"))
                continue; /* columns are theirs only */
            struct rf_render ours = {.view = (enum rf_view)(i / 32),
                                     .native = i & 1,
                                     .threads = i & 2,
                                     .no_text = always_no_text || i & 4,
                                     .folder = i & 8 ? "/srv/market" : NULL,
                                     .column = {RF_COLUMN_POOL_MS, RF_COLUMN_MAIN_MS, RF_COLUMN_COL, RF_COLUMN_EXPR},
                                     .n_columns = i & 16 ? 4 : 0,
                                     .about = &m->about};
            struct rf_render theirs = ours;
            theirs.about = rf_saved_about(s);
            theirs.folder = i & 8 ? theirs.about->folder : NULL;
            size_t n, k;
            char *a = written(f, m->profile, &ours, &n), *b = written(f, rf_saved_profile(s), &theirs, &k);
            if (n != k || memcmp(a, b, n))
                fail_msg("%s by %s, options %u:\n%s\n-- instead of --\n%s", f->name, rf_views()[i / 32].name, i % 32, b,
                         a);
            free(a);
            free(b);
        }
    }
    rf_saved_close(s);
}

static void all_is_as_it_was(void **state)
{
    (void)state;
    struct made m = make();
    save(&m, false);
    expect_same(&m, false);
    unmake(&m);
}

/* What the file is, uncompressed. */
static unsigned char *plain(size_t *n)
{
    char command[100];
    static unsigned char bytes[1 << 16];
    snprintf(command, sizeof command, "gzip -dc <%s", path);
    FILE *from = popen(command, "r");
    assert_non_null(from);
    *n = fread(bytes, 1, sizeof bytes, from);
    assert_int_equal(pclose(from), 0);
    assert_in_range(*n, 500, sizeof bytes - 1);
    return bytes;
}

static void without_what_clients_sent(void **state)
{
    (void)state;
    struct made m = make();
    save(&m, true);
    expect_same(&m, true);
    unmake(&m);
    size_t n;
    const unsigned char *bytes = plain(&n);
    assert_non_null(memmem(bytes, n, "<ipc #2>", 8));
    assert_non_null(memmem(bytes, n, "join-all", 8));
    assert_null(memmem(bytes, n, "secret", 6));
    assert_null(memmem(bytes, n, "(one)", 5));
    assert_null(memmem(bytes, n, "hidden", 6));
}

static void large_tables_are_in_parts(void **state)
{
    (void)state;
    enum { MANY = 40000 };
    struct made m = make();
    for (uint32_t i = 0; i < MANY; i++) {
        struct rf_frame f[] = {{.file = text("a"), .fn = text("f"), .line = i % 9999}, {.file = text("b"), .line = i}};
        sample(&m, 100, f, 2, i, 0);
    }
    save(&m, false);
    struct rf_saved *s = opened();
    assert_int_equal(rf_profile_frames(rf_saved_profile(s)), rf_profile_frames(m.profile));
    assert_int_equal(rf_profile_nodes(rf_saved_profile(s)), rf_profile_nodes(m.profile));
    const char *formats[] = {"tsv", "folded", "perf"};
    for (size_t i = 0; i < 3; i++) {
        struct rf_render how = {.threads = true, .native = true};
        size_t n, k;
        char *a = written(format(formats[i]), m.profile, &how, &n),
             *b = written(format(formats[i]), rf_saved_profile(s), &how, &k);
        assert_int_equal(n, k);
        assert_memory_equal(a, b, n);
        free(a);
        free(b);
    }
    rf_saved_close(s);
    unmake(&m);
}

/* Opens the file, which may be anything, and where it is a profile writes it in all formats. */
static bool survived(void)
{
    struct rf_saved *s;
    struct rf_error err = {0};
    if (rf_saved_open(&s, path, &err) != RF_OK) {
        assert_int_equal(err.status, RF_FAILURE);
        assert_true(strlen(err.what) > 0);
        return false;
    }
    for (const struct rf_format *f = rf_formats(); f->name; f++) {
        struct rf_render how = {.native = true, .threads = true, .about = rf_saved_about(s)};
        size_t n;
        if (f->wants == (RF_WANTS_LOG | RF_WANTS_NATIVE) && !rf_profile_log(rf_saved_profile(s)))
            continue;
        free(written(f, rf_saved_profile(s), &how, &n));
    }
    rf_saved_close(s);
    return true;
}

static void cut_files(void **state)
{
    (void)state;
    struct made m = make();
    save(&m, false);
    unmake(&m);
    FILE *from = fopen(path, "r");
    static unsigned char bytes[1 << 16];
    size_t n = fread(bytes, 1, sizeof bytes, from);
    fclose(from);
    for (size_t i = 0; i < n; i += 5) {
        put_file(bytes, i);
        assert_false(survived());
    }
    put_file(bytes, n);
    assert_true(survived());
    unsigned char *all = plain(&n);
    for (size_t i = 0; i < n; i += 31) {
        put_file(all, i);
        survived();
    }
}

static void damaged_files(void **state)
{
    (void)state;
    struct made m = make();
    save(&m, false);
    unmake(&m);
    size_t n, whole = 0;
    unsigned char *bytes = plain(&n);
    uint32_t chance = 5150;
    static const unsigned char worst[] = {0, 1, 0x7f, 0x80, 0xff};
    for (size_t i = 0; i < n; i += 5) {
        unsigned char was = bytes[i];
        chance = chance * 1664525 + 1013904223;
        bytes[i] = i % 2 ? (unsigned char)(chance >> 24) : worst[i / 10 % sizeof worst];
        put_file(bytes, n);
        whole += survived();
        bytes[i] = was;
    }
    assert_in_range(whole, 1, n / 5 - 1); /* names may be anything, numbers not */
}

static void no_profiles_at_all(void **state)
{
    (void)state;
    put_file("", 0);
    assert_false(survived());
    put_file("file\tline\tfn\n", 13);
    assert_false(survived());
    put_file("\x1f\x8b\x08 and so on", 12);
    assert_false(survived());
    struct rf_saved *s;
    struct rf_error err;
    assert_int_equal(rf_saved_open(&s, "/nonexistent/x.pb.gz", &err), RF_FAILURE);
    assert_string_equal(err.what, "cannot read /nonexistent/x.pb.gz: No such file or directory");
    assert_null(s);
}

/* --- other programs' files -------------------------------------------------------------------------------- */

static ProtobufCBinaryData bytes_of(const char *s)
{
    return (ProtobufCBinaryData){strlen(s), (uint8_t *)s};
}

/* As Go writes them: an inlined call, a location without a function. The unit, one location, and how often the stack
 * has the inlined call above it are up to the test. */
static void put_foreign(const char *unit, uint64_t location_id, size_t deep)
{
    ProtobufCBinaryData strings[] = {bytes_of(""),          bytes_of("samples"),     bytes_of("count"),
                                     bytes_of("cpu"),       bytes_of(unit),          bytes_of("main.outer"),
                                     bytes_of("main.leaf"), bytes_of("/src/main.go")};
    Rfpb__ValueType samples = RFPB__VALUE_TYPE__INIT, cpu = RFPB__VALUE_TYPE__INIT, *types[] = {&samples, &cpu};
    samples.type = 1;
    samples.unit = 2;
    cpu.type = 3;
    cpu.unit = 4;
    Rfpb__Function outer = RFPB__FUNCTION__INIT, leaf = RFPB__FUNCTION__INIT, *functions[] = {&outer, &leaf};
    outer.id = 77;
    outer.name = 5;
    leaf.id = 3;
    leaf.name = 6;
    outer.filename = leaf.filename = 7;
    Rfpb__Line inlined[] = {RFPB__LINE__INIT, RFPB__LINE__INIT}, *lines[] = {&inlined[0], &inlined[1]};
    inlined[0].function_id = 3;
    inlined[0].line = 9;
    inlined[1].function_id = 77;
    inlined[1].line = 20;
    Rfpb__Location both = RFPB__LOCATION__INIT, bare = RFPB__LOCATION__INIT, *locations[] = {&both, &bare};
    both.id = 9;
    both.n_line = 2;
    both.line = lines;
    bare.id = 5;
    bare.address = 0xabc;
    uint64_t *path_of = calloc(deep + 1, sizeof *path_of);
    assert_non_null(path_of);
    for (size_t i = 0; i < deep; i++)
        path_of[i] = 9;
    path_of[deep] = location_id;
    int64_t value[] = {3, 30};
    Rfpb__Sample one = RFPB__SAMPLE__INIT, *all[] = {&one};
    one.n_location_id = deep + 1;
    one.location_id = path_of;
    one.n_value = 2;
    one.value = value;
    Rfpb__Profile p = RFPB__PROFILE__INIT;
    p.n_string_table = 8;
    p.string_table = strings;
    p.n_sample_type = 2;
    p.sample_type = types;
    p.n_function = 2;
    p.function = functions;
    p.n_location = 2;
    p.location = locations;
    p.n_sample = 1;
    p.sample = all;
    uint8_t *packed = malloc(rfpb__profile__get_packed_size(&p));
    assert_non_null(packed);
    put_file(packed, rfpb__profile__pack(&p, packed));
    free(packed);
    free(path_of);
}

static void profiles_of_others(void **state)
{
    (void)state;
    struct rf_saved *s;
    struct rf_error err;
    put_foreign("milliseconds", 5, 1);
    s = opened();
    assert_true(rf_saved_foreign(s));
    size_t n;
    char *got = written(format("tsv"), rf_saved_profile(s), &(struct rf_render){0}, &n);
    assert_string_equal(got, "file\tline\tfn\tself_ms\ttotal_ms\tsamples\n"
                             "/src/main.go\t9\tmain.leaf\t30.000\t30.000\t3\n"
                             "\t0\t0xabc\t0.000\t30.000\t3\n"
                             "/src/main.go\t20\tmain.outer\t0.000\t30.000\t3\n");
    free(got);
    rf_saved_close(s);
    put_foreign("bytes", 5, 1);
    assert_int_equal(rf_saved_open(&s, path, &err), RF_FAILURE);
    assert_non_null(strstr(err.what, " is a profile of something else than time"));
    put_foreign("nanoseconds", 6, 1);
    assert_int_equal(rf_saved_open(&s, path, &err), RF_FAILURE);
    assert_non_null(strstr(err.what, " is damaged: there is a stack of what is not there in it"));
    put_foreign("nanoseconds", 5, 50000); /* two frames each */
    assert_int_equal(rf_saved_open(&s, path, &err), RF_FAILURE);
    assert_non_null(strstr(err.what, " is damaged: there is a stack that is too deep in it"));
}

static int make_path(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 || close(fd) < 0;
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_as_it_was),
        cmocka_unit_test(without_what_clients_sent),
        cmocka_unit_test(cut_files),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(no_profiles_at_all),
        cmocka_unit_test(profiles_of_others),
        cmocka_unit_test(large_tables_are_in_parts),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
