#!/bin/bash
# Three lines in two files that cost 6 : 3 : 1 have these shares, and their callers the totals.
. "$(dirname "$0")/fake.bash"

known() {
    fake ratio "$1"
    record
    expect_truth
    stop_target
}
each_release known
