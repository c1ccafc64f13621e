#!/bin/bash
# Shells complete commands, options and their arguments, as --help has them; each script is one that its shell can read.
. "$(dirname "$0")/lib.sh"

for shell in bash zsh fish; do
    "$RFPROF" completion $shell >"$scratch/$shell" || fail "completion $shell: exit $?"
    command -v $shell >/dev/null || continue
    $shell -n "$scratch/$shell" || fail "$shell cannot read its script"
done
expect_exit 2 "$RFPROF" completion
expect_exit 2 "$RFPROF" completion csh
says 'bash, zsh and fish'

# shellcheck source=/dev/null
. "$scratch/bash"
# completed WORD...: what the last word can become, one a line
completed() {
    COMP_WORDS=("$RFPROF" "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _rfprof "$RFPROF" "${COMP_WORDS[$#]}" "${COMP_WORDS[$# - 1]}"
    printf '%s\n' "${COMPREPLY[@]}" | sort
}
expect() { # EXPECTED WORD...: the words that are expected, with blanks between
    local expected=$1
    shift
    [ "$(completed "$@" | tr '\n' ' ')" = "$expected " ] || fail "'$*': $(completed "$@" | tr '\n' ' '), not $expected"
}

"$RFPROF" --help | sed -n '/^usage:/,/^$/d; /^  [a-z]/s/^  \([a-z]*\) .*/\1/p; /COMMAND --help/q' | sort |
    diff - <(completed '') || fail "commands of --help (<) and completed ones (>) differ"
expect check ch
while read -r verb; do
    "$RFPROF" "$verb" --help | grep -o -E '^ +(-[a-zA-Z], )?--[a-z-]+' | grep -o -E -- '--[a-z-]+' | sort |
        diff - <(completed "$verb" --) || fail "$verb: options of --help (<) and completed ones (>) differ"
done < <(completed '')
completed - | grep -qx -- -p || fail "no -p without a command"
expect 'line' --by li
expect 'line' record --by = li
expect 'tsv' -f t -f ts
expect 'col,expr' --columns col,ex
expect 'zsh' completion z
[ -z "$(completed -d '')" ] || fail "a duration cannot be completed"
cd "$scratch" || exit 1
expect 'zsh' -o z
expect 'zsh' -- rayforce z
completed -- bas | grep -qx bash || fail "no programs behind --"
start_fixture idle
completed -p '' | grep -qx "$target" || fail "the pid of a candidate is not among: $(completed -p '')"

if command -v fish >/dev/null; then
    fish --no-config -c "source '$scratch/fish'; complete -C 'rfprof --by li'" | grep -q '^line' || fail "fish does not complete"
fi
