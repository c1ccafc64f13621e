#!/bin/bash
# timeout: 120
# On every release of the catalog that can be had: what a worker of the pool burns stands below its own root on the line
# that dispatched it, and format perf has the C functions of its task there.
. "$(dirname "$0")/lib.sh"

cat >"$scratch/pool.rfl" <<'RFL'
(set p (rand 1000000 1000000))
(set k (rand 1000000 200000))
(set t (table [k p] (list k p)))
(set order (fn [x]
  (iasc p)
  0))
(set groups (fn [x]
  (select {from: t by: k high: (max p)})
  0))
(.time.timer.set 1 0 (fn [x]
  (order x)
  (groups x)))
RFL

tried=0
for version in 2.4.0 2.3.1 2.3.0 2.1.0; do
    rayforce=$(release $version 2>/dev/null) || continue
    tried=$((tried + 1))
    start_rayforce "$rayforce" pool.rfl || fail "$version: the target did not start"
    "$RFPROF" -p "$target" -d 3 --max-stop 100 -q -t --columns pool_ms,main_ms -o "$scratch/x.tsv" -o "$scratch/x.folded" \
        -o "$scratch/x.perf" || fail "$version: exit $?"
    untouched "$target" || fail "$version: the target was changed"
    end "$target"
    awk -F '\t' -v version=$version 'NR > 1 && $9 == "worker-1" { all += $4; pool += $7
            if ($1 == "pool.rfl" && ($2 == 5 || $2 == 8)) lines += $4 }
        NR > 1 && $9 == "main" { other += $7 }
        END { printf "%s: worker-1 %.1f ms, on its lines %.1f\n", version, all, lines
              exit !(all > 100 && lines > 0.97 * all && pool == all && other == 0) }' "$scratch/x.tsv" ||
        fail "$version: $(cat "$scratch/x.tsv")"
    grep -qE '^worker-1;.*(order \(pool\.rfl:5\)|groups \(pool\.rfl:8\)) [0-9]+$' "$scratch/x.folded" ||
        fail "$version: $(cat "$scratch/x.folded")"
    # a sample of the worker: its task's C functions are innermost, its root is outermost
    awk '/cpu-clock:$/ { split($2, id, "/"); other = id[1] != id[2]; inner = ""; next }
        other && /^\t/ && inner == "" { inner = $NF }
        /worker-1\+0x0/ && other && inner ~ /^\((rayforce|libc)/ { n++ }
        END { exit !n }' "$scratch/x.perf" || fail "$version: $(head -n 40 "$scratch/x.perf")"
done
[ $tried -gt 0 ] || skip "no release can be fetched"
