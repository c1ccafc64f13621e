#!/bin/bash
# --by builtin: what each builtin costs with all that it calls, the dearest first; it says that this does not add up.
. "$(dirname "$0")/fake.bash"

columns='name	total_ms	calls	avg_ms'
by_builtin() {
    rfprof -d 3 -r 500 --max-stop 100 --by builtin -o "$scratch/builtin.tsv" -o "$scratch/builtin.folded" "$@"
    expect_status 0 "--by builtin"
    [ "$(head -n 1 "$scratch/builtin.tsv")" = "$columns" ] || fail "header: $(head -n 1 "$scratch/builtin.tsv")"
    says 'include what they call.* does not sum'
    awk -F '\t' 'NF != 4 || (NR > 1 && ($3 != "" || $4 != "")) { exit 1 }
        NR > 2 && ($2 > last || ($2 == last && $1 < name)) { exit 1 } NR > 1 { last = $2; name = $1 }' \
        "$scratch/builtin.tsv" || fail "rows: $(cat "$scratch/builtin.tsv")"
    charged=$(sed -n 's/.*charged by the kernel: \([0-9.]*\) s.*/\1/p' "$scratch/err")
}
# share NAME PERCENT [TOLERANCE]: of the CPU time. The kernel charges it in steps of 4 ms: few samples are independent.
share() {
    awk -F '\t' -v name="$1" -v want="$2" -v tolerance="${3:-12}" -v charged="$charged" \
        '$1 == name { have = $2 / charged / 10 } END { d = have - want
            printf "%s: %.1f %% of %s\n", name, have, want; exit d > tolerance || d < -tolerance }' \
        "$scratch/builtin.tsv" || fail "$(cat "$scratch/builtin.tsv")"
}

each() {
    fake ratio "$1"
    by_builtin
    share burn 60
    share burn2 30
    share burnn 10
    stop_target
    # in the tree walk, where the head of the form says which; map with what it calls
    fake top "$1"
    by_builtin
    share burn 80
    share burn2 15
    share burnn 5
    share map 50
    share do 0 0.1 # around a file's forms, where nobody wrote it
    grep -qE '^map;burn [0-9]+$' "$scratch/builtin.folded" || fail "$(cat "$scratch/builtin.folded")"
    stop_target
}
each_release each

# What the pool does is the builtin's that gave it to the pool.
fake threads
by_builtin
share burn 15 13 # (see pool-workers.sh: the shares of its two lines are not fixed)
share par 82 16
rfprof -d 1 -q --by builtin -f table -o - >"$scratch/table"
expect_status 0 "a table"
[ ! -s "$scratch/err" ] || fail "-q said: $(cat "$scratch/err")"
tail -n 1 "$scratch/table" | grep -q 'does not sum' || fail "$(cat "$scratch/table")"
stop_target
