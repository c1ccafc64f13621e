#!/bin/bash
# timeout: 120
# A build that is in no catalog: 2.0.1, which nobody entered, and known ones with --no-catalog. The layout comes from the
# code, running frames confirm it, and the dearest line of the demo is found. While the target is stopped nothing is
# confirmed, and check says so; a recording that began then is right all the same.
. "$(dirname "$0")/lib.sh"

script=$(dirname "$0")/../demo/market.rfl
dear=$(grep -n -F '(like notes' "$script" | cut -d: -f1)
cp "$script" "$scratch/market.rfl"

layout_is() { grep -q -E "^$1 +layout +$2" "$scratch/out" || fail "$version: $(grep layout "$scratch/out")"; }

finds_the_dear_line() { # among the first three: how dear it is differs from release to release
    sed -n 2,4p "$scratch/x.tsv" | grep -q "^market\.rfl	$dear	odd-orders	" || fail "$version: $(head -n 4 "$scratch/x.tsv")"
    ! grep -q '<no layout>' "$scratch/x.tsv" || fail "$version: not believed: $(cat "$scratch/x.tsv")"
}

# try_on VERSION OPTION...
try_on() {
    local version=$1
    shift
    rayforce=$(release "$version" 2>/dev/null) || return 1
    start_rayforce "$rayforce" market.rfl || fail "$version: the target did not start"
    "$RFPROF" layout "$rayforce" >/dev/null 2>"$scratch/err" ||
        ! grep -q 'CAPSTONE=0' "$scratch/err" || skip "built without a disassembler"
    expect_exit 0 "$RFPROF" check "$@" -p "$target"
    layout_is 'ok' 'calibrated, [0-9]+ live observations agreed; fits'
    expect_exit 0 "$RFPROF" "$@" -p "$target" -d 2 -q -o "$scratch/x.tsv"
    finds_the_dear_line
    kill -STOP "$target"
    expect_exit 0 "$RFPROF" check "$@" -p "$target"
    layout_is 'note' 'derived from the code, not yet confirmed'
    (sleep 1.5 && kill -CONT "$target") &
    expect_exit 0 "$RFPROF" "$@" -p "$target" -d 4 -q -o "$scratch/x.tsv"
    finds_the_dear_line
    end "$target"
    return 0
}

tried=0
try_on 2.0.1 && tried=1
try_on 2.0.0 --no-catalog && tried=1
try_on 2.3.1 --no-catalog && tried=1
try_on 2.4.0 --no-catalog && tried=1
[ $tried = 1 ] || skip "no release can be fetched"
