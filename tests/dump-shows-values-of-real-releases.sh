#!/bin/bash
# timeout: 120
# dump -l on real releases: arguments of each call of a recursion, and what `let` bound, by name, type and value.
. "$(dirname "$0")/lib.sh"

cat >"$scratch/values.rfl" <<'RFL'
(set busy (rand 20000 1000000))
(set bottom (fn [x] (do (med busy) (med busy) (med busy) (med busy) (med busy) (med busy) x)))
(set down (fn [n v s name]
  (let half (take v 3))
  (let words {a: 1 b: "two"})
  (if (> n 0)
    (+ 0 (self (- n 1) v s name))
    (bottom n))))
(.time.timer.set 1 0 (fn [t] (down 2 (til 1000) "some text that is long" 'symbol)))
RFL
tried=0
for version in 2.1.0 2.4.0; do
    rayforce=$(release $version 2>/dev/null) || continue
    tried=$((tried + 1))
    start_rayforce "$rayforce" values.rfl || fail "$version: the target did not start"
    for _ in $(seq 50); do # it is not below `bottom` all the time
        freeze "$target"
        "$RFPROF" dump -l -p "$target" >"$scratch/dump" 2>"$scratch/err" || fail "$version: exit $?: $(cat "$scratch/err")"
        kill -CONT "$target"
        grep -q ' bottom (values.rfl:2)' "$scratch/dump" && break
        sleep 0.03
    done
    cat "$scratch/dump"
    sed -n '/^  down (values.rfl:8)/,/^  <fn/p' "$scratch/dump" | sed 's/  */ /g; $d' | grep -v '^ down' >"$scratch/values"
    for n in 0 1 2; do
        printf '%s\n' " n i64 $n" ' v I64[1000] 0 1 2 3 4 5 6 7 ...' ' s str "some text that is long"' ' name sym symbol' \
            ' half I64[3] 0 1 2' ' words DICT[2] a:1 b:"two"'
    done | diff "$scratch/values" - || fail "$version: values (<) are not as they should be (>)"
    untouched "$target" || fail "$version: the target was changed"
    end "$target"
done
[ $tried -gt 0 ] || skip "no release can be fetched"
