#!/bin/bash
# A thread that has been woken up and waits for a CPU does not run: on a full machine that is no sample of the call in
# which it slept.
. "$(dirname "$0")/fake.bash"

spinners=()
fake naps
taskset -pc 0 "$target" >/dev/null || { echo "not allowed to use CPU 0"; exit 77; }
for _ in 1 2 3; do
    taskset -c 0 bash -c 'while :; do :; done' &
    spinners+=("$!")
    started+=("$!")
done
rfprof -d 5 -r 300 --max-stop 100 -q -o "$scratch/out.tsv"
kill "${spinners[@]}"
expect_status 0 record
awk -F '\t' '{ print } NR > 1 { sum += $4 } $1 == "naps.rfl" && $2 == 2 { burn = $4 }
    END { exit !(sum > 50 && burn > 0.92 * sum) }' "$scratch/out.tsv" || fail "asleep is more than nothing"
stop_target
