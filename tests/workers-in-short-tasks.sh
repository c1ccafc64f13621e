#!/bin/bash
# timeout: 60
# Workers whose tasks are shorter than the copy of a thread are seen in them: a sample of theirs stands for about as much
# time as one of the main thread's. (When that was stopped first, they had run out of tasks meanwhile: four times as much.)
. "$(dirname "$0")/fake.bash"

[ "$(nproc)" -ge 2 ] || { echo "one CPU: threads do not run side by side"; exit 77; }
fake turns
: >"$scratch/all"
for n in 1 2 3 4 5 6; do
    rfprof -d 1.5 -r 300 --max-stop 100 -q --by thread -f tsv >>"$scratch/all"
    expect_status 0 "--by thread"
    if [ "$n" -gt 2 ] && awk -F '\t' '$3 == "main" { main += $4; m += $6 } $3 ~ /^worker/ { worker += $4; w += $6 }
        END { printf "ms per sample: main %.2f, workers %.2f\n", main / m, worker / w
              exit !(worker / w < 3.3 * main / m) }' "$scratch/all"; then
        stop_target
        exit 0
    fi
done
fail "workers have few samples for the time that they used"
