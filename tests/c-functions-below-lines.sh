#!/bin/bash
# -n puts C functions below the lines that run them and none of the interpreter; without them the stacks are the ones
# that they are without -n. --by native has all of the CPU time, by C function.
. "$(dirname "$0")/fake.bash"

stacks() {
    fake ratio "$1"
    rfprof -d 2 -r 500 --max-stop 100 -q -n -o "$scratch/n.folded" -o "$scratch/n.tsv"
    expect_status 0 -n
    is_tsv "$scratch/n.tsv" 5
    # A C function stands between the frames that it is called from and calls, with the file that it is in (the fixture has no debug information).
    grep -qE ';main \(fakeforce[^)]*\);.*outer \(ratio\.rfl:6\);inner \(ratio\.rfl:3\);heavy \(ratio-lib\.rfl:3\);ray_burn_fn \(fakeforce[^)]*\);burn \(fakeforce[^)]*\) [0-9]+$' \
        "$scratch/n.folded" || fail "no such stack: $(head -n 3 "$scratch/n.folded")"
    grep -qE '(vm_exec|ray_eval|call_fn|call_lambda)[^ ]* \(' "$scratch/n.folded" && fail "the interpreter is in it"
    grep -E '^[^;]*\(<runtime>\);' "$scratch/n.folded" && fail "a second root, over C functions"
    # burn runs nearly all the time, below ratio's three lines
    awk -F '\t' 'NR > 1 { sum += $4; if ($3 == "burn" && $1 ~ /^fakeforce/) burn += $4
            if ($3 == "heavy") heavy = $5; if ($3 == "heavy") own = $4 }
        END { printf "burn %.1f, heavy %.1f, %.1f of its own, of %.1f ms\n", burn, heavy, own, sum
              exit !(burn > 0.9 * sum && heavy > 0.4 * sum && heavy < 0.8 * sum && own < 0.1 * sum) }' \
        "$scratch/n.tsv" || fail "not what runs"
    # what is left without C functions are stacks of the language
    sed -E 's/ [0-9]+$//; s/$/;/; s/[^; ]* \((libc[^)]*|fakeforce[^)]*|\[vdso\])\);//g; s/;$//' "$scratch/n.folded" |
        sort -u >"$scratch/left"
    grep -qxF 'outer (ratio.rfl:6);inner (ratio.rfl:3);heavy (ratio-lib.rfl:3)' "$scratch/left" ||
        fail "left: $(cat "$scratch/left")"
    grep -vE '^(outer \(ratio\.rfl:[67]\)|[^;]* \(<(runtime|unknown)>\)$)' "$scratch/left" | grep -q . &&
        fail "left: $(cat "$scratch/left")"

    rfprof -d 2 -r 500 --max-stop 100 --by native -o "$scratch/native.tsv"
    expect_status 0 "--by native"
    is_tsv "$scratch/native.tsv" 3
    # The same CPU time as the kernel charged, and a row for each function.
    charged=$(sed -n 's/.*charged by the kernel: \([0-9.]*\) s.*/\1/p' "$scratch/err")
    awk -F '\t' -v charged="$charged" 'NR > 1 { sum += $4; n[$1 FS $3]++; if ($3 == "burn") burn = $4
            if ($2) bad = "a line"; if ($1 ~ /rfl/) bad = "Rayfall" }
        END { for (k in n) if (n[k] > 1) bad = k
              printf "burn %.1f of %.1f ms, charged %s s %s\n", burn, sum, charged, bad
              exit bad != "" || !(burn > 0.9 * sum) || sum > 1050 * charged || sum < 900 * charged }' \
        "$scratch/native.tsv" || fail "$(head "$scratch/native.tsv")"
    cut -f 3 "$scratch/native.tsv" | grep -qE '^vm_exec' || fail "the interpreter's own time is missing"
    stop_target
}
each_release stacks

# A worker's C functions stand on the main thread's line.
fake threads
rfprof -d 2 -r 300 --max-stop 100 -q -n -o "$scratch/pool.folded"
expect_status 0 "threads -n"
grep -qE 'threads \(threads\.rfl:3\);burn_task \(fakeforce[^)]*\);burn \(fakeforce[^)]*\) [0-9]+$' "$scratch/pool.folded" ||
    fail "no worker's: $(head "$scratch/pool.folded")"
# The main thread waits for them in a loop that yields: it is the loop that runs, but for a stop just before the call.
awk '/;pool_run_window [^;]* [0-9]+$/ { loop += $NF } /sched_yield [^;]* [0-9]+$/ { yields += $NF }
    END { printf "in the loop %d, in sched_yield %d\n", loop, yields
          exit yields > loop + 3 }' "$scratch/pool.folded" || fail "$(grep sched_yield "$scratch/pool.folded")"
stop_target
