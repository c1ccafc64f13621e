#!/bin/bash
# With -i sleeping threads are sampled too, and unharmed: each is stopped once for as long as it sleeps, what saw EINTR is
# counted, no signal is lost, none stays stopped.
. "$(dirname "$0")/lib.sh"

"$B/fixtures/meter" -b 1 -s 30 >"$scratch/meter" &
target=$!
started+=("$target")
wait_busy "$target" || fail "the target does not run"
"$B/fixtures/sampler" -p "$target" -r 200 -d 2 -i >"$scratch/stats" || fail "the sampler failed"
untouched "$target" || fail "the target was left stopped or traced"
kill -TERM "$target"
wait "$target"
python3 - "$scratch/stats" "$scratch/meter" <<'PY' || fail "$(cat "$scratch/stats" "$scratch/meter")"
import json, sys
stats = json.load(open(sys.argv[1]))
meter = [json.loads(line) for line in open(sys.argv[2]) if line.startswith("{")][-1]
print("EINTR: the target saw", meter["eintr"], "counted are", stats["eintr"])
# 32 threads, each for the 2 s; nothing waits longer than until its turn in the first ticks
assert 0.9 * 32 * 2 < stats["weight_ns"] / 1e9 < 1.1 * 32 * 2, "not all time is there"
# one that stopped too late to be looked at may have seen it, too
assert stats["eintr"] <= meter["eintr"] <= stats["eintr"] + stats["lost_timeout"], "not counted"
# of the 31 that sleep a third are in epoll_wait, which is not restarted; a busy machine may wake some anew
assert meter["eintr"] <= 31 * 4, "stopped again and again"
assert stats["again"] > 3 * 31, "hardly ever found asleep still"
PY

# a target that waits for signals gets each of them
coproc "$B/fixtures/signals" 2 asleep
signals=$COPROC_PID
started+=("$signals")
exec {from}<&"${COPROC[0]}"
read -r pid <&$from || fail "no target"
"$B/fixtures/sampler" -p "$pid" -r 500 -d 2 -i >"$scratch/stats" || fail "the sampler failed"
read -r said <&$from
wait "$signals" || fail "$said"
grep -q '"samples":[1-9][0-9]' "$scratch/stats" || fail "hardly sampled: $(cat "$scratch/stats")"
