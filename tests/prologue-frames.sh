#!/bin/bash
# A function that is being entered has no exec block yet: the cost is its own, at its first form, also where a
# register still holds the block of the function further out.
. "$(dirname "$0")/fake.bash"

entering() {
    fake prologue "$1"
    record
    awk -F '\t' 'NR > 1 { sum += $4; if ($1 == "prologue.rfl" && $2 == 3 && $3 == "each") each = $4
        if ($1 == "<unknown>") unknown += $4 }
        END { printf "each: %.1f of %.1f ms, unknown %.1f\n", each, sum, unknown; exit !(each > 0.85 * sum) }' \
        "$scratch/out.tsv" || { head "$scratch/out.tsv"; exit 1; }
    stop_target
}
each_release entering
