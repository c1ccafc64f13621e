#!/bin/bash
# A target that never runs gives no samples: the files have their header only, and the reason is said.
. "$(dirname "$0")/lib.sh"

start_fixture ratio
freeze "$target"
expect_exit 5 "$RFPROF" -p "$target" -d 0.5 -o "$scratch/x.tsv"
says 'no samples'
says 'the target is stopped \(SIGSTOP\)'
says "kill -CONT $target"
! grep -q -E 'right process|explained|were held' "$scratch/err" || fail "said too much: $(cat "$scratch/err")"
for view in line builtin; do
    expect_exit 5 "$RFPROF" -f table --by $view -p "$target" -d 0.2
    [ ! -s "$scratch/out" ] || fail "a table without rows: $(cat "$scratch/out")"
done
[ "$(cat "$scratch/x.tsv")" = "$header" ] || fail "not only a header: $(cat "$scratch/x.tsv")"
expect_exit 0 "$RFPROF" top --batch -p "$target" -d 1.5
grep -q "no samples yet: it is stopped (SIGSTOP): kill -CONT $target" "$scratch/out" || fail "top: $(cat "$scratch/out")"
"$RFPROF" check -p "$target" >"$scratch/out" 2>&1
grep -q "it is stopped (SIGSTOP): kill -CONT $target" "$scratch/out" || fail "check: $(cat "$scratch/out")"
grep -q '^State:.*T (stopped)' "/proc/$target/status" || fail "the target is no longer stopped"
kill -CONT "$target"

start_fixture idle
expect_exit 0 "$RFPROF" -p "$target" -d 2 -o "$scratch/x.tsv"
says 'the target (slept|waited for a CPU) [0-9]+ % of the time' # where it is others who run, that is said
