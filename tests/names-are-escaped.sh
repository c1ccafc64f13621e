#!/bin/bash
# File and function names with any bytes: rows stay rows, fields stay fields.
. "$(dirname "$0")/fake.bash"

fake names
record -o "$scratch/out.folded"
MAX_OTHER=11 expect_truth
# the last function has an empty name only: it is known by its file and line
awk -F '\t' '$1 == "empty.rfl" && $2 == 2 && $3 != "" { found = 1 } END { exit !found }' "$scratch/out.tsv" ||
    fail "no row for the function with an empty name"
cut -f 3 "$scratch/out.tsv" | grep -qx alias && fail "the later name hides the first"
LC_ALL=C grep -q '[[:cntrl:]]' <(tr -d '\t\n' <"$scratch/out.tsv") && fail "a control character in the TSV"
iconv -f UTF-8 -t UTF-8 "$scratch/out.tsv" >/dev/null || fail "the TSV is not UTF-8"
# a semicolon separates frames in folded stacks
grep -qF 'semi\x3bcolon (a\x3bb.rfl:2) ' "$scratch/out.folded" || fail "the semicolon is not escaped in folded stacks"
awk '!/ [0-9]+$/ { exit 1 }' "$scratch/out.folded" || fail "a folded line without a count"
stop_target
