#!/bin/bash
# Exec blocks, functions and source information full of nonsense: no crash, no hang, and no line that does not run.
. "$(dirname "$0")/fake.bash"

torn() {
    fake torn "$1"
    record
    # Lines 2 and 4 run for 8 units of 1192, line 3 for 384, most of them torn; a function seen through a copy of
    # itself has no name.
    awk -F '\t' 'NR > 1 { sum += $4 }
        NR > 1 && $1 == "decoy.rfl" && $2 > 0 { print "wrong line: " $0; bad = 1 }
        NR > 1 && $1 == "torn.rfl" && ($2 == 1 || $2 > 5) { print "wrong line: " $0; bad = 1 }
        NR > 1 && $1 == "torn.rfl" && ($2 == 2 || $2 == 4 || $2 == 5) { others += $4 }
        NR > 1 && $1 == "honest.rfl" && $2 == 2 && $3 == "honest" { honest += $4 }
        NR > 1 && $1 == "torn.rfl" && $2 == 3 { right += $4 }
        END { printf "line 3: %.1f, others: %.1f, honest: %.1f of %.1f ms\n", right, others, honest, sum
              exit bad || others > 0.03 * sum || !(right > 0) || honest < 0.55 * sum || honest > 0.8 * sum }' \
        "$scratch/out.tsv" || { cat "$scratch/out.tsv"; exit 1; }
    stop_target
}
each_release torn
