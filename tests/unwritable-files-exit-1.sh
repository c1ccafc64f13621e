#!/bin/bash
# What cannot be written is an error, said before the sampling where that can be known.
. "$(dirname "$0")/lib.sh"

start_fixture ratio
to_full() { "$@" >/dev/full; }
expect_exit 1 to_full "$RFPROF" --help
expect_exit 1 "$RFPROF" -p "$target" -o "$scratch/no/such/folder.tsv"
says 'folder.tsv: No such file'
expect_exit 1 "$RFPROF" -p "$target" -o "$scratch"
says 'Is a directory'
expect_exit 1 "$RFPROF" -p "$target" -o "$scratch/new-folder/"
says 'Is a directory'
# one that works is written all the same
expect_exit 1 "$RFPROF" -p "$target" -d 0.2 -f tsv -o /dev/full -o "$scratch/x.tsv"
is_tsv "$scratch/x.tsv"

if [ "$(id -u)" = 0 ] && mkdir "$scratch/disk" && mount -t tmpfs -o size=4k none "$scratch/disk" 2>/dev/null; then
    head -c 4096 /dev/zero >"$scratch/disk/filler" 2>/dev/null
    got=0
    "$RFPROF" -p "$target" -d 0.2 -o "$scratch/disk/x.tsv" 2>"$scratch/err" || got=$?
    left=$(ls "$scratch/disk")
    umount "$scratch/disk"
    [ $got = 1 ] || fail "exit $got on a full disk"
    [ "$left" = filler ] || fail "left behind: $left"
fi
untouched "$target" || fail "the target was changed"
