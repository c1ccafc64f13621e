#!/bin/bash
# A recording in the background: start returns after the first tick, stop when the files are complete. The recorder has a
# session of its own and nothing of the caller's; a later start takes over, and the earlier one's stop says so and
# changes nothing; it ends with its target and keeps what it has.
. "$(dirname "$0")/fake.bash"

folder=${XDG_RUNTIME_DIR:-/nowhere}/rfprof
[ -w "${XDG_RUNTIME_DIR:-/nowhere}" ] || folder=/tmp/rfprof-$(id -u)
[ "$(id -u)" != 0 ] || folder=/run/rfprof

# start_recorder OPTION...: sets $recorder.
start_recorder() {
    expect_exit 0 "$RFPROF" start -p "$target" "$@"
    recorder=$(sed -n 's/.*the recorder is process \([0-9]*\);.*/\1/p' "$scratch/err")
    [ -n "$recorder" ] || fail "start did not name its recorder: $(cat "$scratch/err")"
    started+=("$recorder")
    [ ! -s "$scratch/out" ] || fail "start wrote to stdout: $(cat "$scratch/out")"
}

# gone [PID]: it ends, the recorder unless another is named. Its parent is process 1 by then, which in a container may be
# one that leaves zombies.
gone() {
    local _
    for _ in $(seq 100); do
        [ -e "/proc/${1:-$recorder}" ] || return 0
        ! grep -q '^State:.Z' "/proc/${1:-$recorder}/status" 2>/dev/null || return 0
        sleep 0.05
    done
    fail "the recorder is still there"
}

stop() { expect_exit "$1" "$RFPROF" stop -p "$target" "${@:2}"; }

fake ratio
stop 4
says 'no recording'
exec 9>"$scratch/of-the-caller"
start_recorder -r 500 --max-stop 100
exec 9>&-
[ "$(ps -o sid= -p "$recorder" | tr -d ' ')" = "$recorder" ] || fail "not in a session of its own"
for fd in 0 1 2; do
    [ "$(readlink "/proc/$recorder/fd/$fd")" = /dev/null ] || fail "its descriptor $fd: $(readlink "/proc/$recorder/fd/$fd")"
done
# shellcheck disable=SC2012
! ls -l "/proc/$recorder/fd" | grep -q "$scratch" || fail "it has a descriptor of the caller's"
[ "$(stat -c %a "$folder" "$folder/$target"-*.sock | tr '\n' ' ')" = '700 600 ' ] || fail "modes: $(ls -la "$folder")"
burn 300
stop 0
says 'explained: '
is_tsv "$scratch/out"
grep -q '^ratio-lib.rfl	3	heavy	' "$scratch/out" || fail "no line of it is there: $(cat "$scratch/out")"
gone
stop 4
untouched "$target" || fail "the target was left stopped or traced"

# What stdout could not take is there for another try.
start_recorder -r 500 --max-stop 100 -f tsv
burn 300
to_full() { "$@" >/dev/full; }
expect_exit 1 to_full "$RFPROF" stop -p "$target"
says 'it is kept'
stop 0
is_tsv "$scratch/out"
stop 4

# With -o stdout gets nothing; the files are there when stop returns.
expect_exit 2 "$RFPROF" start -p "$target" -o -
start_recorder -r 500 --max-stop 100 -o "$scratch/a.tsv" -o "$scratch/a.folded"
burn 200
stop 0 -q
[ ! -s "$scratch/out" ] && [ ! -s "$scratch/err" ] || fail "stop -q said something"
is_tsv "$scratch/a.tsv"
[ -s "$scratch/a.folded" ] || fail "the second file is empty"
gone

# Two who know nothing of each other.
start_recorder --owner one -r 500 --max-stop 100 -o "$scratch/one.tsv"
burn 200
start_recorder --owner two -r 500 --max-stop 100 -o "$scratch/two.tsv"
is_tsv "$scratch/one.tsv"
stop 4 --owner one
says 'another start took'
[ -e "/proc/$recorder" ] && [ ! -e "$scratch/two.tsv" ] || fail "the earlier one's stop changed something"
burn 200
stop 0 --owner two
is_tsv "$scratch/two.tsv"
stop 4 --owner one
says 'no recording'

# Begun on a terminal, it has nothing to write over for those who stop it elsewhere.
if command -v script >/dev/null; then
    script -qec "$(printf '%q start -p %d' "$RFPROF" "$target")" /dev/null >"$scratch/typescript" </dev/null ||
        fail "on a terminal: $(cat "$scratch/typescript")"
    burn 300
    stop 0
    ! grep -q $'\033' "$scratch/err" || fail "sequences for a terminal: $(cat -v "$scratch/err")"
fi

# The same one again, and one whose recorder was killed.
start_recorder
earlier=$recorder
start_recorder
gone "$earlier"
kill -KILL "$recorder"
gone
stop 4
start_recorder -r 500 --max-stop 100
burn 200
stop 0

# It ends by itself: after -d, and with its target. A target that does not run has its first tick, too.
start_recorder -d 1 -r 500 --max-stop 100
gone
stop 0
is_tsv "$scratch/out"
kill -STOP "$target"
start_recorder
stop 5
[ "$(cat "$scratch/out")" = "$header" ] || fail "not just the header: $(cat "$scratch/out")"
kill -CONT "$target"
start_recorder -r 500 --max-stop 100 -o "$scratch/end.tsv"
burn 200
end "$target"
gone
is_tsv "$scratch/end.tsv"
stop 0
says "$target ended"
[ -z "$(ls -A "$folder" | grep "^$target-")" ] || fail "left behind: $(ls -A "$folder")"

expect_exit 4 "$RFPROF" start -p "$target"
says 'no process'

# What nobody asked for is not kept for ever, nor is a socket that nobody listens on.
touch -d '2 days ago' "$folder/1-1.ended" "$folder/1-1.sock"
touch "$folder/1-2.ended"
fake ratio
start_recorder
[ ! -e "$folder/1-1.ended" ] && [ ! -e "$folder/1-1.sock" ] && [ -e "$folder/1-2.ended" ] || fail "$(ls -la "$folder")"
rm "$folder/1-2.ended"
end "$target"
gone
rm -f "$folder/$target"-*
expect_exit 4 "$RFPROF" start -p $$
says 'not a rayforce process'
expect_exit 2 "$RFPROF" stop
expect_exit 2 "$RFPROF" start -p $$ --owner 'a/b'
