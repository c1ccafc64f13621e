#!/bin/bash
# A reader that goes away ends the run quietly.
. "$(dirname "$0")/fake.bash"

fake ratio
for format in table tsv folded; do
    { "$RFPROF" -p "$target" -d 0.7 -q -f $format 2>"$scratch/err"; echo $? >"$scratch/status"; } | true
    [ ! -s "$scratch/err" ] || { cat "$scratch/err"; fail "$format: not quiet"; }
    status=$(cat "$scratch/status")
    expect_status 0 "$format"
    "$RFPROF" -p "$target" -d 0.7 -q -f $format 2>"$scratch/err" | head -n 1 | grep -q . ||
        fail "$format: no first line"
    [ ! -s "$scratch/err" ] || { cat "$scratch/err"; fail "$format: not quiet with head"; }
done
stop_target
