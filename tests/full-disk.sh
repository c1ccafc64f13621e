#!/bin/bash
# A full disk is an error with exit 1 that names the cause.
. "$(dirname "$0")/fake.bash"

[ -c /dev/full ] || skip "no /dev/full"
fake ratio
rfprof -d 0.5 -q -f tsv >/dev/full
expect_status 1 "stdout is full"
grep -qi 'no space' "$scratch/err" || { cat "$scratch/err"; fail "the cause is not named"; }
rfprof -d 0.5 -q -f tsv -o /dev/full
expect_status 1 "the output is full"
stop_target
