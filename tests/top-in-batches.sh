#!/bin/bash
# rfprof top --batch: pages as plain text, for how long it was asked to, and to a reader that leaves.
. "$(dirname "$0")/fake.bash"

fake ratio
"$RFPROF" top -p "$target" --batch -d 2.5 >"$scratch/pages" 2>"$scratch/err"
status=$?
expect_status 0 "top --batch"
[ ! -s "$scratch/err" ] || fail "on stderr: $(cat "$scratch/err")"
pages=$(grep -c "^rfprof $target  " "$scratch/pages")
[ "$pages" -ge 1 ] || fail "no page in 2.5 s: $(cat "$scratch/pages")"
[ "$(grep -c '^$' "$scratch/pages")" = "$pages" ] || fail "not one empty line after each page"
! grep -q $'[\001-\010\013-\037\177]' "$scratch/pages" || fail "not plain text: $(cat -v "$scratch/pages")"
! grep -q ' $' "$scratch/pages" || fail "lines with blanks at their end"
grep -q -E '% +ratio-lib.rfl:3 +heavy +\(burn 12\)$' "$scratch/pages" ||
    fail "no dearest line: $(cat "$scratch/pages")"

# less than a page's time has a page too; other views
"$RFPROF" top -p "$target" --batch -d 0.3 --by builtin -r 500 >"$scratch/pages" || fail "exit $?"
grep -q 'by builtin' "$scratch/pages" || fail "not by builtin: $(cat "$scratch/pages")"

# a reader that leaves is no error
"$RFPROF" top -p "$target" --batch 2>"$scratch/err" | head -n 1 >"$scratch/pages"
[ "${PIPESTATUS[0]}" = 0 ] || fail "exit ${PIPESTATUS[0]} after a closed pipe"
[ ! -s "$scratch/err" ] || fail "on stderr: $(cat "$scratch/err")"

# a full disk is one
if [ -w /dev/full ]; then
    expect_exit 1 sh -c 'exec "$0" top -p "$1" --batch >/dev/full' "$RFPROF" "$target"
    says 'cannot write to stdout'
fi

# without a terminal there is no screen
expect_exit 2 "$RFPROF" top -p "$target"
says 'batch'
expect_exit 2 "$RFPROF" top --batch
says 'PID is missing'
expect_exit 2 "$RFPROF" top -p "$target" --by expr
says 'by expr'
expect_exit 2 "$RFPROF" top -p "$target" -o x.tsv
says 'top takes no --output'

# watch PATTERN: pages into $scratch/pages until one has the pattern. Sets $top.
watch() {
    local _
    "$RFPROF" top -p "$target" --batch -r 300 --max-stop 100 >"$scratch/pages" 2>"$scratch/err" &
    top=$!
    started+=("$top")
    for _ in $(seq 400); do
        grep -q -F -- "$1" "$scratch/pages" && return 0
        sleep 0.05
    done
    fail "never on a page: $1, but $(cat -v "$scratch/pages")"
}

stop_target

# names that could move the cursor are shown, not done
fake names
watch '文.rfl'
kill -TERM "$top"
wait "$top"
status=$?
expect_status 0 "SIGTERM"
! grep -q $'[\001-\010\013-\037\177]' "$scratch/pages" || fail "not plain text: $(cat -v "$scratch/pages")"
[ "$(LC_ALL=C.UTF-8 wc -L <"$scratch/pages")" -le 120 ] || fail "wider than 120 columns"

# columns are as wide as what is in them is on a terminal
python3 - "$scratch/pages" <<'EOF_PY' || fail "columns do not line up: $(cat "$scratch/pages")"
import sys, unicodedata
wide = 0
for page in open(sys.argv[1], encoding="utf-8").read().split("\n\n"):
    lines = page.split("\n")
    if len(lines) < 5 or " fn" not in lines[3]:
        continue
    fn = lines[3].index(" fn") + 1
    for row in filter(None, lines[4:]):
        column = at = 0
        while column < fn:
            column += 2 if unicodedata.east_asian_width(row[at]) in "WF" else 1
            at += 1
        wide += column > at
        if column != fn or row[at - 2 : at] != "  ":
            sys.exit(row)
sys.exit(not wide)
EOF_PY

# the target ends: so does top, with a last page
watch 'esc\x1b[31m.rfl'
kill -KILL "$target"
wait "$top"
status=$?
expect_status 0 "end of the target"
says "^rfprof: $target ended"
