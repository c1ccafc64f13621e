#!/bin/bash
# A rayforce of the 1.x line, which is stripped, is refused; nothing is guessed.
. "$(dirname "$0")/lib.sh"

need_release 1.0.0
cd "$scratch" || exit 1
"$rayforce" </dev/zero >/dev/null 2>&1 &
target=$!
started+=("$target")
sleep 0.3
kill -0 "$target" 2>/dev/null || skip "wheel 1.0.0 does not run here"
expect_exit 4 "$RFPROF" -p "$target" -d 1
expect_exit 4 "$RFPROF" check -p "$target"
untouched "$target" || fail "the process was changed"
