#!/bin/bash
# What is left to say goes to a pipe that nobody reads: a signal that is meant for the launched program still reaches it,
# and, when that has ended, ends rfprof. One that comes when the program has just ended costs nothing of the profile.
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

# The one that was launched.
find_program() {
    await grep -q '^ready' "$scratch/log" || fail "it does not start"
    program=$(pgrep -P "$launcher" fakeforce) || fail "no program below $launcher"
    started+=("$program")
}

mkfifo "$scratch/pipe"
exec 7<>"$scratch/pipe"
while dd if=/dev/zero of="$scratch/pipe" bs=4096 count=1 oflag=nonblock 2>/dev/null; do :; done
full || fail "the pipe takes more"
"$RFPROF" -q -d 1 -r 200 --max-stop 100 -- "$B/fixtures/fakeforce" ratio >"$scratch/log" 2>&7 &
launcher=$!
started+=("$launcher")
find_program
await blocked || fail "rfprof does not write: $(cat "/proc/$launcher/syscall")"
kill -TERM "$launcher"
await gone "$program" || fail "the signal did not reach the program"
kill -TERM "$launcher"
await gone "$launcher" || fail "the second one did not end rfprof"

# rfprof is stopped meanwhile, so that it finds the signal before it can see that the program is no more.
: >"$scratch/log"
"$RFPROF" -q -r 200 --max-stop 100 -o "$scratch/out.tsv" -- "$B/fixtures/fakeforce" ratio >"$scratch/log" 2>"$scratch/err" &
launcher=$!
started+=("$launcher")
find_program
target=$program
burn 300
freeze "$launcher"
kill -TERM "$program"
await gone "$program" || fail "the program does not end"
kill -TERM "$launcher"
kill -CONT "$launcher"
wait "$launcher"
status=$?
[ $status = 143 ] || fail "exit $status instead of the program's: $(cat "$scratch/err")"
is_tsv "$scratch/out.tsv"
