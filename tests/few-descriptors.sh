#!/bin/bash
# More threads than the sampler may have descriptors: their files are then opened anew each time, and what is needed
# otherwise can still be opened.
. "$(dirname "$0")/lib.sh"

"$B/fixtures/meter" -b 1 -s 200 >/dev/null &
target=$!
started+=("$target")
wait_busy "$target" || fail "the target does not run"
(ulimit -n 100 && exec "$B/fixtures/sampler" -p "$target" -r 200 -d 2) >"$scratch/stats" 2>&1 ||
    fail "the sampler failed: $(cat "$scratch/stats")"
grep -q '"samples":[1-9]' "$scratch/stats" || fail "no samples: $(cat "$scratch/stats")"

# Those that rfprof needs with one thread and a file to write.
start_fixture ratio
low() (ulimit -n 40 && exec "$RFPROF" -p "$target" -d 1 -r 200 --max-stop 100 -o "$scratch/x.tsv")
expect_exit 0 low
is_tsv "$scratch/x.tsv"
