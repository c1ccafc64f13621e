#!/bin/bash
# A symbol table and a global environment full of nonsense: no crash, no hang, lines are still right.
. "$(dirname "$0")/fake.bash"

shaken() {
    fake hostile "$1"
    # opened at any moment of a lie, the layout may be refused; a later attempt must find a good moment
    local i
    for i in 1 2 3 4 5 6 7 8; do
        rfprof -d 2 -r 500 --max-stop 100 -q -o "$scratch/out.tsv"
        [ $status = 0 ] && break
        expect_status 4 "refused, attempt $i"
        sleep 0.0$i
    done
    expect_status 0 record
    awk -F '\t' 'NR > 1 { sum += $4 } NR > 1 && $1 == "hostile.rfl" && ($2 == 2 || $2 == 3) { right += $4 }
        END { printf "right lines: %.1f of %.1f ms\n", right, sum; exit !(right > 0.9 * sum) }' "$scratch/out.tsv" ||
        { cat "$scratch/out.tsv"; exit 1; }
    stop_target
}
each_release shaken
