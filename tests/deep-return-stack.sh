#!/bin/bash
# All of 800 calls are seen, each at its own line.
. "$(dirname "$0")/fake.bash"

fake deep
record -r 50 -o "$scratch/out.folded"
expect_truth
# thread or root frames may come first; the 801 functions must be there, outermost first
awk '{ n = split($0, f, ";"); if (n > most) most = n } END { exit !(most >= 801) }' "$scratch/out.folded" ||
    fail "no stack of 801 frames"
grep -q '^d800 (deep.rfl:801);d799 (deep.rfl:800);.*;d1 (deep.rfl:2);d0 (deep.rfl:1) [0-9]' "$scratch/out.folded" ||
    fail "not d800;d799;...;d0: $(cut -c 1-200 "$scratch/out.folded" | head -n 3)"
stop_target
