#!/bin/bash
# A recorder that is stopped is not replaced by a second one beside it. One that cannot accept a connection, for want of
# descriptors, does not use up a CPU, and answers when it can.
. "$(dirname "$0")/fake.bash"
command -v prlimit >/dev/null || skip "there is no prlimit"

start_recorder() {
    expect_exit 0 "$RFPROF" start -p "$target" -r 50 -o "$1"
    recorder=$(sed -n 's/.*the recorder is process \([0-9]*\);.*/\1/p' "$scratch/err")
    started+=("$recorder")
    burn 300
}

fake ratio
start_recorder "$scratch/a.tsv"
kill -STOP "$recorder"
expect_exit 1 "$RFPROF" start -p "$target" -o "$scratch/b.tsv"
says "process $recorder, does not answer"
[ ! -e "$scratch/b.tsv" ] || fail "the second one has recorded"
kill -CONT "$recorder"
for _ in $(seq 100); do
    [ ! -s "$scratch/a.tsv" ] || break # it was asked to end, and does
    sleep 0.05
done
is_tsv "$scratch/a.tsv"

start_recorder "$scratch/c.tsv"
prlimit --pid "$recorder" --nofile=3:
"$RFPROF" stop -p "$target" 2>"$scratch/err" &
stop=$!
started+=("$stop")
sleep 0.3
before=$(cpu_ms "$recorder")
sleep 2
used=$(($(cpu_ms "$recorder") - before))
[ $used -lt 400 ] || fail "$used ms of CPU time within 2 s"
prlimit --pid "$recorder" --nofile=1024:
wait "$stop" || fail "stop: exit $?: $(cat "$scratch/err")"
is_tsv "$scratch/c.tsv"
stop_target
