#!/bin/bash
# `rfprof layout` finds in each release, in its executable and in its Python extension, what the catalog has for it.
# timeout: 120

. "$(dirname "$0")/lib.sh"

catalog=$(cd "$(dirname "$0")/../lib/layout/catalog" && pwd)
expect_exit 4 "$RFPROF" layout /proc/self/exe
says 'no rayforce runtime'
expect_exit 2 "$RFPROF" layout
says 'needs a file'

# The release's number is not in the file; the catalog names both of its files.
found() { sed -n -E '/^(#|release|build-id|$)/!p' "$1"; }
# Thread-local variables have no fixed place in a shared object.
shared() { if grep -q '^vm.via tls' "$1"; then found "$1" | grep -v '^vm\.'; else found "$1"; fi; }

compared=0
for entry in "$catalog"/*.layout; do
    version=$(basename "$entry" .layout)
    rayforce=$(release "$version" 2>/dev/null) || continue
    if ! "$RFPROF" layout "$rayforce" >"$scratch/exe" 2>"$scratch/err"; then
        ! grep -q 'CAPSTONE=0' "$scratch/err" || skip "built without a disassembler"
        fail "$version: $(cat "$scratch/err")"
    fi
    diff <(found "$entry") <(found "$scratch/exe") || fail "$version: its executable shows another layout"
    grep -q -x "$(grep '^build-id' "$scratch/exe")" "$entry" || fail "$version: another build-id"
    for so in "${rayforce%/bin/rayforce}"/_rayforce_c*.so; do
        [ -e "$so" ] || continue
        "$RFPROF" layout "$so" >"$scratch/so" || fail "$version: no layout found in $so"
        diff <(shared "$entry" | grep -v '^size.interpreter') <(shared "$scratch/so" | grep -v '^size.interpreter') ||
            fail "$version: its extension shows another layout"
        grep -q -x "$(grep '^build-id' "$scratch/so")" "$entry" || fail "$version: another build-id in the extension"
    done
    compared=$((compared + 1))
done
[ "$compared" -gt 0 ] || skip "no release can be fetched"
