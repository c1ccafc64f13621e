#!/bin/bash
# A mistake in the command line is named, and nothing is sampled.
. "$(dirname "$0")/lib.sh"

wrong() { # PATTERN ARGUMENT...
    local pattern=$1
    shift
    expect_exit 2 "$RFPROF" "$@"
    says "$pattern"
    [ ! -s "$scratch/out" ] || fail "stdout is not empty: $*"
}
wrong "duration '0'" -p 1 -d 0
wrong "duration '-1'" -p 1 -d -1
wrong "duration 'soon'" -p 1 -d soon
wrong "duration 'nan'" -p 1 -d nan
wrong "duration '1s'" -p 1 -d 1s
wrong "duration '0x1'" -p 1 -d 0x1
wrong "rate '0.5'" -p 1 -r 0.5
wrong "rate '10001'" -p 1 --rate=10001
wrong "max-stop '101'" -p 1 --max-stop 101
wrong "pid '0'" -p 0
wrong "pid 'me'" -p me
wrong 'of several 8 at most' -p 1,2,3,4,5,6,7,8,9
wrong 'decimal or 0x hex$' stop -p 1,2,3,4,5,6,7,8,9
wrong "pid '99999999999'" -p 99999999999
wrong "format 'xml': expected one of table, tsv, folded" -p 1 -f xml
wrong "output 'a.tsv'" -p 1 -o a.tsv -o a.tsv
wrong "given before, under another name" -p 1 -o - -o /dev/stdout
(cd "$scratch" && ln -s . here && expect_exit 2 "$RFPROF" -p 1 -o a.tsv -o here/./a.tsv && says 'under another name') || exit 1
wrong "by 'bogus': expected one of line, fn, file, query, expr" -p 1 --by bogus
wrong "by ''" -p 1 --by ''
wrong "columns 'col,depth': expected names out of col, expr" -p 1 --columns col,depth
wrong "columns 'col,'" -p 1 --columns col,
wrong "columns ''" -p 1 --columns=
wrong "columns needs an argument: names out of col, expr" -p 1 --columns
wrong 'columns col: only rows by line or expr' -p 1 --columns col -F
wrong 'columns: rows by builtin have' -p 1 --columns pool_ms --by builtin
wrong "check takes no --no-text" check --no-text
wrong "no option --nonsense" --nonsense
wrong "no option -z" -qz
wrong "rate needs an argument" -r
wrong "functions takes no argument" --functions=1
wrong "check takes no --rate \\(-r\\)" check -r 5
wrong "rfprof top --help lists its options" top -o cpu.tsv
wrong "'4242' by itself" 4242
wrong 'rfprof -p 4242' 4242
wrong 'rfprof top -p 4242' top 4242
wrong "'4242' by itself" record -d 5 4242
wrong "no command 'recrod'" recrod -p 1
wrong "rfprof record: " recrod -p 1
wrong "no command 'flamegraph'" help flamegraph
wrong 'the command comes first' -q record -p 1
wrong 'PID is missing' -d 5
wrong 'PID is missing' record
# shellcheck disable=SC2016 # $$ is the inner shell, which becomes rfprof
expect_exit 2 sh -c 'exec "$0" -p $$' "$RFPROF"
says 'rfprof itself'
# shellcheck disable=SC2016
expect_exit 2 sh -c 'exec "$0" start -p $$' "$RFPROF"
says 'rfprof itself'
