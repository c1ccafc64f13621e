#!/bin/bash
# Frames of stopped processes as gdb sees them: every pc, sp and callee-saved register must be the same.
# timeout: 200
#
# usage: unwind-agrees-with-gdb.sh [STOPS [PROGRAM ARG...]]     (without PROGRAM: the fixture, then real releases)
set -u
command -v gdb >/dev/null || { echo "no gdb"; exit 77; }
gdb -batch -ex 'python print(1)' 2>/dev/null | grep -q 1 || { echo "gdb without python"; exit 77; }
tmp=$(mktemp -d) || exit 1
pid=
trap '[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null; rm -rf "$tmp"' EXIT

cat >"$tmp/frames.py" <<'PY'
import gdb
gdb.execute("set pagination off")
gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry on")
gdb.execute("set backtrace limit 1024")
def reg(f, name):
    try:
        return "%x" % (int(f.read_register(name)) & (1 << 64) - 1)
    except gdb.error:
        return "-"
f = gdb.newest_frame()
while f is not None:
    # Made up by gdb from DWARF: inlined functions, and tail calls, which have left no frame.
    if f.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
        print("frame", *[reg(f, r) for r in ("rip", "rsp", "rbx", "rbp", "r12", "r13", "r14", "r15")])
    f = f.older()
PY

frames=0 stops=0 bad=0 short=0
# Stops the process at a random moment, once for each of us, and compares.
compare()
{
    sleep "0.0$((RANDOM % 90 + 10))"
    kill -STOP "$pid" || exit 1
    for _ in $(seq 100); do
        grep -q '^State:.T' "/proc/$pid/status" && break
        sleep 0.01
    done
    "$B/fixtures/unwind-stopped" "$pid" 200 >"$tmp/ours" || exit 1
    gdb -batch -nx -p "$pid" -x "$tmp/frames.py" 2>"$tmp/gdb.err" | sed -n 's/^frame //p' >"$tmp/gdb"
    kill -CONT "$pid"
    grep -v '^#' "$tmp/ours" | cut -d' ' -f1-8 >"$tmp/rows"
    stops=$((stops + 1))
    # Release 2.1.0 has a frame of 1 MB, more than is copied: what was copied has to agree.
    if grep -q '^# end: truncated' "$tmp/ours" && [ "$1" != fixture ]; then
        short=$((short + 1))
        head -n "$(wc -l <"$tmp/rows")" "$tmp/gdb" >"$tmp/head" && mv "$tmp/head" "$tmp/gdb"
    elif ! grep -q '^# end: root' "$tmp/ours"; then
        : >"$tmp/gdb"
    fi
    frames=$((frames + $(wc -l <"$tmp/gdb")))
    if ! [ -s "$tmp/gdb" ] || ! cmp -s "$tmp/rows" "$tmp/gdb"; then
        bad=$((bad + 1))
        echo "--- $1: ours and gdb's (pc sp rbx rbp r12 r13 r14 r15)"
        tail -1 "$tmp/ours"
        diff "$tmp/rows" "$tmp/gdb"
        cut -d' ' -f1,9 "$tmp/ours"
        tail -3 "$tmp/gdb.err"
    fi
    [ -z "${VERBOSE:-}" ] || tail -1 "$tmp/ours"
}

run() # run STOPS NAME PROGRAM ARG...
{
    local n=$1 name=$2
    shift 2
    "$@" </dev/null >"$tmp/out" 2>&1 &
    pid=$!
    sleep 0.5
    for _ in $(seq "$n"); do
        compare "$name"
    done
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    pid=
}

count=${1:-10}
if [ $# -gt 1 ]; then
    shift
    run "$count" "$*" "$@"
else
    run "$count" fixture "$B/fixtures/many-frames"
    cat >"$tmp/work.rfl" <<'RFL'
(set fib (fn [n] (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))))
(set t (table [k v] (list (til 100000) (til 100000))))
(set each (fn [i] (do (distinct (% (til 50000) 97)) (sum (map (fn [x] (fib (% x 9))) (til 30))))))
(map each (til 1000000))
RFL
    targets=${RFPROF_TARGETS:-${XDG_CACHE_HOME:-$HOME/.cache}/rfprof-targets}
    for release in 2.0.0 2.0.2 2.1.0 2.1.1 2.2.0 2.3.0 2.3.1 2.4.0; do # those that are there: gdb is slow enough
        exe=$targets/$release/rayforce/bin/rayforce
        [ -x "$exe" ] && run $(((count + 1) / 2)) "$exe" "$exe" "$tmp/work.rfl"
    done
fi
echo "$stops stops ($short with a stack cut short), $frames frames compared, $bad stops differ"
[ "$frames" -gt 0 ] && [ "$bad" -eq 0 ]
