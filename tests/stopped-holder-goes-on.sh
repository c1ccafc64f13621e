#!/bin/bash
# The process that holds threads is sent SIGSTOP, which nobody can block, so often that it holds one by then: it goes on,
# so does the target, which is let go by it, and the recording ends when it is told to.
. "$(dirname "$0")/fake.bash"

fake ratio
"$RFPROF" -p "$target" -d 50 -r 2000 --max-stop 100 -q -o "$scratch/x.tsv" 2>"$scratch/err" &
sampler=$!
started+=("$sampler")
holder=
for _ in $(seq 500); do
    holder=$(pgrep -x -P "$sampler" rf-holder) && break
    sleep 0.02
done
[ -n "$holder" ] || fail "no process holds the threads: $(cat "$scratch/err")"
for _ in $(seq 20); do
    kill -STOP "$holder" || fail "the process that holds threads has ended: $(cat "$scratch/err")"
    sleep 0.1
done
# It is still sampled, so a look may find it held.
for _ in $(seq 100); do
    untouched "$target" >"$scratch/held" && break
    sleep 0.05
done
[ ! -s "$scratch/held" ] || fail "the target stays held: $(cat "$scratch/held")"
kill -TERM "$sampler" || fail "the recording ended by itself: $(cat "$scratch/err")"
for _ in $(seq 100); do
    kill -0 "$sampler" 2>/dev/null || break
    sleep 0.1
done
! kill -0 "$sampler" 2>/dev/null || fail "the recording does not end"
wait "$sampler" || fail "exit $?: $(cat "$scratch/err")"
is_tsv "$scratch/x.tsv"
stop_target
