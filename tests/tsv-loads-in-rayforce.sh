#!/bin/bash
# The TSV loads in rayforce itself, names with quotes, tabs and semicolons in them included.
. "$(dirname "$0")/fake.bash"

need_release 2.4.0
fake names
record
stop_target
rows=$(($(wc -l <"$scratch/out.tsv") - 1))
cat >"$scratch/load.rfl" <<'RFL'
(set t (.csv.read "out.tsv"))
(println "rows" (count t))
(println "columns" (key t))
(println "samples" (sum (at t 'samples)))
RFL
(cd "$scratch" && timeout 20 "$rayforce" load.rfl </dev/null >loaded 2>&1)
samples=$(awk -F '\t' 'NR > 1 { n += $6 } END { print n }' "$scratch/out.tsv")
grep -qE "rows.*[^0-9]$rows\$" "$scratch/loaded" && grep -qE "samples.*[^0-9]$samples\$" "$scratch/loaded" ||
    { cat "$scratch/loaded"; fail "not $rows rows and $samples samples"; }
