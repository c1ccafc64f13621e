#!/bin/bash
# The file that is mapped is what counts: one that was deleted, or replaced by another release, or has an odd name, is
# profiled all the same; with and without the capability that /proc/PID/map_files takes.
. "$(dirname "$0")/fake.bash"

# Not below $TMPDIR, which is not for other users.
open=$(mktemp -d /tmp/rfprof.XXXXXX) || exit 1
trap 'clean_up; rm -rf "$open"' EXIT
dir="$open/a folder
with a newline"
mkdir "$dir" && chmod 755 "$open" && cp "$RFPROF" "$open/rfprof" || exit 1
exe="$dir/trading engine (deleted)"
as=()

in_place() {
    rm -f "$exe"
    cp "$B/fixtures/fakeforce" "$exe"
    start "$scratch/truth" "${as[@]}" "$exe" ratio
    wait_for "$scratch/truth" ready
}

sample() {
    "${as[@]}" "$open/rfprof" -p "$target" -d 0.5 -r 500 --max-stop 100 -q -f tsv >"$scratch/out.tsv" 2>"$scratch/err" ||
        [ $? = 5 ] || fail "$(cat "$scratch/err")"
}

profiled() {
    echo "$1"
    shows_lines sample
    "${as[@]}" "$open/rfprof" check -p "$target" >"$scratch/out" 2>"$scratch/err" || fail "$1: check: $(cat "$scratch/err")"
}

moved() {
    in_place
    profiled "an odd name"
    ! grep -q 'deleted or replaced' "$scratch/out" || fail "it is in place: $(cat "$scratch/out")"
    rm "$exe"
    profiled "deleted"
    grep -q '^ok   file .*deleted or replaced' "$scratch/out" || fail "no word of that: $(cat "$scratch/out")"
    cp "$B/fixtures/fakeforce-2.3.1" "$exe"
    profiled "replaced"
    grep -q '^ok   release  *2\.4\.0' "$scratch/out" || fail "the wrong file was read: $(cat "$scratch/out")"
    stop_target
}

moved
[ "$(id -u)" = 0 ] || exit 0
as=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all)
echo "as another user"
moved
