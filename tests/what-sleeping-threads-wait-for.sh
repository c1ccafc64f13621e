#!/bin/bash
# timeout: 120
# -i on a real release: a child that a line waits for is that line's wall-clock time, the poll loop's sleep is the
# runtime's, an idle worker's the pool's.
. "$(dirname "$0")/lib.sh"

cat >"$scratch/wait.rfl" <<'RFL'
(set v (rand 50000 1000000))
(set work (fn [x]
  (do (med v) (med v) (med v) (med v))
  0))
(set away (fn [x]
  (.sys.exec "sleep 0.06")
  (work x)))
(.time.timer.set 10 0 (fn [t] (away t)))
RFL
tried=0
for version in 2.4.0 2.3.1; do
    rayforce=$(release $version 2>/dev/null) || continue
    tried=$((tried + 1))
    start_rayforce "$rayforce" wait.rfl || fail "$version: the target did not start"
    "$RFPROF" -p "$target" -d 3 -i -o "$scratch/x.tsv" -o "$scratch/x.folded" 2>"$scratch/err" || fail "$version: exit $?"
    untouched "$target" || fail "$version: the target was changed"
    kill -0 "$target" || fail "$version: the target has ended"
    end "$target"
    says 'may return EINTR'
    says 'wall-clock time of all threads'
    cat "$scratch/x.folded"
    grep -q 'away (wait.rfl:6);<child> (<runtime>) [0-9]' "$scratch/x.folded" || fail "$version: no child is waited for"
    grep -q '^<pool idle> (<runtime>);<futex> (<runtime>) ' "$scratch/x.folded" || fail "$version: no idle worker"
    # the main thread spends most of the 3 s on the line that waits
    awk -F '\t' '$3 == "away" && $2 == 6 { found = $5 > 750 } END { exit !found }' "$scratch/x.tsv" ||
        fail "$version: $(cat "$scratch/x.tsv")"
done
[ $tried -gt 0 ] || skip "no release can be fetched"
