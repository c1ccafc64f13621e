#!/bin/bash
# A program that rfprof starts is sampled from its first instruction, across what it executes before the runtime is up;
# it keeps its standard descriptors, gets the signals that were meant for it, and its status is what comes back.
. "$(dirname "$0")/fake.bash"
fakeforce=$B/fixtures/fakeforce

# Its own output is all that is on stdout; its lines are in the profile; what ran before is there too.
# shellcheck disable=SC2016 # the inner shell expands
burn='i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; read -r line; echo "read $line"; exec "$0" exit'
echo something | "$RFPROF" record -r 500 --max-stop 100 -o "$scratch/out.tsv" -- sh -c "$burn" "$fakeforce" \
    >"$scratch/truth" 2>"$scratch/err"
status=${PIPESTATUS[1]}
expect_status 0 "a program that ends by itself"
[ "$(head -n 1 "$scratch/truth")" = 'read something' ] || fail "stdin or stdout: $(cat "$scratch/truth")"
startup=$(awk -F '\t' '$1 == "<runtime>" && $3 == "<startup>" {print int($4)}' "$scratch/out.tsv")
[ "${startup:-0}" -ge 30 ] || fail "the CPU time before the exec is missing: $(cat "$scratch/out.tsv")"
grep -q "^ratio-lib.rfl	3	heavy	" "$scratch/out.tsv" || fail "no line of it is there: $(cat "$scratch/out.tsv")"

# Without -o the table is on stderr, where the rest is said.
expect_exit 0 "$RFPROF" -r 200 -- "$fakeforce" exit
grep -q ready "$scratch/out" || fail "the program's stdout: $(cat "$scratch/out")"
! grep -q 'self ms' "$scratch/out" || fail "the profile is on the program's stdout"
says 'self ms'

# A signal that is sent to rfprof ends the program; 128 + 15.
"$RFPROF" -r 200 -o "$scratch/out.tsv" -- "$fakeforce" ratio >"$scratch/truth" 2>"$scratch/err" &
recorder=$!
started+=("$recorder")
wait_for "$scratch/truth" ready
sleep 0.5
kill -TERM $recorder
wait $recorder
status=$?
expect_status 143 "SIGTERM"
is_tsv "$scratch/out.tsv"

# The recording ends after its time; the program goes on, and its status is waited for.
"$RFPROF" -d 1.5 -r 200 -o "$scratch/out.tsv" -- "$fakeforce" ratio >"$scratch/truth" 2>"$scratch/err" &
recorder=$!
started+=("$recorder")
await_says 'goes on'
is_tsv "$scratch/out.tsv"
kill -0 $recorder || fail "the program was not waited for"
kill -TERM $recorder
wait $recorder
status=$?
expect_status 143 "SIGTERM after the recording"

expect_exit 127 "$RFPROF" -- "$scratch/nothing-there"
says 'cannot run .*nothing-there: No such file'
expect_exit 126 "$RFPROF" -- "$scratch"
expect_exit 4 "$RFPROF" -- sh -c 'sleep 0.2; exit 7'
says 'not a rayforce process'
says 'itself ended with status 7'

# One that has a runtime's symbols, but ends before it is set up: its own status, and what that means. It waits for its
# stderr, a full pipe, to be read.
mkfifo "$scratch/full"
cat >"$scratch/wait.sh" <<'END'
exec 3<>"$1"
dd if=/dev/zero of="$1" bs=4096 oflag=nonblock status=none 2>/dev/null
(sleep 1; exec cat "$1" >/dev/null) 3>&- &
exec "$2" 2>&3 3>&-
END
expect_exit 2 "$RFPROF" -o "$scratch/out.tsv" -- bash "$scratch/wait.sh" "$scratch/full" "$fakeforce"
says 'the program ended \(status 2\) before its runtime was up'
! grep -q 'try again\|does not fit' "$scratch/err" || fail "a verdict on the layout: $(cat "$scratch/err")"
[ "$(head -n 1 "$scratch/out.tsv")" = "$header" ] || fail "no profile was written"

# No descriptor of ours lives on in it, and no signal is blocked or ignored.
alike() {
    expect_exit 0 "$@"
    mv "$scratch/out" "$scratch/alone"
    expect_exit 4 "$RFPROF" -- "$@"
    cmp "$scratch/alone" "$scratch/out" || fail "it was started otherwise: $(diff "$scratch/alone" "$scratch/out")"
}
alike ls /proc/self/fd
alike grep -E '^Sig(Blk|Ign)' /proc/self/status

if [ "$(id -u)" = 0 ]; then
    expect_exit 4 env SUDO_UID=65534 SUDO_GID=65534 "$RFPROF" -- id
    grep -q 'uid=65534.* gid=65534' "$scratch/out" && ! grep -q 'root' "$scratch/out" ||
        fail "under sudo it ran as $(cat "$scratch/out")"
    expect_exit 126 env SUDO_UID=-1 SUDO_GID=-1 "$RFPROF" -- id
    says 'cannot run id: Invalid argument'
fi

# Ctrl-C reaches the program once, and rfprof waits for what the program makes of it.
cat >"$scratch/terminal.py" <<'END'
import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "-q", "--", "bash", "-c",
                           'trap "echo INT" INT; echo up; for i in 1 2 3 4 5 6 7 8; do sleep 0.1; done; echo end'])
text = b""
sent = False
while True:
    try:
        more = os.read(fd, 4096)
    except OSError:
        break
    text += more
    if b"up" in text and not sent:
        sent = True
        os.write(fd, b"\x03")
os.waitpid(pid, 0)
sys.exit(0 if text.count(b"INT") == 1 and b"end" in text else text.decode())
END
python3 "$scratch/terminal.py" "$RFPROF" || fail "Ctrl-C"

# A real release: the lines of a script that ends with a status of its own.
if rayforce=$(release 2.4.0 2>/dev/null); then
    cat >"$scratch/script.rfl" <<'END'
(set fib (fn [n] (if (<= n 1) n (+ (self (- n 1)) (self (- n 2))))))
(println (fib 28))
(exit 7)
END
    expect_exit 7 "$RFPROF" -r 500 --max-stop 100 -o "$scratch/out.tsv" -- "$rayforce" "$scratch/script.rfl"
    [ "$(cat "$scratch/out")" = 317811 ] || fail "the script's output: $(cat "$scratch/out")"
    grep -q "script.rfl	1	fib	" "$scratch/out.tsv" || fail "no line of the script: $(cat "$scratch/out.tsv")"
fi
