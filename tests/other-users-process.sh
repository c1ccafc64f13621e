#!/bin/bash
# A process of another user is refused with exit 3 and advice.
. "$(dirname "$0")/fake.bash"

[ "$(id -u)" = 0 ] || skip "needs root, to become somebody else"
command -v setpriv >/dev/null || skip "no setpriv"
fake ratio
chmod 711 "$scratch" "$(dirname "$scratch")" 2>/dev/null
install -m 755 "$RFPROF" "$scratch/rfprof"
setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$scratch/rfprof" -p "$target" -d 1 -q \
    >"$scratch/out" 2>"$scratch/err"
status=$?
expect_status 3 "another user's process"
grep -qE 'sudo|setcap' "$scratch/err" || { cat "$scratch/err"; fail "no advice"; }
stop_target
