#!/bin/bash
# A stripped executable that carries its symbols compressed, or has them in a file of their own, is profiled; one without
# is refused by name, with what is missing, and so is one whose compressed part is damaged.
. "$(dirname "$0")/fake.bash"

exe=$scratch/engine
objcopy --strip-all "$B/fixtures/fakeforce" "$scratch/stripped" &&
    objcopy --only-keep-debug "$B/fixtures/fakeforce" "$scratch/mini" || fail "objcopy"
python3 - "$scratch" <<'PY' || fail "cannot compress"
import lzma, sys
packed = lzma.compress(open(sys.argv[1] + "/mini", "rb").read())
open(sys.argv[1] + "/mini.xz", "wb").write(packed)
open(sys.argv[1] + "/damaged.xz", "wb").write(packed[:len(packed) // 2] + b"\0" * 64)
PY

# run_with FILE: the stripped program with that in its .gnu_debugdata; none with ''
run_with() {
    rm -f "$exe"
    if [ -n "$1" ]; then
        objcopy --add-section .gnu_debugdata="$scratch/$1" "$scratch/stripped" "$exe"
    else
        cp "$scratch/stripped" "$exe"
    fi
    start "$scratch/truth" "$exe" ratio
    wait_for "$scratch/truth" ready
}

run_with mini.xz
shows_lines
expect_exit 0 "$RFPROF" check -p "$target"
grep -q '^ok   symbols .*gnu_debugdata' "$scratch/out" || fail "check does not say where symbols are: $(cat "$scratch/out")"
stop_target

# In a file of their own, beside it, which it names.
cp "$scratch/mini" "$scratch/engine.debug"
objcopy --add-gnu-debuglink="$scratch/engine.debug" "$scratch/stripped" "$scratch/linked" || fail "objcopy"
rm -f "$exe"
cp "$scratch/linked" "$exe"
start "$scratch/truth" "$exe" ratio
wait_for "$scratch/truth" ready
shows_lines
expect_exit 0 "$RFPROF" check -p "$target"
grep -q '^ok   symbols .*/engine\.debug' "$scratch/out" || fail "check does not say where symbols are: $(cat "$scratch/out")"
stop_target
rm "$scratch/engine.debug"

for without in '' damaged.xz; do
    run_with "$without"
    expect_exit 4 "$RFPROF" -p "$target" -d 1
    says 'engine'
    says '__RUNTIME and g_env'
    [ -n "$without" ] || says "$exe is stripped \\(no \\.symtab\\)"
    stop_target
done
