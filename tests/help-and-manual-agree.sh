#!/bin/bash
# Every option and format of --help is in the manual, and no other option is.
. "$(dirname "$0")/lib.sh"

manual=$(dirname "$0")/../man/rfprof.1
"$RFPROF" --help >"$scratch/help" || fail "--help: exit $?"
sed -n '/^usage:/,/^$/d; /^  [a-z]/s/^  \([a-z]*\) .*/\1/p; /COMMAND --help/q' "$scratch/help" >"$scratch/commands"
[ -s "$scratch/commands" ] || fail "no commands in --help"
while read -r command; do
    "$RFPROF" "$command" --help >"$scratch/one" || fail "$command --help: exit $?"
    grep -q "^usage: rfprof .*$command" "$scratch/one" || fail "$command --help has no usage"
    grep -q -E "^\.(It )?Cm $command" "$manual" || fail "command $command is not in the manual"
    cat "$scratch/one" >>"$scratch/help"
done <"$scratch/commands"
grep -o -E '^ +(-[a-zA-Z], )?--[a-z-]+' "$scratch/help" | grep -o -E -- '--[a-z-]+' | sort -u >"$scratch/options"
sed -n 's/^\.It .*Fl Fl \([a-z-]*\).*/--\1/p' "$manual" | sort >"$scratch/documented"
[ -s "$scratch/options" ] || fail "no options in --help"
diff "$scratch/options" "$scratch/documented" || fail "options of --help (<) and of the manual (>) differ"
sed -n '/^formats/,/^$/s/^  \([a-z]*\) .*/\1/p' "$scratch/help" >"$scratch/formats"
[ -s "$scratch/formats" ] || fail "no formats in --help"
while read -r format; do
    grep -q -E "^\.It (Cm|Li|Ic) $format( |$)" "$manual" || fail "format $format is not in the manual"
done <"$scratch/formats"
