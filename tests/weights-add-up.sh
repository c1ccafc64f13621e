#!/bin/bash
# The weights of the samples add up to the CPU time that the kernel charged to the process: for threads that come and
# go, where what is missing is the end of each, after its last sample; and where no tick is taken for a while.
. "$(dirname "$0")/lib.sh"

# sample_meter ARG...: starts the meter, and the sampler behind it.
sample_meter() {
    "$B/fixtures/meter" "$@" -s 12 >/dev/null &
    target=$!
    started+=("$target")
    wait_busy "$target" || fail "the target does not run"
    "$B/fixtures/sampler" -p "$target" -r 1000 -d 4 >"$scratch/stats" &
    sampler=$!
    started+=("$sampler")
}

adds_up() {
    wait "$sampler" || fail "the sampler failed"
    kill "$target"
    python3 - "$scratch/stats" <<'END' || fail "$(cat "$scratch/stats")"
import json, sys
s = json.load(open(sys.argv[1]))
share = s["weight_ns"] / s["charged_ns"]
print(f"weights are {share:.2%} of the CPU time charged")
sys.exit(not 0.97 < share < 1.02)
END
}

sample_meter -b 1 -c 200
adds_up

sample_meter -b 2
sleep 1
kill -STOP "$sampler"
sleep 0.3
kill -CONT "$sampler"
adds_up
