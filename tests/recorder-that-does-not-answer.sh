#!/bin/bash
# A recorder that is stopped is not replaced by a second one beside it, nor does it end for one that has given up; a start
# does not wait for ever behind others that gave up. One that cannot accept a connection, for want of descriptors, does
# not use up a CPU, and answers when it can.
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
listener=$(find /run/rfprof "/tmp/rfprof-$UID" "${XDG_RUNTIME_DIR:-/tmp}/rfprof" -name "$target-*.sock" 2>/dev/null | sort -u)
python3 - "$listener" <<'END' || fail "the queue of $listener is not full"
import socket, sys
for _ in range(1000):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
    try:
        s.connect(sys.argv[1])
    except BlockingIOError:
        sys.exit(0)
sys.exit(1)
END
expect_exit 1 timeout 30 "$RFPROF" start -p "$target" -o "$scratch/b.tsv"
says "does not answer, nor did it answer earlier starts"
kill -CONT "$recorder"
expect_exit 0 "$RFPROF" stop -p "$target"
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
