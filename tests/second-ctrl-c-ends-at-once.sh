#!/bin/bash
# When the writing blocks, the second signal ends rfprof as signals do, and the target runs on; the first does where the
# recording was over by itself.
. "$(dirname "$0")/lib.sh"

start_fixture ratio
mkfifo "$scratch/pipe"
"$RFPROF" -p "$target" -f folded -o "$scratch/pipe" 2>"$scratch/err" &
recorder=$!
started+=("$recorder")
await_says sampling
sleep 0.1
kill -TERM "$recorder"
sleep 0.3
kill -0 "$recorder" 2>/dev/null || fail "did not wait for a reader of the FIFO"
untouched "$target" || fail "the target is held while writing blocks"
kill -TERM "$recorder"
wait "$recorder"
status=$?
[ $status = 143 ] || fail "exit $status"
untouched "$target" || fail "the target was changed"

# The same where the time was over, and nobody sent one before.
in_open() { grep -q '^257 ' "/proc/$recorder/syscall" 2>/dev/null; } # openat(2), on x86-64
"$RFPROF" -p "$target" -d 0.3 -q -f folded -o "$scratch/pipe" &
recorder=$!
started+=("$recorder")
for _ in $(seq 200); do
    in_open && sleep 0.2 && in_open && break
    sleep 0.05
done
in_open || fail "it does not wait for a reader of the FIFO"
kill -TERM "$recorder"
for _ in $(seq 100); do
    kill -0 "$recorder" 2>/dev/null || break
    sleep 0.05
done
! kill -0 "$recorder" 2>/dev/null || fail "a signal does not end the waiting for a reader"
