#!/bin/bash
# Debug entries that hold the spans of freed atoms do not lead to the line of the parameter list.
. "$(dirname "$0")/fake.bash"

known() {
    fake stale "$1"
    record
    expect_truth
    stop_target
}
each_release known
