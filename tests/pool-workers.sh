#!/bin/bash
# What pool workers burn belongs to the line that dispatched it.
. "$(dirname "$0")/fake.bash"

workers() {
    fake threads "$1"
    record
    # 40 units on line 2; 320 on line 3, and what its own waiting costs. A worker caught while it goes to sleep is idle.
    awk -F '\t' 'NR > 1 { sum += $4; if ($1 == "threads.rfl" && $3 == "threads") at[$2] = $4 }
        END { printf "line 2: %.1f, line 3: %.1f of %.1f ms\n", at[2], at[3], sum
              exit !(at[3] > 0.6 * sum && at[2] > 0.02 * sum && at[2] + at[3] > 0.85 * sum) }' "$scratch/out.tsv" ||
        { head "$scratch/out.tsv"; exit 1; }
    stop_target
}
each_release workers
