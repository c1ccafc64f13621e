#!/bin/bash
# A process that another tracer holds is refused with exit 3, and the tracer is named.
. "$(dirname "$0")/fake.bash"

fake ratio
held=$target
start "$scratch/tracer" "$B/fixtures/tracer" "$held"
tracer=$target
wait_for "$scratch/tracer" holding
target=$held
rfprof -d 1 -q -o "$scratch/out.tsv"
expect_status 3 "held by a tracer"
grep -q "$tracer" "$scratch/err" && grep -q tracer "$scratch/err" ||
    { cat "$scratch/err"; fail "the tracer is not named"; }
kill -KILL "$tracer"
wait "$tracer" 2>/dev/null
record
expect_truth
stop_target
