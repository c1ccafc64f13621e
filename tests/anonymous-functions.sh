#!/bin/bash
# A function without a name is <fn:LINE>, by the line where its fn form begins.
. "$(dirname "$0")/fake.bash"

known() {
    fake anon "$1"
    record
    expect_truth
    stop_target
}
each_release known
