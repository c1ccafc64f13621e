#!/bin/bash
# A runtime in a shared object: the thread that owns the VM runs Rayfall and the pool works for it, whichever thread that
# is; another that is busy is the program's own, whatever its functions are called.
. "$(dirname "$0")/fake.bash"

# in_host LIBRARY SCENARIO
in_host() {
    start "$scratch/truth" "$B/fixtures/host" "$B/fixtures/$1" "$2"
    wait_for "$scratch/truth" ready
}

# Takes the rows out that the host itself has, which know their function. The pool is not idle in them.
without_host() {
    awk -F '\t' '$1 == "<runtime>" && $3 == "worker_loop" { host = 1 }
        $1 == "<runtime>" && $3 == "<pool idle>" { idle += $4 }
        ($1 == "<runtime>" && $3 != "<pool idle>") || $1 == "host.c" { next } { sum += $4; print }
        END { exit !host || idle > sum / 4 }' "$scratch/out.tsv" >"$scratch/rows"
}

# has_lines LINE...: and the rows left are these
has_lines() {
    local line
    for line in "$@"; do grep -q "^threads.rfl	$line	threads	" "$scratch/rows" || return 1; done
}

# On a busy machine the threads may hardly run for a while.
for library in fakeforce.so fakeforce-initial.so fakeforce-descriptors.so; do
    [ -e "$B/fixtures/$library" ] || continue
    in_host "$library" threads
    for _ in 1 2 3 4 5; do
        record
        without_host && has_lines 2 3 && break
    done
    without_host || fail "$library: the host's thread is not told apart: $(cat "$scratch/out.tsv")"
    has_lines 2 3 || fail "$library: no row for line 2 or line 3: $(cat "$scratch/out.tsv")"
    stop_target
done

in_host fakeforce.so ratio
expect_exit 0 "$RFPROF"
grep -q -E "^ *$target +2\.4\.0 +yes " "$scratch/out" || fail "not listed: $(cat "$scratch/out")"
record -d 4
without_host || fail "the host's thread is not told apart: $(cat "$scratch/out.tsv")"
mv "$scratch/rows" "$scratch/out.tsv"
expect_truth
stop_target
