#!/bin/bash
# What cannot be profiled is refused at once, with the right exit code and a reason.
. "$(dirname "$0")/fake.bash"

# refused STATUS WHAT PATTERN PID
refused() {
    target=$4
    rfprof -d 1 -q -o "$scratch/out.tsv"
    expect_status "$1" "$2"
    grep -qiE "$3" "$scratch/err" || { cat "$scratch/err" >&2; fail "$2: no word of '$3'"; }
    [ ! -e "$scratch/out.tsv" ] || fail "$2: a file was written"
}

refused 4 "no such process" 'no such process|no process' 999999999
start "$scratch/out" sleep 100
refused 4 "sleep" 'rayforce' "$target"
stop_target
start "$scratch/out" sh -c 'sleep 0 & echo $!; exec sleep 100'
for _ in $(seq 50); do
    grep -qs '^State:.Z' "/proc/$(cat "$scratch/out")/status" && break
    sleep 0.05
done
refused 4 "a zombie" 'zombie|ended|defunct' "$(cat "$scratch/out")"

fake wronglayout
refused 4 "a wrong layout" 'VM|layout' "$target"
stop_target
fake wronglayout 2.3.1
refused 4 "a wrong layout" 'VM|layout' "$target"
stop_target

sh -c 'exec "$RFPROF" -p $$ -d 1' 2>"$scratch/err"
status=$?
expect_status 2 "its own pid"
"$RFPROF" 1 2>"$scratch/err"
status=$?
expect_status 2 "a bare number"
grep -q -- '-p' "$scratch/err" || fail "no hint to -p"
