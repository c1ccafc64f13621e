#!/bin/bash
# Debug information in a file of its own: found by the name in .gnu_debuglink, beside the executable and in .debug
# there, when its CRC is right; given by name, when its build-id is that of the executable.
. "$(dirname "$0")/fake.bash"

exe=$scratch/bin/fake file=$scratch/bin/fake.debug
mkdir -p "$scratch/bin/.debug"
objcopy --only-keep-debug "$B/fixtures/fakeforce-debug" "$file" || fail objcopy
objcopy --strip-debug --add-gnu-debuglink="$file" "$B/fixtures/fakeforce-debug" "$exe" || fail objcopy
start "$scratch/truth" "$exe" ratio
wait_for "$scratch/truth" ready

# look STATUS WHAT FILE OPTION...: check finds the debug information there, or none.
look() {
    local status=$1 what=$2 where=$3 got
    shift 3
    "$RFPROF" check "$@" -p "$target" >"$scratch/out" 2>"$scratch/err"
    got=$?
    [ $got = "$status" ] || fail "$what: exit $got, not $status: $(cat "$scratch/out" "$scratch/err")"
    grep -q -E "^ok +debug-info +$where\$" "$scratch/out" || fail "$what: $(cat "$scratch/out")"
}

look 0 "beside it" "in .*/bin/fake\.debug"
for seconds in 1 2 8; do # on a busy machine the target hardly runs
    rfprof -d "$seconds" -q -n -f folded >"$scratch/folded"
    [ "$status" = 5 ] || break
done
expect_status 0 "C frames"
grep -q 'burn (builtins\.c:[1-9]' "$scratch/folded" || fail "no source lines: $(head -n 3 "$scratch/folded")"
mv "$file" "$scratch/bin/.debug"
look 0 "in .debug" "in .*/bin/\.debug/fake\.debug"
printf x >>"$scratch/bin/.debug/fake.debug"
look 4 "another CRC" none

mv "$scratch/bin/.debug/fake.debug" "$scratch/elsewhere"
look 4 "moved away" none
look 0 "given" "in $scratch/elsewhere" --debug-file "$scratch/elsewhere" # no CRC is asked for: the build-id is

refuse() {
    rfprof --debug-file "$1" -d 1 -q
    expect_status 2 "$2"
    grep -q "$3" "$scratch/err" || fail "$2: $(cat "$scratch/err")"
}
id() { "$RFPROF" layout "$1" | sed -n 's/^build-id //p'; }
refuse "$B/fixtures/fakeforce" "another build" "build-id is [0-9a-f]\{40\}, that of .* is $(id "$B/fixtures/fakeforce-debug")"
refuse "$exe" "nothing in it" "no debug information"
refuse "$scratch/missing" "no such file" "No such file"
stop_target
