#!/bin/bash
# C code that names its own spans: they are the innermost frames, of the thread that runs Rayfall and of one that does
# not, in a program and in a library; what is no span is left out or cut.
. "$(dirname "$0")/fake.bash"

# all_lines LIBRARY: in the library, whose thread is not the main one, and the host's own
all_lines() {
    start "$scratch/truth" "$B/fixtures/host" "$B/fixtures/$1" span
    wait_for "$scratch/truth" ready
    printf 'truth\thost.c\t1\t<span>\t-\t-\n' >>"$scratch/truth"
    shows_lines
    stop_target
}

fake span
record -d 4
expect_truth
rfprof -d 1 -r 500 --max-stop 100 -q -f folded >"$scratch/out.folded"
if [ "$status" != 5 ]; then
    ! grep 'check-limits' "$scratch/out.folded" | grep -v -q -F 'spanned (span.rfl:3);check-limits (rules.txt:7) ' ||
        fail "not below the line that called it: $(cat "$scratch/out.folded")"
fi
stop_target

fake liar
record -d 4
expect_truth
stop_target

for library in fakeforce.so fakeforce-initial.so; do
    echo "$library"
    all_lines "$library"
done
