#!/bin/bash
# -t: workers have roots, rows and shares of their own, and all threads together are the profile.
. "$(dirname "$0")/fake.bash"

apart() {
    fake threads "$1"
    rfprof -d 2 -r 300 --max-stop 100 -q -t --columns pool_ms,main_ms -o "$scratch/out.tsv" -o "$scratch/out.folded"
    expect_status 0 "-t"
    [ "$(head -n 1 "$scratch/out.tsv")" = "$header	pool_ms	main_ms	thread" ] || fail "$(head -n 1 "$scratch/out.tsv")"
    # line 3 dispatches: both workers stand below it; what they use is the pool's, what main uses is not
    awk -F '\t' 'NR > 1 { d = $4 - $7 - $8; if (d * d > 1e-7) { print "self is not pool and main: " $0; bad = 1 }
            if ($9 ~ /^worker-/ ? $8 != 0 : $7 != 0) { print "charged to the wrong side: " $0; bad = 1 }
            seen[$9]++; if ($2 == 3 && $4 > 0) on3[$9]++ }
        END { for (t in seen) if (t !~ /^(main|worker-[12])$/) { print "thread " t; bad = 1 }
            if (!on3["worker-1"] || !on3["worker-2"] || !on3["main"]) { print "not all work on line 3"; bad = 1 }
            exit bad }' "$scratch/out.tsv" || fail "$(cat "$scratch/out.tsv")"
    for thread in main worker-1 worker-2; do
        grep -qE "^$thread;.*threads \(threads\.rfl:3\) [0-9]+$" "$scratch/out.folded" ||
            fail "$thread is no root: $(cat "$scratch/out.folded")"
    done
    ! grep -vE '^(main|worker-[12])(;| )' "$scratch/out.folded" || fail "another root: $(cat "$scratch/out.folded")"

    # the same recording, by thread and by line
    rfprof -d 2 -r 300 --max-stop 100 -q --by thread -o "$scratch/thread.tsv" -f folded -o - >"$scratch/thread.folded"
    expect_status 0 "--by thread"
    is_tsv "$scratch/thread.tsv" 3
    awk -F '\t' 'NR > 1 && ($1 != "" || $2 != 0 || $4 != $5 || $3 !~ /^(main|worker-[12])$/) { exit 1 }' \
        "$scratch/thread.tsv" || fail "$(cat "$scratch/thread.tsv")"
    [ "$(awk '{ s += $2 } END { print s }' "$scratch/thread.folded")" = \
        "$(awk -F '\t' '{ s += $6 } END { print s }' "$scratch/thread.tsv")" ] || fail "the formats differ"

    # not asked for: no thread anywhere
    rfprof -d 2 -r 300 --max-stop 100 -q --columns pool_ms -o "$scratch/out.tsv" -o "$scratch/out.folded"
    expect_status 0 "without -t"
    ! grep -E 'worker-|^main' "$scratch/out.tsv" "$scratch/out.folded" || fail "threads without -t"
    awk -F '\t' '$2 == 3 { pool = $7 } END { exit !(pool > 0) }' "$scratch/out.tsv" || fail "$(cat "$scratch/out.tsv")"
    stop_target
}
each_release apart

expect_exit 2 "$RFPROF" -p 1 --by thread --columns col
says "only rows by line or expr"
