#!/bin/bash
# timeout: 60
# Two lines dispatch in turns, for less time than passes between the copies of two threads: what workers run for one of
# them is not found on the other.
. "$(dirname "$0")/fake.bash"

# Most samples are of workers that fall asleep or wake up: so recordings are added up until there are enough of tasks.
turns() {
    fake turns "$1"
    : >"$scratch/all"
    for _ in 1 2 3 4 5; do
        rfprof -d 3 -r 1000 --max-stop 100 -q -n -t -o "$scratch/out.folded"
        expect_status 0 turns
        grep '^worker.*;burn_' "$scratch/out.folded" >>"$scratch/all"
        awk '{ line = /turns \(turns\.rfl:2\)/ ? 2 : /turns \(turns\.rfl:3\)/ ? 3 : 0
                of = /;burn_each_task/ ? 3 : 2
                right += $NF * (of == line)
                wrong += $NF * (of != line) }
            END { printf "samples of tasks: %d on their line, %d not\n", right, wrong
                  exit right < 30 ? 2 : 10 * wrong > right }' "$scratch/all"
        case $? in
        0) break ;;
        1) cat "$scratch/all"; exit 1 ;;
        esac
    done
    stop_target
}
each_release turns
