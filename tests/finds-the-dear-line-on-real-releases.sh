#!/bin/bash
# timeout: 120
# On every release of the catalog that can be had: the dearest line of the demo is found by file, line and function,
# and its callers are above it.
. "$(dirname "$0")/lib.sh"

script=$(dirname "$0")/../demo/market.rfl
dear=$(grep -n -F '(like notes' "$script" | cut -d: -f1)
call=$(grep -n -F '(odd-orders t)' "$script" | cut -d: -f1)
tried=0
for version in 2.4.0 2.3.1 2.3.0 2.1.0; do
    rayforce=$(release $version 2>/dev/null) || continue
    tried=$((tried + 1))
    cp "$script" "$scratch/market.rfl"
    start_rayforce "$rayforce" market.rfl || fail "$version: the target did not start"
    "$RFPROF" -p "$target" -d 2 -q -o "$scratch/x.tsv" -o "$scratch/x.folded" || fail "$version: exit $?"
    untouched "$target" || fail "$version: the target was changed"
    end "$target"
    read -r file line fn _ < <(grep '^market' "$scratch/x.tsv" | head -n 1 | tr '\t' ' ')
    [ "$file $line $fn" = "market.rfl $dear odd-orders" ] || fail "$version: first is $file:$line $fn"
    grep -q -F "heartbeat (market.rfl:$call);odd-orders (market.rfl:$dear) " "$scratch/x.folded" ||
        fail "$version: the stack is not right: $(grep odd-orders "$scratch/x.folded")"
done
[ $tried -gt 0 ] || skip "no release can be fetched"
