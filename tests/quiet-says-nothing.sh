#!/bin/bash
# -q leaves stderr empty unless something is wrong; without it the summary closes the account.
. "$(dirname "$0")/lib.sh"

start_fixture ratio
expect_exit 0 "$RFPROF" -q -p "$target" -d 0.3
[ ! -s "$scratch/err" ] || fail "-q said: $(cat "$scratch/err")"
expect_exit 0 "$RFPROF" -p "$target" -d 0.3
says 'sampling [0-9]+ at 100 Hz for 0.3 s'
says '[0-9]+ of [0-9]+ ticks'
says 'samples lost'
said=$(tr -s ' \n' ' ' <"$scratch/err") # without its line breaks
[[ $said =~ explained:\ .*by\ line,\ .*by\ function\ only,\ .*runtime.*\;\ .*not\ decoded.*,\ not\ sampled ]] ||
    fail "what is explained: $said"
says 'threads were held: p50 .*p99'
[ "$(grep -v sampling "$scratch/err" | wc -L)" -le 80 ] || fail "a line is wider than 80 columns: $(cat "$scratch/err")"
expect_exit 0 "$RFPROF" -v -p "0x$(printf %x "$target")" -d 0.3
says 'found rayforce'
says 'first tick'

# the id of another thread of the process stands for the process
start_fixture threads
for thread in /proc/"$target"/task/*; do thread=${thread##*/}; done
expect_exit 0 "$RFPROF" -p "$thread" -d 0.3
says "$thread is a thread of process $target"
