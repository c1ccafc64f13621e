#!/bin/bash
# rfprof alone, and check without a process, list what could be profiled.
. "$(dirname "$0")/lib.sh"

start_fixture ratio
expect_exit 0 "$RFPROF"
grep -q -E "^ *$target +2\.4\.0 +yes +.*fakeforce ratio" "$scratch/out" || fail "not listed: $(cat "$scratch/out")"
expect_exit 0 "$RFPROF" check
grep -q -E "^ *$target " "$scratch/out" || fail "not listed by check: $(cat "$scratch/out")"
expect_exit 0 "$RFPROF" check -p "$target"
for what in permission build-id symbols release layout vm threads; do
    grep -q "^\(ok  \|note\) $what " "$scratch/out" || fail "check says nothing of $what: $(cat "$scratch/out")"
done
untouched "$target" || fail "the target was changed"
