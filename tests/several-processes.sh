#!/bin/bash
# -p A,B: one recording of two processes, kept apart in every format; one that ends leaves what it had, and the other
# goes on. Of one process nothing says so.
. "$(dirname "$0")/fake.bash"

fake ratio
one=$target
fake threads 2.3.1
two=$target

# both: each of the two has rows
both() { grep -q "	fakeforce-$one\$" "$1" && grep -q "	fakeforce-2.3.1-$two\$" "$1"; }
record_both() {
    "$RFPROF" -p "$one,$two" -d "$1" -r 500 --max-stop 100 -q -o "$scratch/out.tsv" -o "$scratch/out.folded" \
        -o "$scratch/out.perf" -o "$scratch/out.pb.gz" 2>"$scratch/err"
    [ $? = 0 ] || [ $? = 5 ] || fail "$(cat "$scratch/err")"
}
for seconds in 1 1 2 4 8 8; do # on a busy machine they may not have run in a second
    record_both $seconds
    both "$scratch/out.tsv" && break
done
[ "$(head -n 1 "$scratch/out.tsv")" = "$header	process" ] || fail "the header is $(head -n 1 "$scratch/out.tsv")"
both "$scratch/out.tsv" || fail "not both: $(cat "$scratch/out.tsv")"
awk -F '\t' -v one="fakeforce-$one" 'NR > 1 && (($1 ~ /^ratio/) != ($7 == one)) { print; bad = 1 } END { exit bad }' \
    "$scratch/out.tsv" || fail "rows of the wrong process"
! grep -v -E "^(fakeforce-$one|fakeforce-2\.3\.1-$two);" "$scratch/out.folded" ||
    fail "stacks without a process: $(cat "$scratch/out.folded")"
for pid in "$one" "$two"; do
    grep -q " $pid/[0-9]* .*cpu-clock:\$" "$scratch/out.perf" || fail "no samples of $pid in perf's format"
done
"$RFPROF" report "$scratch/out.pb.gz" -f tsv >"$scratch/again.tsv" || fail "report"
both "$scratch/again.tsv" || fail "not both when it is shown again: $(cat "$scratch/again.tsv")"

# One ends in the midst of it.
"$RFPROF" -p "$one,$two" -d 3 -r 200 -o "$scratch/out.tsv" 2>"$scratch/err" &
profiler=$!
started+=("$profiler")
await_says "sampling $two"
sleep 0.5
kill -KILL "$two"
wait "$profiler" || [ $? = 5 ] || fail "$(cat "$scratch/err")"
says "$two ended after [0-9.]* s; what it had is kept"
says "^rfprof: fakeforce-$one\$"

target=$one
rfprof -d 0.5 -f folded >"$scratch/out.folded"
! grep -q "^fakeforce-" "$scratch/out.folded" || fail "one process has a root: $(cat "$scratch/out.folded")"
expect_exit 2 "$RFPROF" -p "$one,$one" -d 1
says "process $one is named twice"
stop_target
expect_exit 2 "$RFPROF" check -p "1,2"
