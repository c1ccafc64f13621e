#!/bin/bash
# A file is written beside itself and renamed, through symlinks; what is no file is written in place.
. "$(dirname "$0")/lib.sh"

start_fixture ratio
cd "$scratch" || exit 1
record() { expect_exit 0 "$RFPROF" -p "$target" -d 0.3 -q "$@"; }

echo old >real.tsv
chmod 640 real.tsv
ln real.tsv other-name
mkdir folder
ln -s ../real.tsv folder/link.tsv
record -o folder/link.tsv
is_tsv real.tsv
[ -L folder/link.tsv ] || fail "the symlink was replaced"
[ "$(cat other-name)" = old ] || fail "written in place, not renamed"
[ "$(stat -c %a real.tsv)" = 640 ] || fail "the mode changed to $(stat -c %a real.tsv)"
ln -s new.tsv dangling.tsv
record -o dangling.tsv
is_tsv new.tsv
(umask 027 && record -o masked.tsv && [ "$(stat -c %a masked.tsv)" = 640 ]) || fail "umask is not respected"
! ls -A | grep -E '\.tsv\.' || fail "a temporary file was left"

mkfifo pipe
cat pipe >from-pipe &
record -f tsv -o pipe
wait $!
is_tsv from-pipe
[ -p pipe ] || fail "the FIFO was replaced"
before=$(stat -c '%F %u %t:%T' /dev/null)
record -o /dev/null
[ "$(stat -c '%F %u %t:%T' /dev/null)" = "$before" ] || fail "/dev/null was replaced"
record -o /dev/stdout -f tsv
is_tsv out

if [ "$(id -u)" = 0 ]; then
    # a symlink that another user has put where anybody can
    mkdir -m 1777 shared
    ln -s ../victim.tsv shared/link.tsv
    chown -h 65534 shared/link.tsv
    expect_exit 1 "$RFPROF" -p "$target" -d 0.3 -q -o shared/link.tsv
    says 'cannot write shared/link.tsv: Permission denied'
    [ ! -e victim.tsv ] || fail "another user's symlink was followed"
    chown -h 0 shared/link.tsv
    record -o shared/link.tsv
    is_tsv victim.tsv
    SUDO_UID=12345 SUDO_GID=12346 record -o sudo.tsv
    [ "$(stat -c %u:%g sudo.tsv)" = 12345:12346 ] || fail "under sudo it belongs to $(stat -c %u:%g sudo.tsv)"
fi
