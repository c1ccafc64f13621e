#!/bin/bash
# timeout: 240
# On real releases: a builtin that throws has its time, special forms are listed, the lazy one that is forced, and what
# map calls; C functions stand below the lines, and by C function there is as much CPU time.
. "$(dirname "$0")/fake.bash"

# sample NAME LEAST OPTION...: into NAME.tsv and NAME.folded, again while there are too few samples: a busy machine leaves
# the target little time that could be sampled.
sample() {
    local name=$1 least=$2 _
    shift 2
    for _ in $(seq 6); do
        "$RFPROF" -p "$target" -d 3 -r 200 -q "$@" -o "$name.tsv" -o "$name.folded" || fail "$version: exit $?"
        [ "$(awk '{ n += $NF } END { print n + 0 }' "$name.folded")" -lt "$least" ] || break
    done
}

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
    sample "$scratch/x" 200 --by builtin
    sample "$scratch/n" 100 -n
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
    grep -qE '^_start \(rayforce\);.*;ray_map_fn \(rayforce\);ray_med_fn \(rayforce\)' "$scratch/n.folded" ||
        fail "$version: $(head "$scratch/n.folded")"
    # not what it calls, as ray_eval_set_nfo
    ! grep -E '(^|;)(vm_exec(_rows)?|ray_eval|call_fn[12]|call_lambda(_impl)?|vm_call_binary)(\.[a-z0-9.]+)? \(rayforce\)' \
        "$scratch/n.folded" >"$scratch/interpreter" || fail "$version: the interpreter is in: $(cat "$scratch/interpreter")"
    head -n 2 "$scratch/native.tsv" | tail -n 1 | grep -q '^[^	]*	0	' || fail "$version: $(head "$scratch/native.tsv")"
done
[ $tried -gt 0 ] || skip "no release can be fetched"
