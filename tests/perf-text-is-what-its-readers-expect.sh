#!/bin/bash
# -f perf: each sample with thread, time and weight, C functions below the lines; its readers make folded stacks of it.
. "$(dirname "$0")/fake.bash"

# What the readers agree on, in their own terms: header, frames, an empty line. Prints folded stacks, weights in ns.
cat >"$scratch/read.py" <<'PY'
import collections, re, sys
stacks, stack, weight, last = collections.Counter(), None, 0, {}
for line in open(sys.argv[1]):
    line = line.rstrip("\n")
    if line == "":
        stacks[";".join(reversed(stack))] += weight
        stack = None
    elif stack is None:
        m = re.match(r"^(\S.+?)\s+(\d+)/(\d+) (\d+\.\d{9}): +(\d+) cpu-clock:$", line)
        if not m or int(m[2]) != int(sys.argv[2]):
            sys.exit("not a header: " + line)
        if float(m[4]) < last.get(m[3], 0):
            sys.exit("back in time: " + line)
        last[m[3]], weight, stack = float(m[4]), int(m[5]), []
    else:
        m = re.match(r"^\t *[0-9a-f]+ +(.+)\+0x0 \((\S+)\)$", line)
        if not m or "(" in m[1]:
            sys.exit("not a frame: " + line)
        stack.append(m[1])
if stack is not None:
    sys.exit("the last sample does not end")
for s, n in sorted(stacks.items()):
    print(s, n)
PY

# readers NAME: our reading, and, where they are installed, that of the programs the format is for
readers() {
    python3 "$scratch/read.py" "$scratch/$1.perf" "$target" >"$scratch/$1.read" || fail "$1"
    for program in inferno-collapse-perf stackcollapse-perf.pl; do
        command -v "$program" >/dev/null || { echo "$program is not installed"; continue; }
        "$program" "$scratch/$1.perf" >"$scratch/theirs" 2>"$scratch/err" || fail "$program: $(cat "$scratch/err")"
        [ ! -s "$scratch/err" ] || fail "$program says: $(head -n 5 "$scratch/err")"
        # theirs have the command in front
        cut -d ';' -f 2- "$scratch/theirs" | tr -d "'\"" | LC_ALL=C sort >"$scratch/theirs.sorted"
        tr -d "'\"" <"$scratch/$1.read" | LC_ALL=C sort >"$scratch/ours.sorted"
        cmp "$scratch/ours.sorted" "$scratch/theirs.sorted" || fail "$program reads something else:
$(diff "$scratch/ours.sorted" "$scratch/theirs.sorted" | head)"
    done
}

fake threads
before=$(awk '{ print int($1) }' /proc/uptime)
rfprof -d 2 -r 200 --max-stop 100 -q -o "$scratch/pool.perf" -o "$scratch/pool.tsv"
expect_status 0 "-o x.perf"
readers pool
grep -qE ';threads \[threads\.rfl:2\];(.*;)?burn [0-9]+$' "$scratch/pool.read" ||
    fail "no C function below line 2: $(cat "$scratch/pool.read")"
# each sample of the table is there, with its weight
samples=$(grep -c cpu-clock "$scratch/pool.perf")
[ "$samples" = "$(awk -F '\t' '{ s += $6 } END { print s }' "$scratch/pool.tsv")" ] || fail "$samples samples are not all"
awk 'FNR == NR { s += $4; next } { t += $NF / 1e6 } END { d = s - t; exit !(d * d < 0.01) }' FS='\t' "$scratch/pool.tsv" \
    FS=' ' "$scratch/pool.read" || fail "the weights differ"
# the clock is the one that runs since the boot, and several threads are told apart
awk -v from="$before" '/cpu-clock/ { if ($3 + 0 < from - 1 || $3 + 0 > from + 60) exit 1 }' "$scratch/pool.perf" ||
    fail "another clock: $(head -n 1 "$scratch/pool.perf"), up for $before s"
[ "$(awk '/cpu-clock/ { print $2 }' "$scratch/pool.perf" | sort -u | wc -l)" = 3 ] || fail "not three threads"
# the table beside it has no C functions
! grep -q burn "$scratch/pool.tsv" || fail "C functions in the table: $(cat "$scratch/pool.tsv")"

rfprof -d 2 -r 200 --max-stop 100 -q -t -f perf >"$scratch/apart.perf"
expect_status 0 "-t -f perf"
readers apart
grep -qE '^worker-[12];.*threads \[threads\.rfl:3\]' "$scratch/apart.read" || fail "$(cat "$scratch/apart.read")"
stop_target

fake names
rfprof -d 2 -r 200 --max-stop 100 -q -f perf >"$scratch/names.perf"
expect_status 0 "odd names"
readers names
stop_target
