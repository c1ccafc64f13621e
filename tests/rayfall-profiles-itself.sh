#!/bin/bash
# timeout: 120
# share/rfprof.rfl on real releases: the program of the README profiles itself, twice in a row, from within .sys.exec;
# texts with quotes come back whole; of two clients the later one has the recording, and the earlier one is told.
. "$(dirname "$0")/lib.sh"
root=$PWD
mkdir "$scratch/tmp"
export TMPDIR=$scratch/tmp

# on_its_own RELEASE: the README's program; its tables are printed.
on_its_own() {
    { echo "(load \"$root/share/rfprof.rfl\") (set prof-command \"$RFPROF\")"
        sed -n '/^```rayfall/,/^```/p' "$root/README.md" | grep -v -e '^```' -e '(load '
        echo '(println (try (prof-stop) (fn [e] (format "raised %" e))))'
        echo '(println (try (prof-start-with {rate: "it'\''s \"odd\""}) (fn [e] (format "raised %" e))))'
        echo '(println (try (prof (fn [] (raise "inner"))) (fn [e] (format "raised %" e))))'
    } >"$scratch/self.rfl"
    grep -q prof-stop "$scratch/self.rfl" || fail "the README has no such program"
    expect_exit 0 "$rayforce" "$scratch/self.rfl"
    [ "$(grep -c '│ "[^"]*self.rfl" *│ 2 *│ "fib"' "$scratch/out")" = 2 ] || fail "$1: fib is not in both tables:
$(cat "$scratch/out" "$scratch/err")"
    [ "$(grep -c '^raised rfprof: there is no recording' "$scratch/out")" = 1 ] || fail "$1: $(cat "$scratch/out")"
    grep -q "^raised rfprof: --rate 'it's \"odd\"'" "$scratch/out" || fail "$1: quoting: $(cat "$scratch/out")"
    grep -q '^raised inner' "$scratch/out" || fail "$1: $(cat "$scratch/out")"
}

# two_clients RELEASE: of a server that is told to profile itself, and one text with quotes.
two_clients() {
    local port listen _
    port=$(free_port)
    listen=127.0.0.1:$port
    case $1 in 2.[0-2].*) listen=$port ;; esac
    cat >"$scratch/server.rfl" <<END
(load "$root/share/rfprof.rfl")
(set prof-command "$RFPROF")
(set fib (fn [n] (if (<= n 1) n (+ (self (- n 1)) (self (- n 2))))))
(println "up")
END
    cat >"$scratch/clients.rfl" <<END
(set a (.ipc.open "127.0.0.1:$port"))
(set b (.ipc.open "127.0.0.1:$port"))
(.ipc.send a "(prof-start)")
(.ipc.send b "(prof-start-with {rate: 500})")
(println (.ipc.send a "(try (prof-stop) (fn [e] e))"))
(.ipc.send b "(do (set said \"one \\\\\" two\") (fib 28))")
(set p (.ipc.send b "(prof-stop)"))
(println (type p))
(println (.ipc.send a "(try (prof-stop) (fn [e] e))"))
(show (select {from: p where: (== file "<ipc>")}))
END
    "$rayforce" -p "$listen" "$scratch/server.rfl" </dev/null >"$scratch/server.log" 2>&1 &
    target=$!
    started+=("$target")
    for _ in $(seq 100); do
        ! python3 -c "import socket; socket.create_connection(('127.0.0.1', $port), 1)" 2>/dev/null || break
        sleep 0.1
    done
    expect_exit 0 "$rayforce" "$scratch/clients.rfl"
    grep -q 'another start took' "$scratch/out" || fail "$1: the earlier client was not told: $(cat "$scratch/out")"
    grep -q "'TABLE\|'table" "$scratch/out" || fail "$1: no table: $(cat "$scratch/out" "$scratch/err")"
    grep -q 'no recording of' "$scratch/out" || fail "$1: it was stopped twice: $(cat "$scratch/out")"
    # shellcheck disable=SC1003
    grep -q -F '(do (set said \"one \\\" two' "$scratch/out" || fail "$1: quotes: $(cat "$scratch/out")"
    # the listening socket is the server's alone
    end "$target"
    ! python3 -c "import socket; socket.create_connection(('127.0.0.1', $port), 1)" 2>/dev/null ||
        fail "$1: somebody still listens on the server's port"
}

# without_samples RELEASE: an empty table has the types that any other has.
without_samples() {
    printf '#!/bin/sh\nprintf "file\\tline\\tfn\\tself_ms\\ttotal_ms\\tsamples\\n"\n' >"$scratch/none"
    chmod +x "$scratch/none"
    echo "(load \"$root/share/rfprof.rfl\") (set prof-command \"$scratch/none\") (show (prof-stop))" >"$scratch/none.rfl"
    expect_exit 0 "$rayforce" "$scratch/none.rfl"
    grep -q 'STR *│ *I64 *│ *STR *│ *F64 *│ *F64 *│ *I64' "$scratch/out" || fail "$1: types: $(cat "$scratch/out" "$scratch/err")"
    grep -q ' 0 rows' "$scratch/out" || fail "$1: $(cat "$scratch/out")"
}

seen=
for version in 2.1.0 2.3.0 2.3.1 2.4.0; do
    rayforce=$(release "$version" 2>"$scratch/fetch.log") || continue
    on_its_own "$version"
    without_samples "$version"
    two_clients "$version"
    seen="$seen $version"
done
[ -n "$seen" ] || skip "no release can be fetched: $(tail -n 1 "$scratch/fetch.log")"
left=$(find "$scratch/tmp" -mindepth 1)
[ -z "$left" ] || fail "folders are left: $left"
