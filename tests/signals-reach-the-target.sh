#!/bin/bash
# Every signal sent to a target while it is sampled arrives, once, in order, with its siginfo unchanged.
. "$(dirname "$0")/lib.sh"

coproc "$B/fixtures/signals" 3
signals=$COPROC_PID
started+=("$signals")
exec {from}<&"${COPROC[0]}"
read -r pid <&$from || fail "no target"
"$B/fixtures/sampler" -p "$pid" -r 1000 -d 3 >"$scratch/stats" || fail "the sampler failed"
read -r said <&$from
wait "$signals" || fail "$said"
grep -q '"samples":[1-9][0-9]' "$scratch/stats" || fail "hardly sampled: $(cat "$scratch/stats")"
