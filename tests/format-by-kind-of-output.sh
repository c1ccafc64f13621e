#!/bin/bash
# A regular file gets TSV, a pipe folded stacks, a terminal a table; -o by extension; -F drops lines.
. "$(dirname "$0")/lib.sh"

start_fixture ratio
cd "$scratch" || exit 1
"$RFPROF" -p "$target" -d 0.3 >plain 2>err || fail "exit $?"
is_tsv plain
says 'stdout gets format tsv; -f chooses another'
"$RFPROF" -p "$target" -d 0.3 2>err | cat >piped
says 'stdout gets format folded'
grep -v -E '^([^;]+ \([^;]+\);)*[^;]+ \([^;]+\) [0-9]+$' piped && fail "not folded stacks"
[ -s piped ] || fail "nothing in the pipe"
script -q -e -c "stty cols 80; '$RFPROF' -p $target -d 0.3" typescript </dev/null >/dev/null || fail "exit $? on a terminal"
grep -q 'self *total *self ms *where' typescript || fail "no table on a terminal: $(cat typescript)"
grep -q 'samples,.*Ctrl-C' typescript || fail "no progress on a terminal"

"$RFPROF" -p "$target" -d 0.3 -o a.tsv -o b.folded -o c.txt -o d -o - -f table >out 2>err || fail "exit $?"
is_tsv a.tsv
cmp b.folded c.txt || fail "one run, two contents"
grep -q '^ *self *total' d && cmp d out || fail "-f is not the format of d and stdout"
[ "$(awk -F'\t' 'NR > 1 {s += $4} END {printf "%.1f", s}' a.tsv)" != 0.0 ] || fail "no time in a.tsv"
"$RFPROF" -p "$target" -d 0.3 -q -F -o f.tsv -o f.folded || fail "exit $?"
[ "$(awk -F'\t' 'NR > 1 && $2 != 0' f.tsv)" = '' ] || fail "-F left lines in the table"
! grep -E ':[0-9]+\)' f.folded || fail "-F left lines in the stacks"
