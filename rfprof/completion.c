/* completion.c: rfprof completion: scripts that make shells complete its command line, out of the same tables as
 * --help. Each shell gets the same facts: which commands there are, which options a command has, what can stand behind
 * one. */
#include "console.h"
#include "verbs.h"

#include <string.h>

enum { NAMES_MAX = 32 };
enum behind { NOTHING, ANYTHING, PIDS, FILES, NAMES };

/* What can stand behind an option; the names, where it is one of some, end with NULL. */
static enum behind behind(const struct option_row *row, const char *name[NAMES_MAX + 1])
{
    size_t n = 0;
    name[0] = NULL;
    if (!row->argument)
        return NOTHING;
    if (!strcmp(row->argument, "PID"))
        return PIDS;
    if (!strcmp(row->argument, "FILE"))
        return FILES;
    for (const struct rf_choice *c = row->choices ? row->choices() : NULL; c && c->name && n < NAMES_MAX; c++)
        name[n++] = c->name;
    for (const struct rf_format *f = rf_formats(); row->letter == 'f' && f->name && n < NAMES_MAX; f++)
        name[n++] = f->name;
    name[n] = NULL;
    return n ? NAMES : ANYTHING;
}

static bool has_letter(const struct option_row *row)
{
    return row->letter < OPTION_LONG_ONLY;
}

