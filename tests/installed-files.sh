#!/bin/bash
# make install with DESTDIR and PREFIX puts everything below there, and what is installed finds its own place.
. "$(dirname "$0")/lib.sh"

cd "$(dirname "$0")/.." || exit 1
for prefix in /usr /opt/some; do
    env -u MAKEFLAGS -u MFLAGS make -s B="$B" DESTDIR="$scratch/root" PREFIX=$prefix install >"$scratch/log" 2>&1 || fail "install: $(cat "$scratch/log")"
    zsh=site-functions
    [ $prefix = /usr ] && zsh=vendor-completions
    (cd "$scratch/root$prefix" && find . -type f | sort) >"$scratch/have"
    sort >"$scratch/want" <<END
./bin/rfprof
./include/rfprof_span.h
./share/bash-completion/completions/rfprof
./share/doc/rfprof/README.md
./share/doc/rfprof/copyright
./share/fish/vendor_completions.d/rfprof.fish
./share/man/man1/rfprof.1
./share/rfprof/rfprof.rfl
./share/zsh/$zsh/_rfprof
END
    diff "$scratch/have" "$scratch/want" || fail "installed (<), not as it should be (>)"
    [ -x "$scratch/root$prefix/bin/rfprof" ] || fail "the program cannot be run"
    ! find "$scratch/root$prefix" -type f -empty | grep . || fail "an installed file is empty"
done
