#!/bin/bash
# A process that cannot be sampled is refused at once, with the reason, and left as it was.
. "$(dirname "$0")/lib.sh"

refused() { # STATUS TEXT PID [COMMAND BEFORE THE SAMPLER]
    local want=$1 text=$2 pid=$3 got
    shift 3
    timeout 5 "$@" "$B/fixtures/sampler" -p "$pid" -d 1 >"$scratch/out" 2>&1
    got=$?
    [ $got = "$want" ] || fail "pid $pid: status $got instead of $want: $(cat "$scratch/out")"
    grep -q -- "$text" "$scratch/out" || fail "pid $pid: no '$text' in: $(cat "$scratch/out")"
}

refused 4 "no process" 4194305
refused 4 "no process" 0
refused 4 "no process" -1

python3 -c 'import os, time
if os.fork() == 0: os._exit(0)
time.sleep(60)' &
parent=$!
started+=("$parent")
zombie=
for _ in $(seq 100); do
    zombie=$(pgrep -P "$parent") && grep -q 'State:.Z' "/proc/$zombie/status" && break
    sleep 0.05
done
refused 4 zombie "$zombie"

kernel=$(pgrep -P 2 2>/dev/null | head -1)
[ -z "$kernel" ] || [ "$(cat /proc/2/comm)" != kthreadd ] || refused 4 kernel "$kernel"

"$B/fixtures/meter" -b 1 >/dev/null &
target=$!
started+=("$target")
wait_busy "$target" || fail "the target does not run"
thread=$(ls "/proc/$target/task" | tail -1)
timeout 5 "$B/fixtures/sampler" -p "$thread" -d 0.3 >"$scratch/out" 2>&1 || fail "a thread's id: $(cat "$scratch/out")"

# PTRACE_SEIZE is request 0x4206
python3 -c '
import ctypes, sys, time
libc = ctypes.CDLL(None)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
assert libc.ptrace(0x4206, int(sys.argv[1]), None, None) == 0
print("seized", flush=True)
time.sleep(60)' "$target" >"$scratch/seized" &
tracer=$!
started+=("$tracer")
for _ in $(seq 100); do
    grep -q seized "$scratch/seized" && break
    sleep 0.05
done
refused 3 "pid $tracer (python3" "$target"
kill -KILL "$tracer"
wait "$tracer" 2>/dev/null
untouched "$target" || fail "the target did not stay as it was"

# Another user's process. The build folder may lie where that user cannot look.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    cp "$B/fixtures/sampler" "$scratch/sampler"
    chmod 755 "$scratch" "$scratch/sampler"
    if setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$scratch/sampler"; then
        setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
            "$scratch/sampler" -p "$target" -d 1 >"$scratch/out" 2>&1
        [ $? = 3 ] || fail "another user's: $(cat "$scratch/out")"
        grep -q "belongs to user 'root' and you are 'nobody'" "$scratch/out" || fail "$(cat "$scratch/out")"
    fi
    if unshare --user --map-root-user true 2>/dev/null; then
        refused 3 "only for this user namespace" "$target" unshare --user --map-root-user
    fi
    # an executable that may not be read: its process is not dumpable
    install -m 711 "$(command -v sleep)" "$scratch/unreadable"
    if setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$scratch/sampler"; then
        setpriv --reuid=65534 --regid=65534 --clear-groups "$scratch/unreadable" 60 &
        secret=$!
        started+=("$secret")
        for _ in $(seq 100); do
            [ "$(cat "/proc/$secret/comm")" = unreadable ] && break
            sleep 0.05
        done
        setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
            "$scratch/sampler" -p "$secret" -d 1 >"$scratch/out" 2>&1
        [ $? = 3 ] || fail "not dumpable: $(cat "$scratch/out")"
        grep -q "not dumpable" "$scratch/out" || fail "not dumpable: $(cat "$scratch/out")"
    fi
    if setpriv --bounding-set=-sys_ptrace true 2>/dev/null; then
        setpriv --reuid=65534 --regid=65534 --clear-groups "$B/fixtures/meter" -b 1 >/dev/null &
        theirs=$!
        started+=("$theirs")
        wait_busy "$theirs" || exit 0
        refused 3 "cap-add SYS_PTRACE" "$theirs" setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace
    fi
fi
exit 0
