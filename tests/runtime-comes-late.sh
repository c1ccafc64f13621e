#!/bin/bash
# A Python that has not imported the runtime yet is waited for, and told so; one that never does is the error in the end.
. "$(dirname "$0")/fake.bash"

cat >"$scratch/late.py" <<'PY'
import ctypes, os, sys, time
print("waiting", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
library = ctypes.CDLL(sys.argv[2])
library.fakeforce_main(2, (ctypes.c_char_p * 3)(b"python", b"ratio", None))
PY

start "$scratch/truth" python3 "$scratch/late.py" "$scratch/go" "$B/fixtures/fakeforce.so"
wait_for "$scratch/truth" waiting
expect_exit 0 "$RFPROF" check -p "$target"
grep -q '^note release  *none yet: a Python' "$scratch/out" || fail "check: $(cat "$scratch/out")"
expect_exit 4 "$RFPROF" dump -p "$target"
says "it may get a runtime yet: rfprof -p $target waits until it does"
expect_exit 4 "$RFPROF" -p "$target" -d 0.5 -o "$scratch/never.tsv"
says "there is no rayforce runtime in $target yet: waiting for it"
says "no rayforce runtime came up in $target within [0-9.]+ s"

"$RFPROF" -p "$target" -r 500 --max-stop 100 -o "$scratch/out.tsv" 2>"$scratch/err" &
profiler=$!
started+=("$profiler")
await_says 'waiting for it'
touch "$scratch/go"
wait_for "$scratch/truth" ready
for _ in $(seq 200); do # until there is enough to see
    [ "$(cpu_ms "$target")" -lt 1500 ] || break
    sleep 0.1
done
kill -TERM "$profiler"
wait "$profiler" || fail "exit $?: $(cat "$scratch/err")"
says 'the runtime is up after .* s: rayforce 2\.4\.0'
for row in 'ratio-lib.rfl	3	heavy' 'ratio.rfl	2	inner' 'ratio.rfl	6	outer'; do
    grep -q "^$row	" "$scratch/out.tsv" || fail "no row '$row': $(cat "$scratch/out.tsv")"
done
stop_target
