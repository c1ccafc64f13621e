#!/bin/bash
# SIGINT, SIGTERM and SIGHUP end the recording: files are written, exit 0.
. "$(dirname "$0")/fake.bash"

for signal in INT TERM HUP; do
    fake ratio
    # a shell without job control has its background jobs ignore SIGINT
    env --default-signal=INT "$RFPROF" -p "$target" -r 500 --max-stop 100 -q -o "$scratch/out.tsv" 2>"$scratch/err" &
    recorder=$!
    started+=("$recorder")
    sleep 1.5
    kill -$signal $recorder
    wait $recorder
    status=$?
    expect_status 0 "SIG$signal"
    expect_truth
    rm "$scratch/out.tsv"
    stop_target
done
