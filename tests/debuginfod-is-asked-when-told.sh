#!/bin/bash
# Debug information from a server: only with --debuginfod, and what goes wrong is said, within the time limit.
. "$(dirname "$0")/fake.bash"

python3 -c 'import ctypes; ctypes.CDLL("libdebuginfod.so.1")' 2>/dev/null || skip "no libdebuginfod.so.1 here"
objcopy --strip-debug "$B/fixtures/fakeforce-debug" "$scratch/fake" || fail objcopy
id=$("$RFPROF" layout "$B/fixtures/fakeforce-debug" | sed -n 's/^build-id //p')
mkdir -p "$scratch/www/buildid/$id"
objcopy --only-keep-debug "$B/fixtures/fakeforce-debug" "$scratch/www/buildid/$id/debuginfo" || fail objcopy
port=$(free_port)
start "$scratch/server" python3 -m http.server --bind 127.0.0.1 --directory "$scratch/www" "$port"
for _ in $(seq 100); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
    sleep 0.05
done
start "$scratch/truth" "$scratch/fake" ratio
wait_for "$scratch/truth" ready
export DEBUGINFOD_CACHE_PATH=$scratch/cache

# look STATUS TEXT OPTION...: what check exits with and says.
look() {
    local status=$1 text=$2 got
    shift 2
    "$RFPROF" check "$@" -p "$target" >"$scratch/out" 2>&1
    got=$?
    [ $got = "$status" ] && grep -q "$text" "$scratch/out" || fail "$*: exit $got: $(cat "$scratch/out")"
}

unset DEBUGINFOD_URLS
look 1 "DEBUGINFOD_URLS is not set" --debuginfod
export DEBUGINFOD_URLS=http://127.0.0.1:$port
look 4 "debug-info *none"
grep -q GET "$scratch/server" && fail "it was asked without being told to"
look 0 "layout *debug info" --debuginfod

cp "$B/fixtures/fakeforce" "$scratch/www/buildid/$id/debuginfo"
export DEBUGINFOD_CACHE_PATH=$scratch/other
look 1 "debuginfod returned a file with build-id" --debuginfod
rm -r "$scratch/www/buildid"
export DEBUGINFOD_CACHE_PATH=$scratch/none
look 1 "debuginfod has no debug information of build $id" --debuginfod

# A server that takes the call and says nothing.
port=$(free_port)
start "$scratch/silent" python3 -u -c '
import socket, sys, time
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("ready")
time.sleep(60)' "$port"
silent=$target
wait_for "$scratch/silent" ready
target=${started[-2]}
export DEBUGINFOD_CACHE_PATH=$scratch/late
DEBUGINFOD_URLS=http://127.0.0.1:$port look 1 "debuginfod did not answer within 5 s" --debuginfod
end "$silent"
stop_target