/* Text between single quotes, in which ' and the characters of `special` need what the shell wants before them. */
static void put_quoted(const char *text, const char *special, const char *quote)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs(quote, stdout);
        else if (strchr(special, *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void put_names(const char *const *name)
{
    for (size_t i = 0; name[i]; i++)
        printf("%s%s", i ? " " : "", name[i]);
}

/* --- bash ------------------------------------------------------------------------------------------------------ */

static void bash_behind(const struct option_row *row)
{
    const char *name[NAMES_MAX + 1];
    enum behind what = behind(row, name);
    if (what == NOTHING)
        return;
    printf("    ");
    if (has_letter(row))
        printf("-%c | ", row->letter);
    printf("--%s) ", row->name);
    if (what == PIDS)
        fputs(
            "COMPREPLY=($(compgen -W \"$(\"$3\" check 2>/dev/null | awk '$1 ~ /^[0-9]+$/ { print $1 }')\" -- \"$2\"))",
            stdout);
    else if (what == FILES)
        fputs("_rfprof_files \"$2\"", stdout);
    else if (what == ANYTHING)
        fputs("COMPREPLY=()", stdout);
    if (what == NAMES) { /* LIST: more of them, with commas between */
        bool list = !strcmp(row->argument, "LIST");
        printf("COMPREPLY=($(compgen %s-W '", list ? "-P \"$before\" " : "");
        put_names(name);
        printf("' -- \"%s\"))", list ? "${2##*,}" : "$2");
    }
    puts(" ;;");
}

static void bash_options(const struct option_row *row, size_t n)
{
    puts("_rfprof_options() {\n    case $1 in");
    for (const struct verb *v = verbs_table(); v->name; v++) {
        printf("    %s) echo '", v->name);
        for (size_t i = 0; i < n; i++)
            if (row[i].verbs & v->bit && has_letter(&row[i]))
                printf("-%c --%s ", row[i].letter, row[i].name);
            else if (row[i].verbs & v->bit)
                printf("--%s ", row[i].name);
        puts("' ;;");
    }
    puts("    esac\n}\n");
}

static void bash(void)
{
    size_t n;
    const struct option_row *row = options_table(&n);
    fputs("# bash completion for rfprof; made by: rfprof completion bash\n\n"
          "_rfprof_files() {\n"
          "    compopt -o filenames 2>/dev/null\n"
          "    COMPREPLY=($(compgen -f -- \"$1\"))\n"
          "}\n\n"
          "# _rfprof_behind OPTION WORD PROGRAM: what can stand behind an option; false where it takes nothing\n"
          "_rfprof_behind() {\n"
          "    local before=\n"
          "    case $2 in *,*) before=${2%,*}, ;; esac\n"
          "    case $1 in\n",
          stdout);
    for (size_t i = 0; i < n; i++)
        bash_behind(&row[i]);
    puts("    *) return 1 ;;\n    esac\n}\n");
    bash_options(row, n);
    fputs("_rfprof() {\n    local verbs='", stdout);
    for (const struct verb *v = verbs_table(); v->name; v++)
        printf("%s%s", v == verbs_table() ? "" : " ", v->name);
    printf("' verb=%s i\n", verbs_table()->name);
    fputs("    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    # --by=line is three words: --by, =, line\n"
          "    if [ \"$cur\" = = ]; then\n"
          "        cur=\n"
          "    elif [ \"$prev\" = = ]; then\n"
          "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "    fi\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        [ \"${COMP_WORDS[i]}\" = -- ] || continue\n"
          "        if ((i + 1 == COMP_CWORD)); then\n"
          "            COMPREPLY=($(compgen -c -- \"$cur\"))\n"
          "        else\n"
          "            _rfprof_files \"$cur\"\n"
          "        fi\n"
          "        return\n"
          "    done\n"
          "    case \" $verbs \" in *\" ${COMP_WORDS[1]} \"*) verb=${COMP_WORDS[1]} ;; esac\n"
          "    _rfprof_behind \"$prev\" \"$cur\" \"$1\" && return\n"
          "    case $cur in\n"
          "    -*) COMPREPLY=($(compgen -W \"$(_rfprof_options \"$verb\")\" -- \"$cur\")) ;;\n"
          "    *)\n"
          "        if ((COMP_CWORD == 1)); then\n"
          "            COMPREPLY=($(compgen -W \"$verbs\" -- \"$cur\"))\n"
          "        elif [ \"$verb\" = completion ]; then\n"
          "            COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$cur\"))\n"
          "        elif [ \"$verb\" = report ] && compgen -G \"$cur*.pb.gz\" >/dev/null; then\n"
          "            compopt -o filenames 2>/dev/null\n"
          "            COMPREPLY=($(compgen -f -X '!*.pb.gz' -- \"$cur\"; compgen -d -- \"$cur\"))\n"
          "        else\n"
          "            _rfprof_files \"$cur\"\n"
          "        fi\n"
          "        ;;\n"
          "    esac\n"
          "}\n"
          "complete -F _rfprof rfprof\n",
          stdout);
}

/* --- zsh ------------------------------------------------------------------------------------------------------- */

static const char zsh_quote[] = "'\\''";

static void zsh_option(const struct option_row *row)
{
    const char *name[NAMES_MAX + 1];
    enum behind what = behind(row, name);
    const char *taken = row->argument ? "=" : "";
    if (row->letter == 'o') /* may be repeated */
        fputs("            '*'", stdout);
    else if (has_letter(row))
        printf("            '(-%c --%s)'", row->letter, row->name);
    else
        fputs("            ", stdout);
    if (has_letter(row))
        printf("{-%c%s,--%s%s}", row->letter, row->argument ? "+" : "", row->name, taken);
    else
        printf("--%s%s", row->name, taken);
    fputs("'[", stdout);
    put_quoted(row->help, "[]", zsh_quote);
    putchar(']');
    if (what != NOTHING)
        printf(":%s:", row->argument);
    if (what == PIDS) {
        fputs("_rfprof_pids", stdout);
    } else if (what == FILES) {
        fputs("_files", stdout);
    } else if (what == NAMES) {
        bool list = !strcmp(row->argument, "LIST");
        printf(list ? "_sequence compadd - " : "(");
        put_names(name);
        printf(list ? "" : ")");
    }
    puts("' \\");
}

static void zsh(void)
{
    size_t n;
    const struct option_row *row = options_table(&n);
    fputs("#compdef rfprof\n# zsh completion for rfprof; made by: rfprof completion zsh\n\n"
          "_rfprof_pids() {\n"
          "    local -a found\n"
          "    found=(${(f)\"$(rfprof check 2>/dev/null | awk 'NR > 1 { pid = $1; sub(/^ *[0-9]+ */, \"\"); "
          "print pid \":\" $0 }')\"})\n"
          "    _describe -t pids 'process' found\n"
          "}\n\n"
          "_rfprof() {\n"
          "    local -a verbs\n"
          "    verbs=(\n",
          stdout);
    for (const struct verb *v = verbs_table(); v->name; v++) {
        printf("        '%s:", v->name);
        put_quoted(v->about, "", zsh_quote);
        puts("'");
    }
    printf("    )\n    local verb=%s\n", verbs_table()->name);
    fputs("    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
          "        _describe -t commands 'command' verbs\n"
          "        return\n"
          "    fi\n"
          "    if (( CURRENT > 2 )) && [[ -n ${verbs[(r)$words[2]:*]} ]]; then\n"
          "        verb=$words[2]\n"
          "        shift words\n"
          "        (( CURRENT-- ))\n"
          "    fi\n"
          "    case $verb in\n",
          stdout);
    for (const struct verb *v = verbs_table(); v->name; v++) {
        printf("    %s)\n        _arguments -s -S \\\n", v->name);
        for (size_t i = 0; i < n; i++)
            if (row[i].verbs & v->bit)
                zsh_option(&row[i]);
        if (v->bit == FOR_COMPLETION)
            puts("            ':shell:(bash zsh fish)'");
        else
            puts("            '*::argument:_normal'");
        puts("        ;;");
    }
    fputs("    esac\n}\n\n_rfprof \"$@\"\n", stdout);
}

/* --- fish ------------------------------------------------------------------------------------------------------ */

static const char fish_quote[] = "\\'";

static void fish_option(const struct verb *v, const struct option_row *row)
{
    const char *name[NAMES_MAX + 1];
    enum behind what = behind(row, name);
    printf("complete -c rfprof -n '__rfprof_verb %s'", v->name);
    if (has_letter(row))
        printf(" -s %c", row->letter);
    printf(" -l %s", row->name);
    if (what == FILES)
        fputs(" -r -F", stdout);
    else if (what == PIDS)
        fputs(" -x -a '(__rfprof_pids)'", stdout);
    else if (what != NOTHING)
        fputs(" -x", stdout);
    if (what == NAMES) {
        bool list = !strcmp(row->argument, "LIST");
        fputs(list ? " -a '(__fish_append , " : " -a '", stdout);
        put_names(name);
        fputs(list ? ")'" : "'", stdout);
    }
    fputs(" -d '", stdout);
    put_quoted(row->help, "\\", fish_quote);
    puts("'");
}

static void fish(void)
{
    size_t n;
    const struct option_row *row = options_table(&n);
    fputs("# fish completion for rfprof; made by: rfprof completion fish\n\n"
          "function __rfprof_pids\n"
          "    rfprof check 2>/dev/null | awk 'NR > 1 { pid = $1; sub(/^ *[0-9]+ */, \"\"); print pid \"\\t\" $0 }'\n"
          "end\n\n"
          "# is this the command? without one it is the first\n"
          "function __rfprof_verb\n"
          "    set -l words (commandline -opc)\n"
          "    set -l verbs",
          stdout);
    for (const struct verb *v = verbs_table(); v->name; v++)
        printf(" %s", v->name);
    printf("\n"
           "    if set -q words[2]; and contains -- $words[2] $verbs\n"
           "        test $words[2] = $argv[1]\n"
           "    else\n"
           "        test $argv[1] = %s\n"
           "    end\n"
           "end\n\n",
           verbs_table()->name);
    for (const struct verb *v = verbs_table(); v->name; v++) {
        printf("complete -c rfprof -n 'test (count (commandline -opc)) = 1' -f -a %s -d '", v->name);
        put_quoted(v->about, "\\", fish_quote);
        puts("'");
    }
    puts("complete -c rfprof -n '__rfprof_verb completion' -f -a 'bash zsh fish'");
    for (const struct verb *v = verbs_table(); v->name; v++)
        for (size_t i = 0; i < n; i++)
            if (row[i].verbs & v->bit)
                fish_option(v, &row[i]);
}

int verb_completion(const struct options *o, uint64_t started_ns)
{
    (void)started_ns;
    if (o->file && !strcmp(o->file, "bash"))
        bash();
    else if (o->file && !strcmp(o->file, "zsh"))
        zsh();
    else if (o->file && !strcmp(o->file, "fish"))
        fish();
    else
        return complain_usage("completion for which shell? there are bash, zsh and fish");
    return 0;
}
