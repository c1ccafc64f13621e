#!/bin/bash
# A top-level form in progress is <top>, at the line where the form starts.
. "$(dirname "$0")/fake.bash"

known() {
    fake top "$1"
    record
    expect_truth
    stop_target
}
each_release known
