#!/bin/bash
# A target that sleeps is profiled by the CPU time that it does use, and the summary says that it slept.
. "$(dirname "$0")/fake.bash"

fake idle
rfprof -d 3 -r 200 -o "$scratch/out.tsv"
expect_status 0 record
grep -q -E 'the target (slept|waited for a CPU) ' "$scratch/err" || { cat "$scratch/err"; fail "the summary does not say that it slept"; }
awk -F '\t' 'NR > 1 { sum += $4 } NR > 1 && $1 == "idle.rfl" && $2 == 2 && $3 == "idle" { burn = $4 }
    END { exit !(sum > 0 && sum < 1500 && burn > 0.8 * sum) }' "$scratch/out.tsv" || { cat "$scratch/out.tsv"; exit 1; }
stop_target
