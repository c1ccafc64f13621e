#!/bin/bash
# A build whose structures lie as in no release, not optimised, and that holds nothing in registers: its debug
# information alone says where everything is, and where the interpreter's variables are.
. "$(dirname "$0")/fake.bash"

exe=$B/fixtures/fakeforce-debug
"$RFPROF" layout "$exe" >"$scratch/layout" || fail "no layout"
for line in '# From debug information.' 'exec.sp 52' 'exec.rs 9032' 'vm.nfo 80' 'env.user 16416' 'pool.n_workers 28'; do
    grep -qxF "$line" "$scratch/layout" || fail "not '$line': $(cat "$scratch/layout")"
done

# Until there are enough samples: on a busy machine the target hardly runs.
record_enough() {
    local seconds
    for seconds in 1 2 8; do
        record -d "$seconds"
        awk -F '\t' 'NR > 1 { if ($6 > n) n = $6 } END { exit n < 100 }' "$scratch/out.tsv" && break
    done
}

# Every line that burns CPU is there, and hardly anything else: how much each burns is not this test's matter.
expect_lines() {
    awk -F '\t' '
    FNR == NR { if ($1 == "truth" && $5 + 0 > 0) burns[$2 FS $3 FS $4]; next }
    FNR > 1 { sum += $4; key = $1 FS $2 FS $3; if (key in burns) { good += $4; seen[key] } }
    END {
        for (key in burns)
            if (!(key in seen)) { print key ": no row"; bad = 1 }
        if (good < 0.9 * sum) { printf "%d of %d ms are elsewhere\n", sum - good, sum; bad = 1 }
        exit bad || !sum
    }' "$scratch/truth" "$scratch/out.tsv" || fail "$(cat "$scratch/truth" "$scratch/out.tsv")"
}

fake ratio debug
rfprof --no-debug-info -d 1 -q
expect_status 4 "without debug information"
"$RFPROF" check -p "$target" >"$scratch/out" || fail "check: $(cat "$scratch/out")"
grep -q -E '^ok +debug-info +in the file$' "$scratch/out" || fail "$(cat "$scratch/out")"
grep -q -E '^ok +layout +debug info; fits' "$scratch/out" || fail "$(cat "$scratch/out")"
record_enough
expect_lines
stop_target

for scenario in recurse top; do
    fake "$scenario" debug
    record_enough
    expect_lines
    stop_target
done
