#!/bin/bash
# Two lines dispatch in turns, for less time than passes between the copies of two threads: what workers run for one of
# them is not found on the other.
. "$(dirname "$0")/fake.bash"

turns() {
    fake turns "$1"
    rfprof -d 4 -r 1000 --max-stop 100 -q -n -t -o "$scratch/out.folded"
    expect_status 0 turns
    stop_target
    awk '/^worker/ { n = $NF; line = /turns \(turns\.rfl:2\)/ ? 2 : /turns \(turns\.rfl:3\)/ ? 3 : 0
            each = /;burn_each_task/; one = /;burn_task/
            right += n * (line == 2 && one || line == 3 && each); wrong += n * (line == 2 && each || line == 3 && one) }
        END { printf "samples of tasks: %d on their line, %d on the other\n", right, wrong
              exit !(right > 9 && 10 * wrong <= right) }' "$scratch/out.folded" ||
        { grep '^worker' "$scratch/out.folded"; exit 1; }
}
each_release turns
