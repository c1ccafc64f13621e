# lib.sh: what shell tests and the demo share: real rayforce releases, targets, cleaning up. To be sourced.
#
# Releases come out of the rayforce-py packages of the Python registry, once, into a cache folder outside of the
# source: ${RFPROF_TARGETS:-${XDG_CACHE_HOME:-~/.cache}/rfprof-targets}/VERSION/rayforce/bin/rayforce.

: "${B:=$PWD/build}" "${RFPROF:=$B/rfprof}"
targets=${RFPROF_TARGETS:-${XDG_CACHE_HOME:-$HOME/.cache}/rfprof-targets}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/rfprof.XXXXXX") || exit 1
started=()

# Ends a process that was started here.
end() {
    kill -CONT "$1" 2>/dev/null
    kill -KILL "$1" 2>/dev/null
    wait "$1" 2>/dev/null
}

clean_up() {
    local pid
    for pid in "${started[@]}"; do end "$pid"; done
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

fail() { echo "$*" >&2; exit 1; }
skip() { echo "$*"; exit 77; }

# Prints the path of a release's executable, fetching it when needed. Any wheel of a release holds the same kind of
# executable, so another Python's is taken when there is none for the one at hand.
release() {
    local version=$1 bin=$targets/$1/rayforce/bin/rayforce tmp any fetched=
    if [ ! -x "$bin" ]; then
        mkdir -p "$targets" && tmp=$(mktemp -d "$targets/fetch.XXXXXX") || return 1
        for any in '' '--python-version 3.11 --platform manylinux_2_28_x86_64 --implementation cp'; do
            # shellcheck disable=SC2086 # the options are meant to be split
            python3 -m pip download -q --disable-pip-version-check --retries 1 --timeout 10 --no-deps \
                --only-binary=:all: $any -d "$tmp" "rayforce-py==$version" >>"$tmp/log" 2>&1 && fetched=yes && break
        done
        # moved into place as a whole: an interrupted or parallel run leaves no half release
        if [ -n "$fetched" ] && python3 -m zipfile -e "$tmp"/*.whl "$tmp/x" && chmod +x "$tmp/x/rayforce/bin/rayforce"; then
            [ -x "$bin" ] || mv "$tmp/x" "$targets/$version"
        else
            tail -n 1 "$tmp/log" >&2
        fi
        rm -rf "$tmp"
    fi
    [ -x "$bin" ] && echo "$bin"
}

# Sets $rayforce to a release's executable, or skips the test.
need_release() {
    rayforce=$(release "$1" 2>"$scratch/fetch.log") ||
        skip "rayforce-py $1 cannot be fetched: $(tail -n 1 "$scratch/fetch.log")"
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# start_rayforce EXECUTABLE SCRIPT: runs a script in the background, in the scratch folder, and waits until it is busy. Sets $target.
start_rayforce() {
    local bin=$1 script=$2 port listen
    port=$(free_port) || return 1
    listen=127.0.0.1:$port
    # releases before 2.3.0 take no address
    case $bin in */2.[0-2].*/rayforce/bin/rayforce) listen=$port ;; esac
    (cd "$scratch" && exec env RAYFORCE_CORES=2 "$bin" -p "$listen" -c 2 "$script") \
        </dev/null >"$scratch/target.log" 2>&1 &
    target=$!
    started+=("$target")
    wait_busy "$target" || { cat "$scratch/target.log" >&2; return 1; }
}

# start_fixture SCENARIO: the stand-in for a target (fixtures/fakeforce) in the background. Sets $target.
start_fixture() {
    local _
    : >"$scratch/target.log" # an earlier one's "ready" is not this one's
    (cd "$scratch" && exec "$B/fixtures/fakeforce" "$1") </dev/null >"$scratch/target.log" 2>&1 &
    target=$!
    started+=("$target")
    for _ in $(seq 100); do
        ! grep -q '^ready' "$scratch/target.log" || return 0
        sleep 0.05
    done
    fail "fakeforce $1 did not start: $(cat "$scratch/target.log")"
}

# CPU time of a process in milliseconds.
cpu_ms() {
    cat "/proc/$1"/task/*/schedstat 2>/dev/null | awk '{s += $1} END {print int(s / 1000000)}'
}

# burn MS: until the target has used so much CPU time more.
burn() {
    local until _
    until=$(($(cpu_ms "$target") + $1))
    for _ in $(seq 400); do
        [ "$(cpu_ms "$target")" -lt "$until" ] || return 0
        sleep 0.05
    done
    fail "the target does not run"
}

# Busy: it used some CPU time, and then some more, and again. One that sleeps most of the time is busy, too.
wait_busy() {
    local pid=$1 last now busy=0 _
    last=$(cpu_ms "$pid")
    for _ in $(seq 300); do
        sleep 0.1
        kill -0 "$pid" 2>/dev/null || return 1
        now=$(cpu_ms "$pid")
        [ $((now - last)) -gt 1 ] || continue
        last=$now
        busy=$((busy + 1))
        [ $busy -lt 3 ] || return 0
    done
    return 1
}

# freeze PID: stops it with a signal, and waits until each of its threads has stopped.
freeze() {
    local _
    kill -STOP "$1"
    for _ in $(seq 200); do
        [ "$(sed 's/.*) //' "/proc/$1"/task/*/stat | cut -c1 | sort -u)" = T ] && return 0
        sleep 0.02
    done
    fail "process $1 does not stop"
}

# expect_exit CODE COMMAND...: runs it with its output in $scratch/out and $scratch/err.
expect_exit() {
    local expected=$1 got=0
    shift
    "$@" >"$scratch/out" 2>"$scratch/err" || got=$?
    [ "$got" = "$expected" ] || fail "exit $got instead of $expected: $*
$(cat "$scratch/err")"
}

# says PATTERN: the last command said so on stderr.
says() { grep -q -E -- "$1" "$scratch/err" || fail "nothing like '$1' in: $(cat "$scratch/err")"; }

# await_says REGEX: until the rfprof in the background, whose stderr is in $scratch/err, has said that.
await_says() {
    local _
    for _ in $(seq 200); do
        ! grep -qsE -- "$1" "$scratch/err" || return 0
        sleep 0.05
    done
    says "$1"
}

header='file	line	fn	self_ms	total_ms	samples'
# is_tsv FILE [MIN]: a table with its header and at least MIN rows (default 1).
is_tsv() {
    [ "$(head -n 1 "$1")" = "$header" ] || fail "$1 has no header: $(head -n 3 "$1")"
    [ "$(wc -l <"$1")" -gt "${2:-1}" ] || fail "$1 has too few rows: $(cat "$1")"
}

# Every thread of the process is untraced and not stopped.
untouched() {
    local pid=$1
    ! grep -h -E '^(TracerPid:[[:space:]]*[1-9]|State:[[:space:]]*[tT])' "/proc/$pid"/task/*/status
}
