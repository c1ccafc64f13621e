#!/bin/bash
# -o x.pb.gz keeps everything: `rfprof report` makes of it, byte for byte, what the recording wrote in other formats; and
# others find in it what they look for.
. "$(dirname "$0")/fake.bash"

"$RFPROF" report >"$scratch/out" 2>"$scratch/err" # absent where it was built without
! grep -q 'cannot make sense' "$scratch/err" || skip 'built with PPROF=0'

# The format in its own terms, read by nothing of ours: fields by number (proto/profile.proto of pprof). Prints what is
# measured, a row for each function and line with self ns and samples, and the labels.
cat >"$scratch/read.py" <<'PY'
import collections, gzip, sys
def varint(b, i):
    n = shift = 0
    while True:
        n |= (b[i] & 127) << shift
        shift += 7
        i += 1
        if b[i - 1] < 128:
            return n, i
def fields(b):
    i = 0
    out = collections.defaultdict(list)
    while i < len(b):
        key, i = varint(b, i)
        if key & 7 == 0:
            value, i = varint(b, i)
        else:
            assert key & 7 == 2, key
            n, i = varint(b, i)
            value, i = b[i:i + n], i + n
            assert len(value) == n
        out[key >> 3].append(value)
    return out
def packed(values):
    for v in values:
        if isinstance(v, int):
            yield v
            continue
        i = 0
        while i < len(v):
            n, i = varint(v, i)
            yield n
def one(f, number):
    return f[number][0] if f[number] else 0
p = fields(gzip.open(sys.argv[1]).read())
string = [s.decode() for s in p[6]]
assert string[0] == ""
types = [fields(t) for t in p[1]]
print("types", *(f"{string[one(t, 1)]}/{string[one(t, 2)]}" for t in types))
print("period", one(p, 12), "duration", one(p, 10), "default", string[one(p, 14)])
for c in packed(p[13]):
    print("comment", string[c])
functions = {one(f, 1): (string[one(f, 2)], string[one(f, 4)]) for f in map(fields, p[5])}
mappings = {one(m, 1): string[one(m, 5)] for m in map(fields, p[3])}
print("mappings", *mappings.values())
place = {}
for f in map(fields, p[4]):
    assert one(f, 2) in mappings
    line = fields(f[4][0])
    name, file = functions[one(line, 1)]
    place[one(f, 1)] = f"{file}\t{one(line, 2)}\t{name}"
rows, labels = collections.defaultdict(lambda: [0, 0]), collections.Counter()
for s in map(fields, p[2]):
    stack = list(packed(s[1]))
    samples, ns = packed(s[2])
    rows[place[stack[0]]][0] += ns
    rows[place[stack[0]]][1] += samples
    for l in map(fields, s[3]):
        labels[string[one(l, 1)] + "=" + string[one(l, 2)]] += samples
for row, (ns, samples) in sorted(rows.items()):
    us = (ns + 500) // 1000
    print("row", f"{row}\t{us // 1000}.{us % 1000:03}", sep="\t")
for l, n in sorted(labels.items()):
    print("label", l, n)
PY

# record_and_report OPTION...: the same from the file as from the run, also where there was nothing to sample
record_and_report() {
    local f
    rm -f "$scratch"/run.* "$scratch"/report.*
    rfprof -d 0.5 -r 200 --max-stop 100 -q -f table "$@" -o "$scratch/run.pb.gz" -o "$scratch/run.tsv" -o "$scratch/run.folded" \
        -o "$scratch/run.perf" -o "$scratch/run.svg" -o "$scratch/run.table"
    [ "$status" = 5 ] || expect_status 0 "record $*"
    "$RFPROF" report "$scratch/run.pb.gz" -q -f table "$@" -o "$scratch/report.pb.gz" -o "$scratch/report.tsv" \
        -o "$scratch/report.folded" -o "$scratch/report.perf" -o "$scratch/report.svg" -o "$scratch/report.table" ||
        [ $? = 5 ] || fail "report $*: exit $?"
    for f in tsv folded perf svg table pb.gz; do
        cmp "$scratch/run.$f" "$scratch/report.$f" || fail "$f of the file is not $f of the run, $*"
    done
}

fake names
record_and_report
record_and_report --by expr --full-paths
stop_target

fake threads
record_and_report -n -t --columns pool_ms,main_ms
record_and_report --by native
record_and_report --by builtin
record_and_report --by thread --no-text
record_until 'python3 "$scratch/read.py" "$scratch/run.pb.gz" >"$scratch/read" && grep -q "^label thread=worker" "$scratch/read" &&
    grep -q "threads.rfl	2" "$scratch/read"' -o "$scratch/run.pb.gz" -o "$scratch/run.tsv"
stop_target

for line in 'types samples/count cpu/nanoseconds' 'mappings fakeforce'; do
    grep -qxF "$line" "$scratch/read" || fail "not '$line': $(cat "$scratch/read")"
done
grep -qE '^period 3333333 duration [0-9]{9,} default cpu$' "$scratch/read" || fail "$(cat "$scratch/read")"
grep -qE "^comment .*fakeforce threads, pid $target, rayforce 2\.4\.0$" "$scratch/read" || fail "$(cat "$scratch/read")"
grep -qE '^comment   CPU time charged by the kernel: ' "$scratch/read" || fail "no account: $(cat "$scratch/read")"
grep -qE '^label thread=worker-[12] [0-9]+$' "$scratch/read" || fail "no threads: $(cat "$scratch/read")"
grep '^row' "$scratch/read" | cut -f 2-5 | sort >"$scratch/rows"
cut -f 1-4 "$scratch/run.tsv" | sed 1d | awk -F '\t' '$4 > 0' | sort | diff "$scratch/rows" - || fail "other rows than in the table"

# a pipe gets folded stacks from a file, too, and a reader that goes away is no error
"$RFPROF" report "$scratch/run.pb.gz" 2>"$scratch/err" | grep -q '^threads (threads.rfl:[23])' || fail "no folded stacks"
says 'stdout gets format folded'
"$RFPROF" report - -q -f tsv <"$scratch/run.pb.gz" | cmp - "$scratch/run.tsv" || fail "- is not stdin"

# files that are no profiles, or only half of one, are refused by name
head -c 300 "$scratch/run.pb.gz" >"$scratch/cut.pb.gz"
expect_exit 1 "$RFPROF" report "$scratch/cut.pb.gz"
says 'cut.pb.gz is cut off'
expect_exit 1 "$RFPROF" report "$scratch/run.tsv"
says 'run.tsv is not a profile, or damaged'
expect_exit 1 "$RFPROF" report "$scratch/none.pb.gz"
says 'cannot read .*none.pb.gz: No such file'
expect_exit 2 "$RFPROF" report
says 'report needs a profile'
expect_exit 2 "$RFPROF" report -p 1 "$scratch/run.pb.gz"
says 'report takes no --pid'
exit 0
