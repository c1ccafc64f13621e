# fake.bash: targets whose true profile is known (fixtures/fakeforce), and the comparison with it. To be sourced.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# start FILE COMMAND...: runs it in the background with stdout and stderr in FILE. Sets $target.
start() {
    local out=$1
    shift
    : >"$out" # what an earlier target said there is not what this one says
    "$@" </dev/null >"$out" 2>&1 &
    target=$!
    started+=("$target")
}

# wait_for FILE TEXT: until a line of the file is that text.
wait_for() {
    local _
    for _ in $(seq 100); do
        grep -qxF "$2" "$1" 2>/dev/null && return 0
        sleep 0.05
    done
    cat "$1" >&2
    fail "it never said '$2'"
}

# fake SCENARIO [RELEASE]: starts a scenario; what is true about it is in $scratch/truth. Sets $target.
fake() {
    local exe=$B/fixtures/fakeforce
    [ "${2:-2.4.0}" = 2.4.0 ] || exe=$exe-$2
    start "$scratch/truth" "$exe" "$1"
    wait_for "$scratch/truth" ready
}

# stop_target: it must still be there, and nobody's tracee; then it is ended.
stop_target() {
    kill -0 "$target" 2>/dev/null || fail "the target did not survive"
    untouched "$target" || fail "the target was left stopped or traced"
    kill -KILL "$target"
    wait "$target" 2>/dev/null
    return 0
}

# rfprof OPTION...: the program on the target; stderr in $scratch/err. Sets $status.
rfprof() {
    "$RFPROF" -p "$target" "$@" 2>"$scratch/err"
    status=$?
}

# expect_status N WHAT
expect_status() {
    [ "$status" = "$1" ] && return 0
    cat "$scratch/err" >&2
    fail "$2: exit status $status, not $1"
}

# record OPTION...: some seconds of the target into $scratch/out.tsv.
record() {
    rfprof -d 2 -r 500 --max-stop 100 -q -o "$scratch/out.tsv" "$@"
    expect_status 0 record
}

# glance: half a second of it; it may not have run in that time.
glance() {
    rfprof -d 0.5 -r 500 --max-stop 100 -q -o "$scratch/out.tsv"
    [ "$status" = 5 ] || expect_status 0 record
}

# shows_lines [COMMAND]: for tests where it only matters that lines are found: takes glances (or what COMMAND does)
# until each line that is true of the scenario was seen. A busy machine may hardly let the target run for a while.
shows_lines() {
    local _
    : >"$scratch/seen"
    for _ in $(seq 20); do
        "${1:-glance}"
        grep -v '^<' "$scratch/out.tsv" >>"$scratch/seen"
        awk -F '\t' 'FILENAME == ARGV[1] { seen[$1 FS $2 FS $3]; next }
            $1 == "truth" && !(($2 FS $3 FS $4) in seen) { exit 1 }' "$scratch/seen" "$scratch/truth" && return 0
    done
    echo "--- the truth"
    cat "$scratch/truth"
    echo "--- all that was seen"
    sort -u "$scratch/seen"
    fail "not the lines that run"
}

# record_until CONDITION OPTION...: for longer and longer, until the condition holds of what was written: a busy machine
# gives a target little time.
record_until() {
    local condition=$1 seconds
    shift
    for seconds in 1 2 4 8 16; do
        rfprof -d $seconds -r 300 --max-stop 100 -q "$@"
        [ "$status" = 0 ] && eval "$condition" && return 0
    done
    fail "not in $seconds s: $condition"
}

# Compares out.tsv with the truth: each true row is there, its shares within three standard deviations of a sample
# of that size; nothing else has more than MAX_OTHER percent (default 3: the interpreter between builtins) and three
# deviations. The kernel accounts a running thread in steps of 4 ms, so there are no more independent samples than
# such steps, nor than the row with most samples has.
expect_truth() {
    awk -F '\t' -v other="${MAX_OTHER:-3}" '
    function abs(x) { return x < 0 ? -x : x }
    function off(what, have, want,    p, tolerance) {
        if (want == "-") return
        p = want / 100
        tolerance = 300 * sqrt(p * (1 - p) / n) + 2
        if (abs(have - want) <= tolerance) return
        printf "%s: %s is %.1f %%, true are %s %% (tolerance %.1f)\n", key, what, have, want, tolerance
        bad = 1
    }
    FNR == NR { if ($1 == "truth") { key = $2 FS $3 FS $4; true_self[key] = $5; true_total[key] = $6; } next }
    FNR == 1 { if ($0 != "file\tline\tfn\tself_ms\ttotal_ms\tsamples") { print "header: " $0; bad = 1 } next }
    { key = $1 FS $2 FS $3; if ($6 > most) most = $6 }
    { self[key] += $4; total[key] += $5; sum += $4; seen[key]++; rows++ }
    NF != 6 { print "not six fields: " $0; bad = 1 }
    END {
        if (sum < 50) { printf "only %d ms of CPU time\n", sum; exit 1 }
        n = most < sum / 4 ? most : sum / 4
        for (key in true_self) {
            if (!(key in seen)) { print key ": no row"; bad = 1; continue }
            off("self", 100 * self[key] / sum, true_self[key])
            off("total", 100 * total[key] / sum, true_total[key])
        }
        for (key in seen) {
            if (seen[key] > 1) { print key ": " seen[key] " rows"; bad = 1 }
            if (!(key in true_self) && 100 * self[key] / sum > other + 300 * sqrt(0.02 * 0.98 / n)) {
                printf "%s: %.1f %% that are not there\n", key, 100 * self[key] / sum
                bad = 1
            }
        }
        exit bad
    }' "$scratch/truth" "$scratch/out.tsv" && return 0
    echo "--- the truth"
    cat "$scratch/truth"
    echo "--- the profile"
    head -n 40 "$scratch/out.tsv"
    exit 1
}

# Both releases whose shapes the fixture knows.
each_release() {
    local release
    for release in 2.4.0 2.3.1; do
        echo "release $release"
        "$@" "$release"
    done
}
