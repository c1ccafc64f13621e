#!/bin/bash
# SIGUSR1 and --snapshot write the files as they are so far, each as a whole, and the recording goes on; stdout is
# written once, at the end.
. "$(dirname "$0")/fake.bash"

# appears FILE: it is there, and whole, while the recorder runs.
appears() {
    local _
    for _ in $(seq 100); do
        [ ! -e "$1" ] || break
        sleep 0.05
    done
    is_tsv "$1" 0
    [ -z "$(tail -c 1 "$1")" ] || fail "$1 was cut"
    kill -0 $recorder || fail "the recording ended: $(cat "$scratch/err")"
}

fake ratio
for how in USR1 --snapshot; do
    rm -f "$scratch"/out.*
    option=()
    [ $how = USR1 ] || option=(--snapshot 0.3)
    "$RFPROF" -p "$target" -r 300 --max-stop 100 -o "$scratch/out.tsv" -o - -f folded "${option[@]}" \
        >"$scratch/out.stdout" 2>"$scratch/err" &
    recorder=$!
    started+=("$recorder")
    burn 300
    if [ $how = USR1 ]; then
        [ ! -e "$scratch/out.tsv" ] || fail "a file was written before it was asked for"
        kill -USR1 $recorder
    fi
    appears "$scratch/out.tsv"
    rm "$scratch/out.tsv" # once more
    [ $how != USR1 ] || kill -USR1 $recorder
    appears "$scratch/out.tsv"
    [ ! -s "$scratch/out.stdout" ] || fail "stdout was written before the end"
    kill -TERM $recorder
    wait $recorder
    status=$?
    expect_status 0 "after $how"
    is_tsv "$scratch/out.tsv"
    [ -s "$scratch/out.stdout" ] || fail "stdout got nothing"
done
[ -z "$(ls -A "$scratch" | grep '^\.rfprof')" ] || fail "temporary files are left"
expect_exit 2 "$RFPROF" -p "$target" --snapshot 0
expect_exit 0 "$RFPROF" -p "$target" -d 1 --snapshot 1
says 'no file to write'
stop_target
