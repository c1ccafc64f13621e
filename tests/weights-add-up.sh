#!/bin/bash
# The weights of the samples add up to the CPU time that the kernel charged to the process, for threads that come
# and go as well: what is missing is the end of each, after its last sample.
. "$(dirname "$0")/lib.sh"

"$B/fixtures/meter" -b 1 -c 200 -s 12 >/dev/null &
target=$!
started+=("$target")
wait_busy "$target" || fail "the target does not run"
"$B/fixtures/sampler" -p "$target" -r 1000 -d 4 >"$scratch/stats" &
sampler=$!
started+=("$sampler")
sleep 1
kill -STOP "$sampler" # what runs while no tick is taken counts as well
sleep 0.3
kill -CONT "$sampler"
wait "$sampler" || fail "the sampler failed"
python3 - "$scratch/stats" <<'END' || fail "$(cat "$scratch/stats")"
import json, sys
s = json.load(open(sys.argv[1]))
share = s["weight_ns"] / s["charged_ns"]
print(f"weights are {share:.2%} of the CPU time charged")
sys.exit(not 0.97 < share < 1.02)
END
