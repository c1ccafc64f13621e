#!/bin/bash
# timeout: 120
# On every release that can be had: a function that is set anew again and again keeps its name, one in a dictionary is
# called by its path, and a file that loads another is on the stack while that is read.
. "$(dirname "$0")/lib.sh"

cat >"$scratch/anew.rfl" <<'RFL'
(set v (rand 50000 1000000))
(set lib.math.mids (fn [n]
  (map (fn [i] (med v)) (til n))
  0))
(set again (fn [n]
  (set work (fn [k]
    (map med (list v v v v v v v v v v v v v v v v v v v v))
    k))
  (work n)
  (map (fn [k] (lib.math.mids k)) (list 30))
  (load "outer.rfl")
  0))
(.time.timer.set 1 0 (fn [t]
  (again t)))
RFL
printf '; a comment\n(do\n  (load "large.rfl"))\n' >"$scratch/outer.rfl"
for _ in $(seq 80); do echo "(set data [$(seq -s ' ' 1 240)])"; done >"$scratch/large.rfl"

# most LINE-OF-FILE: the function that has most samples there, and how many those are
most() { awk -F'\t' -v at="$1" '$1 ":" $2 == at {print $6, $3}' "$scratch/x.tsv" | sort -rn | head -n 1; }

tried=0
for version in 2.4.0 2.3.1 2.1.0; do
    rayforce=$(release $version 2>/dev/null) || continue
    tried=$((tried + 1))
    start_rayforce "$rayforce" anew.rfl || fail "$version: the target did not start"
    "$RFPROF" -p "$target" -r 300 -q -o "$scratch/x.tsv" &
    sampler=$!
    started+=("$sampler")
    burn 1000
    kill "$sampler"
    wait "$sampler" || fail "$version: exit $?"
    end "$target"
    for want in 'anew.rfl:7 work' 'anew.rfl:3 lib.math.mids' 'outer.rfl:3 <top>'; do
        read -r _ fn < <(most "${want% *}")
        [ "$fn" = "${want#* }" ] || fail "$version: '$fn' instead of $want in: $(cat "$scratch/x.tsv")"
    done
    read -r load _ < <(most anew.rfl:11)
    read -r top _ < <(most outer.rfl:3)
    [ "$top" -ge $((load / 2)) ] || fail "$version: $load samples load outer.rfl, $top are in it: $(cat "$scratch/x.tsv")"
done
[ $tried -gt 0 ] || skip "no release can be fetched"
