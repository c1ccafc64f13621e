#!/bin/bash
# A file name with a quote, a tab, a semicolon and a backslash in it: the table of a real target loads in rayforce.
. "$(dirname "$0")/lib.sh"

for version in 2.4.0 2.1.0; do
    need_release $version
    name=$'we"ird;\tna\\me.rfl'
    cp "$(dirname "$0")/../demo/market.rfl" "$scratch/$name"
    start_rayforce "$rayforce" "$name" || fail "$version: the target did not start"
    "$RFPROF" -p "$target" -d 1 -q -o "$scratch/cpu.tsv" || fail "$version: exit $?"
    end "$target"
    is_tsv "$scratch/cpu.tsv" 3
    rows=$(($(wc -l <"$scratch/cpu.tsv") - 1))
    samples=$(awk -F'\t' 'NR > 1 {s += $6} END {print s}' "$scratch/cpu.tsv")
    cat >"$scratch/load.rfl" <<'END'
(set t (.csv.read "cpu.tsv"))
(println (count t) (sum (at t 'samples)))
(println (at t 'file))
(println (at t 'fn))
(exit 0)
END
    (cd "$scratch" && timeout 20 "$rayforce" load.rfl </dev/null >loaded 2>&1)
    read -r got_rows got_samples <"$scratch/loaded"
    [ "$got_rows $got_samples" = "$rows $samples" ] ||
        fail "$version loaded $got_rows rows, $got_samples samples instead of $rows, $samples: $(cat "$scratch/loaded")"
    grep -q -F 'we\x22ird;\tna\\me.rfl' "$scratch/loaded" || fail "$version: the file's name is not there: $(cat "$scratch/loaded")"
    grep -q -F 'odd-orders' "$scratch/loaded" || fail "$version: a function's name is not there"
done
