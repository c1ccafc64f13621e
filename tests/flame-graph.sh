#!/bin/bash
# -o x.svg: well-formed whatever names hold, as wide and as deep as the profile, and it says what was measured.
. "$(dirname "$0")/fake.bash"

# The picture as a program reads it: no element and no attribute but ours, and the rows of the profile in <metadata>,
# added up as in a table. Prints "fn TAB place TAB self ns TAB total ns TAB samples", and on stderr how deep it is.
cat >"$scratch/read.py" <<'PY'
import collections, json, sys
import xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
ns = "{http://www.w3.org/2000/svg}"
known = {"svg", "title", "style", "rect", "text", "g", "line", "metadata", "script"}
allowed = {"width", "height", "class", "x", "y", "x2", "y1", "y2", "overflow"}
for e in root.iter():
    if e.tag.removeprefix(ns) not in known or set(e.attrib) - allowed:
        sys.exit(f"foreign: {e.tag} {e.attrib}")
if len(root.findall(f".//{ns}script")) != 1:
    sys.exit("not one script")
profile = json.loads(root.find(f"{ns}metadata").text)
rows, path, end = collections.defaultdict(lambda: [0, 0, 0]), [], []
numbers = profile["nodes"]
for i in range(0, len(numbers), 4):
    level, frame, weight, samples = numbers[i:i + 4]
    if level > len(path):
        sys.exit("a level is left out")
    del path[level:]
    if level:
        rows[path[-1]][0] -= weight
    rows[frame][0] += weight
    if frame not in path:
        rows[frame][1] += weight
        rows[frame][2] += samples
    path.append(frame)
    end.append(level)
for frame, (self, total, samples) in rows.items():
    fn, place, hue, expr = profile["frames"][frame]
    print(fn, place, self, total, samples, sep="\t")
drawn = root.findall(f".//{ns}svg[@class='graph']/{ns}svg")
print(f"deepest {max(end)}, drawn {len(drawn)}, wide {drawn[0].get('width')}", file=sys.stderr)
PY
read_svg() { python3 "$scratch/read.py" "$1" >"$scratch/read" 2>"$scratch/facts" || fail "$1: $(cat "$scratch/facts")"; }

fake names
record_until 'grep -q boom "$scratch/names.tsv" && grep -q bad.xff "$scratch/names.tsv" && grep -q a.x22quote "$scratch/names.tsv"' \
    -o "$scratch/names.svg" -o "$scratch/names.tsv"
read_svg "$scratch/names.svg"
grep -qF "</title><script>boom()</script>	]]>&lt;'x'.rfl:2	" "$scratch/read" || fail "the worst name: $(cat "$scratch/read")"
grep -qF 'bad\xff\xc3utf8	' "$scratch/read" || fail "bytes that are not UTF-8: $(cat "$scratch/read")"
grep -qF 'a"quote	"quoted".rfl:2' "$scratch/read" || fail "a quote: $(cat "$scratch/read")"
# as many rows, and each with the time and the samples that the table has
awk -F '\t' '
FNR == NR { if ($1 != "all") { n++; self += $3 / 1e6; total += $4 / 1e6; samples += $5 } next }
FNR > 1 { m++; self -= $4; total -= $5; samples -= $6 }
END { if (n != m || samples || self * self > 0.001 || total * total > 0.001) { print n, m, self, total, samples; exit 1 } }
' "$scratch/read" "$scratch/names.tsv" || fail "rows of the picture and of the table differ"
grep -qE '<text class="facts"[^>]*>pid '"$target"', rayforce 2\.4\.0; [0-9.]* s at 300 Hz from 20[-0-9]* [:0-9]* UTC; [0-9.]* s of CPU time charged; [0-9]+ samples, by line</text>' \
    "$scratch/names.svg" || fail "the facts: $(grep facts "$scratch/names.svg" | grep -v '^ *\.')"
grep -qE '<text class="title"[^>]*>[^<]*fakeforce names</text>' "$scratch/names.svg" || fail "no title"
stop_target

fake deep
record_until 'grep -q "	d0	" "$scratch/deep.tsv"' -n -o "$scratch/deep.svg" -o "$scratch/deep.tsv"
read_svg "$scratch/deep.svg"
awk '{ gsub(",", ""); if ($2 < 801 || $4 < 801 || $6 != "100.0000%") exit 1 }' "$scratch/facts" ||
    fail "800 deep: $(cat "$scratch/facts")"
grep -q 'class="frame c[0-4]"' "$scratch/deep.svg" && grep -q 'class="frame r[0-4]"' "$scratch/deep.svg" || fail "one hue"
stop_target
