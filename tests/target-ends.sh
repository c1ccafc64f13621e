#!/bin/bash
# A target that exits, executes another program or is killed ends the recording with a line that says so; what was
# sampled until then is written.
. "$(dirname "$0")/fake.bash"

# ends SCENARIO PATTERN
ends() {
    fake "$1"
    rfprof -d 20 -r 500 --max-stop 100 -o "$scratch/out.tsv"
    expect_status 0 "$1"
    grep -qiE "$2" "$scratch/err" || { cat "$scratch/err"; fail "$1: no line that says '$2'"; }
    MAX_OTHER=10 expect_truth
    rm "$scratch/out.tsv"
}
ends exit 'exited|ended'
ends exec 'exec'
kill -0 "$target" || fail "the executed program did not survive"

fake ratio
(burn 500; kill -KILL "$target") &
rfprof -d 20 -r 500 --max-stop 100 -o "$scratch/out.tsv"
expect_status 0 "killed"
grep -qiE 'exited|ended|killed' "$scratch/err" || { cat "$scratch/err"; fail "killed: no line that says so"; }
expect_truth
