#!/bin/bash
# timeout: 120
# Clients send work to a server: what each of their texts costs, and that --no-text shows none of them.
. "$(dirname "$0")/lib.sh"

need_release 2.4.0
cat >"$scratch/server.rfl" <<'RFL'
(set v (rand 50000 1000000))

(set cheap (fn [n]
  (do (med v) (med v))
  0))

(set dear (fn [n]
  (do (med v) (med v) (med v) (med v) (med v) (med v))
  (cheap n)
  0))

(set .ipc.on.async (fn [m]
  (do (med v) (med v) (med v) (med v))
  0))
RFL
# the server is told nothing of `later` but by the client
cat >"$scratch/client.rfl" <<'RFL'
(set h (.ipc.open (format "127.0.0.1:%" (.os.getenv "RF_PORT"))))
(.ipc.send h "(set later (fn [n] (do (count \"secret four\") (med v) (med v) (med v)) n))")
(set one (fn [t]
  (.ipc.send h "(do (dear 1)\n    (count \"secret one, which is more than sixty characters behind\"))")
  (.ipc.send h "(do (cheap 1) (count \"secret two\"))")
  (.ipc.send h "(do (later 2) (med v) (count \"secret three\"))")
  (.ipc.post h 17)
  0))
(set run (fn [n]
  (try (map one (til 40)) (fn [e] (exit 0)))
  0))
(map run (til 1000000))
RFL
port=$(free_port)
(cd "$scratch" && exec env RAYFORCE_CORES=1 "$rayforce" -p "127.0.0.1:$port" -c 1 server.rfl) \
    </dev/null >"$scratch/target.log" 2>&1 &
target=$!
started+=("$target")
for _ in $(seq 100); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
    sleep 0.05
done
(cd "$scratch" && exec env RAYFORCE_CORES=1 RF_PORT="$port" "$rayforce" client.rfl) </dev/null >"$scratch/client.log" 2>&1 &
started+=($!)
wait_busy "$target" || fail "the server is not busy: $(cat "$scratch/target.log" "$scratch/client.log")"

# record OPTION...: into out.tsv, out.folded and out.pb.gz
record() {
    "$RFPROF" -p "$target" -d 2 -r 300 --max-stop 100 -q -o "$scratch/out.tsv" -o "$scratch/out.folded" \
        -o "$scratch/out.pb.gz" "$@" ||
        fail "exit $?: $*"
}
# has LINE-BEGINNING: a row of out.tsv
has() { cut -f 1-3 "$scratch/out.tsv" | grep -qxF -- "$1" || fail "no row '$1' in: $(cat "$scratch/out.tsv")"; }

one='(do (dear 1) (count \"secret one, which is more than sixty characters behind\"))'
two='(do (cheap 1) (count \"secret two\"))'
three='(do (later 2) (med v) (count \"secret three\"))'

# by line: the first sixty characters (of an odd number of quotes the last is \x22)
record
has '<ipc>	1	(do (dear 1) (count \x22secret one, which is more than sixty ch'
has "<ipc>	1	$two"
has '<repl>	1	later'
has 'server.rfl	8	dear'

# by query: all of the text, and nothing of what it called; what no text explains is what it is
record --by query
has "<ipc>	0	$one"
has "<ipc>	0	$two"
has "<ipc>	0	$three"
awk -F '\t' 'NR > 1 && $2 != 0 { exit 1 }' "$scratch/out.tsv" || fail "a line: $(cat "$scratch/out.tsv")"
cut -f 3 "$scratch/out.tsv" | grep -qxE 'dear|cheap|later' && fail "what a query called: $(cat "$scratch/out.tsv")"
grep -q '^server.rfl	0	' "$scratch/out.tsv" || fail "no row for the hook: $(cat "$scratch/out.tsv")"
awk -F '\t' 'NR > 1 && $4 != $5 { exit 1 }' "$scratch/out.tsv" || fail "self is not all below: $(cat "$scratch/out.tsv")"

# withheld: numbers, no text in any view or format; names of functions stay
for view in line fn query expr; do
    record --no-text --by $view
    "$RFPROF" -p "$target" -d 1 -r 300 -q --no-text --by $view -f table -o - >"$scratch/out.table" || fail "table: exit $?"
    grep -q -F secret "$scratch"/out.* && fail "--by $view tells: $(grep -F secret "$scratch"/out.*)"
    gzip -dc <"$scratch/out.pb.gz" 2>/dev/null | grep -q -F secret && fail "--by $view: it is in the saved profile"
    grep -q '^<ipc>	[0-9]*	<ipc #[1-9][0-9]*>	' "$scratch/out.tsv" || fail "no numbers: $(cat "$scratch/out.tsv")"
    grep -q '<ipc #[1-9][0-9]*> (<ipc>' "$scratch/out.folded" || fail "no numbers: $(cat "$scratch/out.folded")"
    [ $view = query ] || cut -f 1,3 "$scratch/out.tsv" | grep -qx '<repl>	later' || fail "later: $(cat "$scratch/out.tsv")"
done
untouched "$target" || fail "the target was changed"
