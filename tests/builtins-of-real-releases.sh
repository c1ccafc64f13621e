#!/bin/bash
# timeout: 180
# On real releases: a builtin that throws has its time, special forms are listed, the lazy one that is forced, and what
# map calls; C functions stand below the lines, and by C function there is as much CPU time.
. "$(dirname "$0")/fake.bash"

tried=0
for version in 2.4.0 2.3.1 2.3.0 2.1.0; do
    rayforce=$(release $version 2>/dev/null) || continue
    tried=$((tried + 1))
    cat >"$scratch/body.rfl" <<'RFL'
(if (> (count v) 3)
  (do (med v) (med v)))
(select {from: t by: g m: (med p)})
(map med l)
RFL
    cat >"$scratch/builtins.rfl" <<'RFL'
(set v (rand 50000 1000000))
(set t (table ['g 'p] (list (rand 50000 20) v)))
(set l (list v v v v))
(set bad (concat (map (fn [x] x) (til 100000)) (list 'oops)))
(set forced (fn [n]
  (let a (distinct v))
  0))
(set throws (fn [x]
  (neg bad)
  0))
(.time.timer.set 1 0 (fn [t]
  (map forced (til 2))
  (try (throws t) (fn [e] 0))
  (map med l)
  (load "body.rfl")))
RFL
    start_rayforce "$rayforce" builtins.rfl || fail "$version: the target did not start"
    for _ in $(seq 6); do # a busy machine leaves the target little to be sampled of
        "$RFPROF" -p "$target" -d 3 -r 200 -q --by builtin -o "$scratch/x.tsv" -o "$scratch/x.folded" || fail "$version: exit $?"
        [ "$(awk '{ n += $NF } END { print n + 0 }' "$scratch/x.folded")" -lt 200 ] || break
    done
    "$RFPROF" -p "$target" -d 2 -r 200 -q -n -o "$scratch/n.folded" || fail "$version: exit $?"
    "$RFPROF" -p "$target" -d 2 -r 200 -q --by native -o "$scratch/native.tsv" || fail "$version: exit $?"
    untouched "$target" || fail "$version: the target was changed"
    end "$target"
    for name in neg med map load select if do; do
        grep -q "^$name	" "$scratch/x.tsv" || fail "$version: no $name in: $(cat "$scratch/x.tsv")"
    done
    # before 2.1.1 let does not force, and nobody else needs the result
    [ $version = 2.1.0 ] || grep -qE '^map;distinct [0-9]+$' "$scratch/x.folded" || fail "$version: $(cat "$scratch/x.folded")"
    # a builtin that another one was given, in compiled code and in the tree walk
    grep -qE '^map;med [0-9]+$' "$scratch/x.folded" || fail "$version: $(cat "$scratch/x.folded")"
    grep -qE '^load;(do;)?map;med [0-9]+$' "$scratch/x.folded" || fail "$version: $(cat "$scratch/x.folded")"
    grep -qE '^load;(do;)?if;do;med [0-9]+$' "$scratch/x.folded" || fail "$version: $(cat "$scratch/x.folded")"
    grep -qE '^_start \(rayforce\);.*throws \(builtins.rfl:9\);.* \(rayforce\) [0-9]+$' "$scratch/n.folded" ||
        fail "$version: $(head "$scratch/n.folded")"
    grep -qE '(vm_exec|ray_eval|call_fn|call_lambda|vm_call)[^ ;]* \(rayforce\)' "$scratch/n.folded" &&
        fail "$version: the interpreter is in it"
    head -n 2 "$scratch/native.tsv" | tail -n 1 | grep -q '^[^	]*	0	' || fail "$version: $(head "$scratch/native.tsv")"
done
[ $tried -gt 0 ] || skip "no release can be fetched"
