#!/bin/bash
# timeout: 180
# The CPU time that the kernel charged to the process is what its threads' samples, their time since then, and threads that
# ended add up to, within 1 %: busy, asleep for most of the time, with a pool, and while threads come and go.
. "$(dirname "$0")/fake.bash"

# closes WHAT: the account of the last recording.
closes() {
    sed -n 's/.*charged by the kernel: \([0-9.]*\) s, accounted for: \([0-9.]*\) s.*/\1 \2/p' "$scratch/err" |
        awk -v what="$1" '{ off = ($2 - $1) / $1; printf "%s: charged %s s, accounted for %s s: %+.2f %%\n", what, $1, $2, 100 * off
            seen = 1 } END { exit !(seen && off < 0.01 && off > -0.01) }' || fail "$(cat "$scratch/err")"
}

# has_ended WHAT: without a sample there is an account, too, on a machine that is busy with other things.
has_ended() {
    [ "$status" = 5 ] || expect_status 0 "$1"
}

for scenario in ratio idle threads; do
    fake $scenario
    rfprof -d 3 -r 300 -o "$scratch/out.tsv"
    has_ended "$scenario"
    closes $scenario
    ! says_ended=$(grep -o '[0-9.]* % by threads that ended' "$scratch/err") || fail "$scenario: $says_ended"
    stop_target
done

# threads that live for 30 ms: about the last third of each is in no sample
start "$scratch/truth" env LD_PRELOAD="$B/fixtures/meter.so" METER_LIFE_MS=30 "$B/fixtures/fakeforce" ratio
wait_for "$scratch/truth" ready
rfprof -d 3 -o "$scratch/out.tsv"
has_ended "threads that end"
closes "threads that come and go"
# half of half a second are eight of them
! grep -q 'charged by the kernel: \(0\.[5-9]\|[1-9]\)' "$scratch/err" ||
    grep -q '[0-9.]* % by threads that ended' "$scratch/err" || fail "no thread ended? $(cat "$scratch/err")"
stop_target

releases=0
cat >"$scratch/busy.rfl" <<'RFL'
(set v (rand 50000 1000000))
(set work (fn [x] (do (med v) (med v) (med v) (med v)) 0))
(.time.timer.set 1 0 (fn [t] (work t)))
RFL
sed 's/set 1 0/set 200 0/' "$scratch/busy.rfl" >"$scratch/idle.rfl"
cat >"$scratch/pool.rfl" <<'RFL'
(set p (rand 1000000 1000000))
(set work (fn [x] (iasc p) 0))
(.time.timer.set 1 0 (fn [t] (work t)))
RFL
for version in 2.4.0 2.3.1; do
    rayforce=$(release $version 2>/dev/null) || continue
    releases=$((releases + 1))
    for script in busy idle pool; do
        start_rayforce "$rayforce" $script.rfl || fail "$version: $script did not start"
        rfprof -d 3 -o "$scratch/out.tsv"
        has_ended "$version $script"
        closes "$version $script"
        stop_target
    done
done
[ $releases -gt 0 ] || echo "no release can be fetched: the stand-in alone was measured"
