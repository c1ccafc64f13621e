#!/bin/bash
# A second rfprof on the same target is refused only when something holds it for good, not for the 100 us of the other one's tick.
set -u
. tests/lib.sh
start_fixture ratio || fail "no fixture"
"$RFPROF" -p "$target" -q -r 1000 --max-stop 100 -o "$scratch/bg.tsv" & other=$!; started+=("$other")
sleep 0.5
refused=0
for _ in $(seq 40); do
    "$RFPROF" -p "$target" -q -d 0.02 -o "$scratch/x.tsv" 2>/dev/null; [ $? != 3 ] || refused=$((refused + 1))
done
[ $refused = 0 ] || fail "$refused of 40 were refused"
