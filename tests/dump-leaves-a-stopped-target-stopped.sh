#!/bin/bash
# dump works on a process that is stopped by a signal: it stays stopped, does not run, and goes on when it is
# continued. A thread's id is taken as its process. One that a debugger holds is refused.
. "$(dirname "$0")/fake.bash"

fake threads
for _ in $(seq 20); do # until it is not just between two calls
    freeze "$target"
    "$RFPROF" dump -p "$target" | grep -q ' threads (threads.rfl:[23]) ' && break
    kill -CONT "$target"
    sleep 0.02
done
# where each thread is: its system call, stack pointer and pc (to be stopped by a tracer costs it some CPU time)
places() { cat "/proc/$target"/task/*/syscall; }
before=$(places)
[ -n "$before" ] || fail "no places"
for _ in 1 2 3; do
    "$RFPROF" dump -n -p "$target" >"$scratch/dump" 2>"$scratch/err" || fail "exit $?: $(cat "$scratch/err")"
    [ "$(grep -c '^thread .*stopped' "$scratch/dump")" = 3 ] || fail "not three stopped threads: $(cat "$scratch/dump")"
    grep -q ' threads (threads.rfl:[23]) ' "$scratch/dump" || fail "no line: $(cat "$scratch/dump")"
    ! grep -h -E '^(TracerPid:.*[1-9]|State:.[^T])' "/proc/$target"/task/*/status || fail "it did not stay stopped"
done
[ "$(places)" = "$before" ] || fail "it ran while it was stopped: $before, then $(places)"
used=$(cpu_ms "$target")
kill -CONT "$target"
for _ in $(seq 200); do
    [ $(($(cpu_ms "$target") - used)) -gt 20 ] && break
    sleep 0.02
done
[ $(($(cpu_ms "$target") - used)) -gt 20 ] || fail "it does not go on"
worker=$(find "/proc/$target/task" -mindepth 1 -maxdepth 1 -printf '%f\n' | grep -vx "$target" | head -n 1)
"$RFPROF" dump -p "$worker" | grep -q "^process $target:" || fail "a thread's id is not taken as its process"
stop_target

fake asleep
wait_for "/proc/$target/status" 'State:	S (sleeping)'
held=$target
start "$scratch/tracer" "$B/fixtures/tracer" "$held"
tracer=$target
wait_for "$scratch/tracer" holding
expect_exit 3 "$RFPROF" dump -p "$held"
says "$tracer"
kill -KILL "$tracer"
wait "$tracer" 2>/dev/null
target=$held
"$RFPROF" dump -p "$target" | grep -q ' inner (asleep-lib.rfl:4) ' || fail "it cannot be looked at once the tracer is gone"
stop_target
