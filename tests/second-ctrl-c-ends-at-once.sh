#!/bin/bash
# When the writing blocks, the second signal ends rfprof as signals do, and the target runs on.
. "$(dirname "$0")/lib.sh"

start_fixture ratio
mkfifo "$scratch/pipe"
"$RFPROF" -p "$target" -f folded -o "$scratch/pipe" 2>"$scratch/err" &
recorder=$!
started+=("$recorder")
for _ in $(seq 100); do
    grep -q sampling "$scratch/err" && break
    sleep 0.02
done
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
