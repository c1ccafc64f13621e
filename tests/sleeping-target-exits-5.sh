#!/bin/bash
# A target that never runs gives no samples: the files have their header only, and the reason is said.
. "$(dirname "$0")/lib.sh"

start_fixture ratio
kill -STOP "$target"
sleep 0.1
expect_exit 5 "$RFPROF" -p "$target" -d 0.5 -o "$scratch/x.tsv"
says 'no samples'
says 'slept 100 %'
[ "$(cat "$scratch/x.tsv")" = "$header" ] || fail "not only a header: $(cat "$scratch/x.tsv")"
grep -q '^State:.*T (stopped)' "/proc/$target/status" || fail "the target is no longer stopped"
kill -CONT "$target"

start_fixture idle
expect_exit 0 "$RFPROF" -p "$target" -d 2 -o "$scratch/x.tsv"
says 'the target slept [0-9]+ % of the time'
