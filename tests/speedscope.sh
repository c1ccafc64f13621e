#!/bin/bash
# -o x.speedscope.json: what speedscope's schema asks for, with the times of the table; a profile for each thread with -t.
. "$(dirname "$0")/fake.bash"

"$RFPROF" --help | grep -q '^  speedscope ' || skip 'built with JANSSON=0'

# The file against https://www.speedscope.app/file-format-schema.json, as far as it is about such files. Prints for each
# profile its name and ms, and for each frame that is a leaf file, line, name and ms.
cat >"$scratch/read.py" <<'PY'
import collections, json, sys
f = json.load(open(sys.argv[1], encoding="utf-8"))
assert f["$schema"] == "https://www.speedscope.app/file-format-schema.json"
assert f["exporter"] == "rfprof" and isinstance(f["name"], str)
frames = f["shared"]["frames"]
for frame in frames:
    assert isinstance(frame["name"], str) and frame["name"] and isinstance(frame.get("file", ""), str), frame
    assert set(frame) <= {"name", "file", "line", "col"} and isinstance(frame.get("line", 1), int), frame
leaves = collections.Counter()
for p in f["profiles"]:
    assert p["type"] == "sampled" and p["unit"] == "nanoseconds" and p["startValue"] == 0
    assert len(p["samples"]) == len(p["weights"]) and sum(p["weights"]) == p["endValue"]
    for stack, weight in zip(p["samples"], p["weights"]):
        assert weight > 0 and all(0 <= i < len(frames) for i in stack)
        leaves[stack[-1]] += weight
    print("profile", p["name"], f"{p['endValue'] / 1e6:.1f}", sep="\t")
for i, weight in leaves.items():
    frame = frames[i]
    us = (weight + 500) // 1000
    print("leaf", frame.get("file", ""), frame.get("line", 0), frame["name"], f"{us // 1000}.{us % 1000:03}", sep="\t")
PY
read_json() { python3 "$scratch/read.py" "$1" >"$scratch/read" 2>"$scratch/wrong" || fail "$1: $(tail -n 2 "$scratch/wrong")"; }

fake threads
record_until '[ "$(cut -f 7 "$scratch/apart.tsv" | sort -u | wc -l)" = 4 ]' -t -o "$scratch/apart.speedscope.json" \
    -f speedscope -o "$scratch/apart" -o "$scratch/apart.tsv"
cmp "$scratch/apart.speedscope.json" "$scratch/apart" || fail "-f speedscope is another format"
read_json "$scratch/apart"
for thread in main worker-1 worker-2; do
    ms=$(awk -F '\t' -v t=$thread '$7 == t { s += $4 } END { printf "%.1f", s }' "$scratch/apart.tsv")
    awk -F '\t' -v t=$thread -v ms="$ms" '$1 == "profile" && $2 == t { d = $3 - ms; if (d * d < 0.05) found = 1 } END { exit !found }' \
        "$scratch/read" || fail "$thread has not $ms ms: $(cat "$scratch/read")"
done
record_until '[ "$(wc -l <"$scratch/one.tsv")" -ge 3 ]' -o "$scratch/one.json" -o "$scratch/one.tsv"
read_json "$scratch/one.json"
[ "$(grep -c '^profile' "$scratch/read")" = 1 ] || fail "not one profile: $(cat "$scratch/read")"
grep -q "^profile	.*fakeforce threads, pid $target	" "$scratch/read" || fail "$(cat "$scratch/read")"
grep '^leaf' "$scratch/read" | cut -f 2- | sort >"$scratch/leaves"
sed 1d "$scratch/one.tsv" | cut -f 1-4 | awk -F '\t' '$4 > 0' | sort | diff "$scratch/leaves" - || fail "other rows than in the table"
stop_target

fake names
record_until 'grep -q "a.x22quote" "$scratch/names.tsv" && grep -q "bad.xff" "$scratch/names.tsv"' -o "$scratch/names.json" \
    -o "$scratch/names.tsv"
read_json "$scratch/names.json"
grep -qF 'leaf	"quoted".rfl	2	a"quote	' "$scratch/read" || fail "a quote: $(cat "$scratch/read")"
grep -qF '	bad\xff\xc3utf8	' "$scratch/read" || fail "bytes that are not UTF-8: $(cat "$scratch/read")"
stop_target
