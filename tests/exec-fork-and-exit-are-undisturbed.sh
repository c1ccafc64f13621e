#!/bin/bash
# A target that forks, executes (from a thread that is not its first, too) and exits while it is sampled does so as
# if it were not: every child's status arrives, no SIGTRAP, no thread left behind, its own status at the end.
. "$(dirname "$0")/lib.sh"

cat >"$scratch/forks.sh" <<'END'
for i in $(seq 150); do
    (exit $((i % 100 + 1)))
    [ $? = $((i % 100 + 1)) ] || exit 99
done
exit 42
END
cat >"$scratch/execs.py" <<'END'
import os, sys, threading, time
left = int(sys.argv[1])

def step():
    end = time.monotonic() + 0.02
    while time.monotonic() < end:
        pass
    if left == 0:
        os._exit(43)
    os.execv(sys.executable, [sys.executable, "-S", sys.argv[0], str(left - 1)])

threading.Thread(target=step).start()
while True:
    pass
END

sampled() {
    local want=$1 target sampler
    shift
    "$@" &
    target=$!
    started+=("$target")
    "$B/fixtures/sampler" -p "$target" -r 3000 >"$scratch/stats" 2>&1 &
    sampler=$!
    started+=("$sampler")
    wait "$target"
    local got=$?
    [ $got = "$want" ] || fail "$1: status $got instead of $want"
    wait "$sampler" || fail "$1: the sampler failed: $(cat "$scratch/stats")"
    grep -q '"samples":[1-9]' "$scratch/stats" || fail "$1: not sampled: $(cat "$scratch/stats")"
}

sampled 42 bash "$scratch/forks.sh"
sampled 43 python3 -S "$scratch/execs.py" 25
