#!/bin/bash
# A name as long as the file system takes is no reason to lose a recording at its end.
set -u
. tests/lib.sh
start_fixture ratio || fail "no fixture"
name=$scratch/$(printf 'x%.0s' $(seq 248)).tsv
"$RFPROF" -p "$target" -q -d 0.5 -o "$name" || fail "exit $?: a name that the file system takes"
