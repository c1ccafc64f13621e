#!/bin/bash
# The same samples by line, function, file and expression: rows add up, and file names can be resolved.
. "$(dirname "$0")/fake.bash"

# sum FILE COLUMN [AWK-CONDITION]
sum() { awk -F '\t' "NR > 1 ${3:+&& $3} { s += \$$2 } END { printf \"%.0f\", s }" "$1"; }
# rows FILE EXPECTED: file, line and fn of all rows of the scripts, sorted
rows() {
    grep '^ratio' "$1" | cut -f 1-3 | sort | tr '\t\n' '  ' >"$scratch/rows"
    [ "$(cat "$scratch/rows")" = "$2 " ] || fail "$1: $(cat "$scratch/rows")"
}

fake ratio
rfprof -d 2 -r 300 --max-stop 100 -q --by fn -o "$scratch/fn.tsv" -o "$scratch/fn.folded"
expect_status 0 "--by fn"
rows "$scratch/fn.tsv" "ratio-lib.rfl 0 heavy ratio.rfl 0 inner ratio.rfl 0 outer"
grep -qF 'outer (ratio.rfl);inner (ratio.rfl);heavy (ratio-lib.rfl) ' "$scratch/fn.folded" || fail "no lines, but frames"

rfprof -d 2 -r 300 --max-stop 100 -q --by file -o "$scratch/file.tsv" -o "$scratch/file.folded"
expect_status 0 "--by file"
rows "$scratch/file.tsv" "ratio-lib.rfl 0  ratio.rfl 0 "
is_tsv "$scratch/file.tsv"
# all that the library costs is called by the other file
total=$(sum "$scratch/file.tsv" 5 '$1 == "ratio.rfl"') self=$(sum "$scratch/file.tsv" 4 '$1 ~ /^ratio/')
[ "$total" -gt $((self - 3)) ] && [ "$total" -lt $((self + 3)) ] || fail "ratio.rfl has $total ms of $self"
grep -q '^ratio.rfl;ratio-lib.rfl [0-9]*$' "$scratch/file.folded" || fail "$(cat "$scratch/file.folded")"

rfprof -d 1 -r 300 --max-stop 100 -q --by expr -o "$scratch/expr.tsv"
expect_status 0 "--by expr"
[ "$(head -n 1 "$scratch/expr.tsv")" = "$header	col	expr" ] || fail "$(head -n 1 "$scratch/expr.tsv")"
awk -F '\t' 'NF != 8 { exit 1 }' "$scratch/expr.tsv" || fail "not eight fields everywhere"

rfprof -d 1 -r 300 --max-stop 100 -q --columns expr,col -o "$scratch/columns.tsv" -f table -o - >"$scratch/table"
expect_status 0 "--columns"
[ "$(head -n 1 "$scratch/columns.tsv")" = "$header	expr	col" ] || fail "$(head -n 1 "$scratch/columns.tsv")"
head -n 1 "$scratch/table" | grep -q ' fn .* col  expr$' || fail "$(head -n 1 "$scratch/table")"

rfprof -d 1 -r 300 --max-stop 100 -q --full-paths -o "$scratch/full.tsv"
expect_status 0 "--full-paths"
folder=$(readlink "/proc/$target/cwd")
grep -q "^$folder/ratio.rfl	2	inner	" "$scratch/full.tsv" || fail "not in $folder: $(cat "$scratch/full.tsv")"
grep -q '^ratio' "$scratch/full.tsv" && fail "a relative name: $(cat "$scratch/full.tsv")"
stop_target

fake names
rfprof -d 2 -r 300 --max-stop 100 -q --full-paths -o "$scratch/full.tsv"
expect_status 0 "--full-paths"
cut -f 1 "$scratch/full.tsv" >"$scratch/names"
grep -qx "$folder/x.rfl" "$scratch/names" || fail "dir/../x.rfl is not $folder/x.rfl: $(cat "$scratch/names")"
grep -q '^/very/' "$scratch/names" || fail "the absolute name is gone: $(cat "$scratch/names")"
grep -v '^/' "$scratch/names" | grep -qvxE 'file|<runtime>|<unknown>' && fail "relative: $(cat "$scratch/names")"
stop_target
