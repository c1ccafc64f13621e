#!/bin/bash
# dump shows the stack of a process that sleeps, with source text, arguments and locals, in text and in JSON, and the
# process sleeps on.
. "$(dirname "$0")/fake.bash"

dump_of() { # RELEASE
    fake asleep "$1"
    wait_for "/proc/$target/status" 'State:	S (sleeping)' # it is on its way there when it says that it is ready
    "$RFPROF" dump -p "$target" >"$scratch/plain" 2>"$scratch/err" || fail "dump: exit $?: $(cat "$scratch/err")"
    [ ! -s "$scratch/err" ] || fail "dump says: $(cat "$scratch/err")"
    sed "s/(layout.*)/(LAYOUT)/; s/$target/PID/; s/core [0-9.]*/core N/; s/rayforce [0-9.]*/rayforce N/" "$scratch/plain" |
        diff - <(cat <<'END'
process PID: rayforce N, core N (LAYOUT), 1 thread

thread PID (main): sleeping in <sleep>
  inner (asleep-lib.rfl:4)  (sleep 100000)
  inner (asleep-lib.rfl:3)  (if less (self less more)
  outer (asleep.rfl:2)      (inner n v)
END
        ) || fail "the plain dump is not as it should be"
    # a second look finds it where the first one left it
    "$RFPROF" dump -l -p "$target" 2>&1 | tail -n +4 | diff - <(cat <<'END'
  inner (asleep-lib.rfl:4)  (sleep 100000)
      n      i64        1
      more   I64[1000]  0Nl 10 20 30 40 50 60 70 ...
      less   i64        0
      unset  (not set yet)
  inner (asleep-lib.rfl:3)  (if less (self less more)
      n      i64        2
      more   I64[1000]  0Nl 10 20 30 40 50 60 70 ...
      less   i64        1
      unset  (not set yet)
  outer (asleep.rfl:2)      (inner n v)
      n  i64        2
      v  I64[1000]  0Nl 10 20 30 40 50 60 70 ...
      s  str        "a string of ü\x1b\xff"
END
    ) || fail "the dump with locals is not as it should be"
    "$RFPROF" dump -n -p "$target" >"$scratch/native" || fail "dump -n: exit $?"
    awk '/ray_sleep_fn \[/ { c = NR } /inner \(asleep-lib.rfl:4\)/ { line = NR } END { exit !(c && c < line) }' \
        "$scratch/native" || fail "no C function below the line: $(cat "$scratch/native")"
    if "$RFPROF" dump --help | grep -q -e --json; then
        "$RFPROF" dump -j -l -p "$target" >"$scratch/json" || fail "dump -j: exit $?"
        python3 - "$scratch/json" "$target" <<'END' || fail "the JSON is not as it should be: $(cat "$scratch/json")"
import json, sys
d = json.load(open(sys.argv[1]))
t, = d["threads"]
assert d["pid"] == t["tid"] == int(sys.argv[2])
assert d["layout_origin"] == "catalog" and d["layout_confirmed"] is True, d
assert d["process"].startswith("rayforce %s, core %s (layout: %s)" % (d["release"], d["core"], d["layout"])), d
assert (t["name"], t["state"], t["wait"]) == ("main", "sleeping", "<sleep>"), t
f = t["frames"]
assert [(x["fn"], x["file"], x["line"], x["native"]) for x in f] == [
    ("inner", "asleep-lib.rfl", 4, False), ("inner", "asleep-lib.rfl", 3, False), ("outer", "asleep.rfl", 2, False)]
assert f[0]["source"] == '(sleep 100000)'
n, more, less, unset = f[0]["values"]
assert n == {"name": "n", "argument": True, "type": "i64", "text": "1", "cut": False}, n
assert (more["length"], more["cut"]) == (1000, True), more
assert not less["argument"] and less["text"] == "0", less
assert unset == {"name": "unset", "argument": False}, unset
assert f[2]["values"][2]["text"] == '"a string of \u00fc\x1b\ufffd"', f[2]["values"]
END
    fi
    stop_target
}
each_release dump_of
