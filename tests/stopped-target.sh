#!/bin/bash
# A target that the operator stopped stays stopped, is not waited for, and goes on when it is continued.
. "$(dirname "$0")/fake.bash"

fake ratio
(sleep 0.6; kill -STOP "$target"; sleep 0.8; kill -CONT "$target") &
record
wait $!
expect_truth
stop_target
fake ratio
kill -STOP "$target"
rfprof -d 1 -q -o "$scratch/out.tsv"
[ $status = 0 ] || [ $status = 5 ] || expect_status 5 "stopped all the time"
grep -q '^State:.T' "/proc/$target/status" || fail "it does not stay stopped"
grep -q '^TracerPid:.0$' "/proc/$target/status" || fail "it is still traced"
kill -CONT "$target"
sleep 0.2
stop_target
