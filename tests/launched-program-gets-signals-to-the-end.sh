#!/bin/bash
# What is left to say goes to a pipe that nobody reads: a signal that is meant for the launched program still reaches it,
# and, when that has ended, ends rfprof.
. "$(dirname "$0")/lib.sh"

gone() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
await() {
    local _
    for _ in $(seq 200); do
        "$@" && return 0
        sleep 0.05
    done
    return 1
}
full() { ! timeout 1 dd if=/dev/zero of="$scratch/pipe" bs=1 count=1 oflag=nonblock 2>/dev/null; }
blocked() { grep -q 'pipe' "/proc/$launcher/wchan" 2>/dev/null || grep -q '^1 0x2 ' "/proc/$launcher/syscall"; }

mkfifo "$scratch/pipe"
exec 7<>"$scratch/pipe"
while dd if=/dev/zero of="$scratch/pipe" bs=4096 count=1 oflag=nonblock 2>/dev/null; do :; done
full || fail "the pipe takes more"
"$RFPROF" -q -d 1 -r 200 --max-stop 100 -- "$B/fixtures/fakeforce" ratio >"$scratch/log" 2>&7 &
launcher=$!
started+=("$launcher")
await grep -q '^ready' "$scratch/log" || fail "it does not start"
program=$(pgrep -P "$launcher" fakeforce) || fail "no program below $launcher"
started+=("$program")
await blocked || fail "rfprof does not write: $(cat "/proc/$launcher/syscall")"
kill -TERM "$launcher"
await gone "$program" || fail "the signal did not reach the program"
kill -TERM "$launcher"
await gone "$launcher" || fail "the second one did not end rfprof"
