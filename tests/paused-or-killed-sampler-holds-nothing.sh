#!/bin/bash
# A sampler that is stopped (SIGSTOP) or killed (SIGKILL) at any instant, in the middle of a stop too, does not keep
# its target stopped. So often and at such a rate that some of the blows fall while a thread is held.
. "$(dirname "$0")/lib.sh"

"$B/fixtures/meter" -b 1 >/dev/null &
target=$!
started+=("$target")
wait_busy "$target" || fail "the target does not run"

runs_on() {
    local before now _
    before=$(cpu_ms "$target")
    for _ in $(seq 100); do
        sleep 0.02
        now=$(cpu_ms "$target")
        [ "$now" -le "$((before + 4))" ] || return 0
    done
    fail "the target stands still after $1: $(grep State /proc/"$target"/task/*/status)"
}

for i in $(seq 12); do
    "$B/fixtures/sampler" -p "$target" -r 5000 >/dev/null 2>&1 &
    sampler=$!
    started+=("$sampler")
    sleep "0.2$((RANDOM % 10))"
    if [ $((i % 2)) = 0 ]; then
        kill -STOP "$sampler"
        runs_on SIGSTOP
    fi
    kill -KILL "$sampler"
    wait "$sampler" 2>/dev/null
    runs_on SIGKILL
    untouched "$target" || fail "it is still traced"
done
