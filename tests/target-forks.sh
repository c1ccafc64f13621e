#!/bin/bash
# A target that forks is recorded on; its child is left alone.
. "$(dirname "$0")/fake.bash"

fake fork
record
expect_truth
stop_target
