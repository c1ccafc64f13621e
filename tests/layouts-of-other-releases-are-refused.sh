#!/bin/bash
# Each catalog entry is tried on each release of the catalog: only those that say the same in every number may be accepted.
# timeout: 240

. "$(dirname "$0")/lib.sh"

catalog=$(cd "$(dirname "$0")/../lib/layout/catalog" && pwd)
# What is left when the identity is taken out.
numbers() { grep -v -E '^(#|release|core|compiler|build-id|size\.interpreter|$)' "$1"; }

cat >"$scratch/busy.rfl" <<'RFL'
(set work (fn [x] (asc (til 20000)) x))
(.time.timer.set 1 0 (fn [x] (work x)))
RFL

tried=0 missing=
for own in "$catalog"/*.layout; do
    version=$(basename "$own" .layout)
    if ! rayforce=$(release "$version" 2>/dev/null); then
        missing="$missing $version"
        continue
    fi
    start_rayforce "$rayforce" "$scratch/busy.rfl" || fail "$version is not busy"
    "$B/fixtures/try-layout" "$target" "$catalog"/*.layout >"$scratch/tried" || fail "nothing could be tried on $version"
    for other in "$catalog"/*.layout; do
        verdict=$(sed -n "s|^$other ||p" "$scratch/tried")
        if [ "$(numbers "$own")" = "$(numbers "$other")" ]; then
            [ "$verdict" = accepted ] || fail "$(basename "$other") on $version: $verdict"
        else
            [ "${verdict#refused: }" != "$verdict" ] || fail "$(basename "$other") on $version: $verdict, though they differ:
$(diff <(numbers "$own") <(numbers "$other"))"
        fi
    done
    tried=$((tried + 1))
    end "$target"
done
[ "$tried" -gt 0 ] || skip "no release can be fetched"
[ -z "$missing" ] || echo "not tried, cannot be fetched:$missing"
