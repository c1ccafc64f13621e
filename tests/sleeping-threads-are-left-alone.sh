#!/bin/bash
# Threads that sleep in nanosleep, epoll_wait, read and sigtimedwait beside a busy one are not stopped: none sees EINTR.
. "$(dirname "$0")/lib.sh"

"$B/fixtures/meter" -b 1 -s 30 >"$scratch/meter" &
target=$!
started+=("$target")
wait_busy "$target" || fail "the target does not run"
"$B/fixtures/sampler" -p "$target" -r 1000 -d 2 >"$scratch/stats" || fail "the sampler failed"
kill -TERM "$target"
wait "$target"
grep -q '"eintr":0}' "$scratch/meter" || fail "interrupted: $(cat "$scratch/meter")"
grep -q '"eintr":0,' "$scratch/stats" || fail "counted: $(cat "$scratch/stats")"
grep -q '"samples":[1-9][0-9]' "$scratch/stats" || fail "hardly sampled: $(cat "$scratch/stats")"
