#!/bin/bash
# A target with a PID namespace, mounts and a root directory of its own is profiled from outside like any other; check
# says so, and a pid from inside of a container is explained.
. "$(dirname "$0")/fake.bash"

[ "$(id -u)" = 0 ] || skip "needs root"
unshare --pid --mount --fork true 2>"$scratch/why" || skip "no namespaces here: $(cat "$scratch/why")"

# A root directory with the program and the libraries that it needs.
root=$scratch/root
mkdir -p "$root"
cp "$B/fixtures/fakeforce" "$root/engine"
for file in $(ldd "$B/fixtures/fakeforce" | grep -o '/[^ ]*'); do
    mkdir -p "$root${file%/*}" && cp -L "$file" "$root$file" || fail "cannot copy $file"
done

# child_of PID: the process that it started last
child_of() {
    local child _
    for _ in $(seq 100); do
        child=$(cut -d ' ' -f 1 "/proc/$1/task/$1/children" 2>/dev/null)
        [ -z "$child" ] || { echo "$child"; return 0; }
        sleep 0.05
    done
    fail "no child of $1"
}

# profiled PATTERN: by the truth, and what check says of its surroundings
profiled() {
    shows_lines
    expect_exit 0 "$RFPROF" check -p "$target"
    grep -q -E "^ok   container +$1\$" "$scratch/out" || fail "no '$1' in: $(cat "$scratch/out")"
}

start "$scratch/truth" chroot "$root" /engine ratio
wait_for "$scratch/truth" ready
profiled 'a root directory of its own'
stop_target

# A number that no process has here.
inner=31000
while [ -e "/proc/$((inner + 1))" ]; do inner=$((inner + 1)); done
start "$scratch/truth" unshare --pid --mount --fork --kill-child --mount-proc \
    sh -c "echo $inner >/proc/sys/kernel/ns_last_pid; chroot '$root' /engine ratio & wait"
outer=$target
wait_for "$scratch/truth" ready
target=$(child_of "$(child_of "$outer")")
pid=$(sed -n 's/^NSpid:.*[[:space:]]//p' "/proc/$target/status")
profiled "pid $pid in its own namespace, mounts of its own"
expect_exit 0 "$RFPROF"
grep -q "^ *$target .* yes " "$scratch/out" || fail "not listed: $(cat "$scratch/out")"
if [ ! -e "/proc/$pid" ]; then
    expect_exit 4 "$RFPROF" -p "$pid" -d 1
    says "pid $pid of a container is $target here \\(engine\\): rfprof -p $target"
fi

# What is in a container and is no rayforce is told apart, too; and its number may be that of a process here.
shell=$(child_of "$outer") || exit 1
same=$(sed -n 's/^NSpid:.*[[:space:]]//p' "/proc/$shell/status")
! "$RFPROF" -p "$same" -d 1 2>"$scratch/err" || fail "pid $same was sampled"
says "pid $same of a container is [0-9]+ here"
expect_exit 4 "$RFPROF" -p "$shell" -d 1
says 'not a rayforce process'
says "it is pid 1 of a container: run rfprof outside of that, as root, with pid $shell"
stop_target
