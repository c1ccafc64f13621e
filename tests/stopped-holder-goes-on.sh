#!/bin/bash
# The process that holds threads is sent SIGSTOP, which nobody can block, so often that it holds one by then: it goes on,
# so does the target, and the recording ends in time.
. "$(dirname "$0")/fake.bash"

fake ratio
"$RFPROF" -p "$target" -d 3 -r 2000 --max-stop 100 -q -o "$scratch/x.tsv" 2>"$scratch/err" &
sampler=$!
started+=("$sampler")
holder=
for _ in $(seq 100); do
    holder=$(pgrep -x -P "$sampler" rf-holder) && break
    sleep 0.02
done
[ -n "$holder" ] || fail "no process holds the threads: $(cat "$scratch/err")"
while kill -STOP "$holder" 2>/dev/null; do sleep 0.1; done
for _ in $(seq 100); do
    kill -0 "$sampler" 2>/dev/null || break
    sleep 0.1
done
! kill -0 "$sampler" 2>/dev/null || fail "the recording does not end"
wait "$sampler" || fail "exit $?: $(cat "$scratch/err")"
is_tsv "$scratch/x.tsv"
stop_target
