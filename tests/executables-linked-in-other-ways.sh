#!/bin/bash
# At a fixed address, at any, with or without its own C library, by linkers that place segments elsewhere than in the
# file: an executable is profiled as it is.
. "$(dirname "$0")/fake.bash"

# built NAME: false where this machine has not what it takes
built() {
    ${MAKE:-make} -s B="$B" "$B/fixtures/$1" >"$scratch/make" 2>&1 && return 0
    grep -q -i -E 'cannot find|invalid linker|unable to find|unrecognized|not found' "$scratch/make" ||
        fail "$1: $(cat "$scratch/make")"
    return 1
}

for way in static static-pie pie-by-bfd by-gold by-mold pie-by-mold by-lld pie-by-lld; do
    built "fakeforce-$way" || { echo "not here: $way"; continue; }
    echo "$way"
    start "$scratch/truth" "$B/fixtures/fakeforce-$way" ratio
    wait_for "$scratch/truth" ready
    shows_lines
    stop_target
done
