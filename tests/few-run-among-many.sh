#!/bin/bash
# 200 threads sleep, one is always busy, and one after the other lives for some milliseconds: the sleepers are let be, and
# what the others used is in the account.
. "$(dirname "$0")/lib.sh"

"$B/fixtures/meter" -b 1 -s 200 -c 20 >"$scratch/meter" &
target=$!
started+=("$target")
wait_busy "$target" || fail "the target does not run"
"$B/fixtures/sampler" -p "$target" -r 500 -d 3 >"$scratch/stats" || fail "the sampler failed"
kill -TERM "$target"
wait "$target"
grep -q '"eintr":0}' "$scratch/meter" || fail "interrupted: $(cat "$scratch/meter")"
python3 - "$scratch/stats" <<'END' || fail "$(cat "$scratch/stats")"
import json, sys
s = json.load(open(sys.argv[1]))
known = (s["weight_ns"] + s["pending_ns"]) / s["charged_ns"]
print(f"known of the CPU time charged: {known:.2%}; {s['samples']} samples")
sys.exit(not (0.5 < known < 1.02 and s["changed"] and s["samples"] > 9))
END
