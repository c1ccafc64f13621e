#!/bin/bash
# The fixture with the known profile is what it claims to be.
. "$(dirname "$0")/fake.bash"

for exe in fakeforce fakeforce-2.3.1; do
    "$B/fixtures/$exe" --selfcheck >"$scratch/out" || fail "$exe"
done
