#!/bin/bash
# Every option and format of --help is in the manual, and no other option is.
. "$(dirname "$0")/lib.sh"

manual=$(dirname "$0")/../man/rfprof.1
"$RFPROF" --help >"$scratch/help" || fail "--help: exit $?"
grep -o -E '^ +(-[a-zA-Z], )?--[a-z-]+' "$scratch/help" | grep -o -E -- '--[a-z-]+' | sort >"$scratch/options"
sed -n 's/^\.It .*Fl Fl \([a-z-]*\).*/--\1/p' "$manual" | sort >"$scratch/documented"
[ -s "$scratch/options" ] || fail "no options in --help"
diff "$scratch/options" "$scratch/documented" || fail "options of --help (<) and of the manual (>) differ"
sed -n '/^formats/,/^$/s/^  \([a-z]*\) .*/\1/p' "$scratch/help" >"$scratch/formats"
[ -s "$scratch/formats" ] || fail "no formats in --help"
while read -r format; do
    grep -q -E "^\.It (Cm|Li|Ic) $format( |$)" "$manual" || fail "format $format is not in the manual"
done <"$scratch/formats"
