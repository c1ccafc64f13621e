#!/bin/bash
# A signal that rfprof was started to ignore (nohup) does not end the recording.
. "$(dirname "$0")/lib.sh"

start_fixture ratio
env --ignore-signal=HUP "$RFPROF" -p "$target" -d 2 -f tsv -o "$scratch/x.tsv" 2>"$scratch/err" &
recorder=$!
started+=("$recorder")
await_says sampling
kill -HUP "$recorder"
sleep 0.2
[ ! -e "$scratch/x.tsv" ] || fail "it ended the recording"
wait "$recorder" || fail "exit $?"
is_tsv "$scratch/x.tsv"

# A shell without job control starts what is in the background with SIGINT ignored: then Ctrl-C is not how it ends.
"$RFPROF" -p "$target" -f tsv -o "$scratch/y.tsv" 2>"$scratch/err" &
recorder=$!
started+=("$recorder")
await_says sampling
says 'at 100 Hz until SIGTERM or its end'
kill -TERM "$recorder"
wait "$recorder" || [ $? = 5 ] || fail "SIGTERM did not end it well: $(cat "$scratch/err")"
