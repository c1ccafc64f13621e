#!/bin/bash
# Without debug entries or source information the function is named all the same, at line 0.
. "$(dirname "$0")/fake.bash"

known() {
    fake noline "$1"
    record
    expect_truth
    stop_target
}
each_release known
