#!/bin/bash
# A function that calls itself (its entries on the return stack name no function) has one row per line, and its
# total counts once per sample however deep it recurs.
. "$(dirname "$0")/fake.bash"

known() {
    fake recurse "$1"
    record
    expect_truth
    stop_target
}
each_release known
