#!/bin/bash
# timeout: 120
# rfprof top on a terminal: pages, keys, resizing, and that every way out gives the terminal back.
. "$(dirname "$0")/fake.bash"

export LC_ALL=C.UTF-8 TMUX_TMPDIR=$scratch
command -v tmux >/dev/null || skip "tmux is not installed"
"$RFPROF" --help | grep -q ' top ' || fail "there is no top"
tmux=(tmux -L "rfprof-$$" -f /dev/null)
trap '"${tmux[@]}" kill-server 2>/dev/null; clean_up' EXIT

screen() { "${tmux[@]}" capture-pane -p "$@"; }

# see PATTERN: waits until a line on the screen has it.
see() {
    local _
    for _ in $(seq 200); do
        screen | grep -q -E -- "$1" && return 0
        sleep 0.05
    done
    screen >&2
    fail "never on the screen: $1"
}
# gone PATTERN: waits until no line has it.
gone() {
    local _
    for _ in $(seq 200); do
        screen | grep -q -E -- "$1" || return 0
        sleep 0.05
    done
    screen >&2
    fail "stays on the screen: $1"
}
press() { "${tmux[@]}" send-keys "$@"; }
start_top() { press "$(printf '%q top -p %d --max-stop 100' "$RFPROF" "$target")" Enter; }

# The shell has the terminal back: what is typed is seen, lines end where they should, the cursor is visible.
restored() { # STATUS
    press 'echo "status=$?" "$(stty -a | grep -o -w -E -- "-?(echo|icanon|opost)" | tr "\n" " ")"' Enter
    see "^status=$1 (echo|icanon|opost) (echo|icanon|opost) (echo|icanon|opost) *$"
    [ "$("${tmux[@]}" display-message -p '#{cursor_flag}#{alternate_on}')" = 10 ] ||
        fail "cursor and alternate screen: $("${tmux[@]}" display-message -p '#{cursor_flag}#{alternate_on}')"
    press 'clear' Enter
    gone 'status='
}

fake ratio
# a shell on a terminal of its own
"${tmux[@]}" new-session -d -x 120 -y 30 "env PS1='ready> ' bash --norc --noprofile -i" || skip "tmux does not start"
see 'ready> *$'
start_top
see 'samples|without ncurses'
! screen | grep -q 'without ncurses' || skip 'built without ncurses'
see "^rfprof $target  .* samples.*\\? help$"
see '^CPU [0-9]+% .* held [0-9.]+%  1 thread: main'
see '^last 5 s +all .* by line'
see '^ \*self +total +self +total +where +fn +source'
see '[1-9][0-9.]*% +ratio-lib.rfl:3 +heavy +\(burn 12\)$'
see 'ratio.rfl:6 +outer +\(inner n 1\)$'

# sorted by self, the dearest line is first; by total, its caller
see_first() { # PATTERN: in the first row
    local _
    for _ in $(seq 200); do
        screen | sed -n 5p | grep -q -E -- "$1" && return 0
        sleep 0.05
    done
    screen >&2
    fail "not in the first row: $1"
}
see_first 'ratio-lib.rfl:3 '
press t
see '^  self +\*total'
see_first 'ratio.rfl:6 '
press w
see '^  self +total +self +\*total'
press s w
see '^ \*self'
see_first 'ratio-lib.rfl:3 '

# views, forwards and back
press Tab
see ' by fn$'
see '[0-9]% +ratio-lib.rfl +heavy$'
press v
see ' by builtin'
see '^ +\*?total +\*?total +builtin$'
see '[1-9][0-9.]*% +burn2$'
press Tab
see ' by file$'
see '[0-9]% +ratio-lib.rfl$'
press Tab
see ' by query$'
press Tab
see ' by thread$'
see '[0-9]% +main$'
press Tab
see ' by line$'
press BTab
see ' by thread$'
press V
see ' by query$'
press Tab Tab
see ' by line$'

press '?'
see 'the next view'
see '^rayforce 2.4.0'
press x
gone 'the next view'
see '[*]self'
press Space
see ' paused$'
press Space
gone ' paused$'

# narrow, and narrower
fits() { # COLUMNS LINES PATTERN
    "${tmux[@]}" resize-window -x "$1" -y "$2"
    see "$3"
    # below the titles there are whole rows and nothing else
    local _
    for _ in $(seq 200); do
        screen | sed '1,/total/d' | grep -q -v -E '^( *[0-9.]+%  +[0-9.]+%  .*)?$' || return 0
        sleep 0.05
    done
    screen >&2
    fail "not only rows, at $1x$2"
}
fits 80 24 'ratio-lib.rfl:3 +heavy +\(burn 12\)'
fits 40 10 '%  (ratio|..io)-lib.rfl:3 +heavy$'
fits 40 5 "^$target CPU .* by line, last .* \\? help$"
see 'heavy$'
press Down Down
gone 'heavy'
see 'outer$'
press Home
see 'heavy$'
fits 20 2 "^$target"
fits 120 30 '^ \*self +total +self +total'
see "^rfprof $target  .* samples.*\\? help$"

# the ways out
press q
restored 0
start_top
see '^ \*self'
press C-c
restored 0
start_top
see '^ \*self'
press C-z
see 'Stopped'
untouched "$target" || fail "the target is held while top is stopped"
press fg Enter
see '^ \*self'
for signal in TERM HUP; do
    pid=$(pgrep -P "$("${tmux[@]}" display-message -p '#{pane_pid}')" rfprof) || fail "which process is top?"
    kill -s "$signal" "$pid"
    restored 0
    start_top
    see '^ \*self'
done
press q
restored 0

# the target ends: its last page stays, and says so
start_top
see 'ratio-lib.rfl:3 +heavy'
kill -KILL "$target"
see "^rfprof: $target ended"
see 'ratio-lib.rfl:3 +heavy +\(burn 12\)'
restored 0

# an error is readable, and leaves the terminal alone
press "$(printf '%q top -p %d' "$RFPROF" $$)" Enter
see "^rfprof: .*$$"
restored '[34]'
fake ratio
for type in none dumb; do
    press "$(printf 'TERM=%s %q top -p %d' $type "$RFPROF" "$target")" Enter
    see "terminal of the type '$type'"
    restored 2
done

# colours, unless they are not wanted
start_top
see 'ratio-lib.rfl:3 +heavy'
screen -e | grep -q $'\033\\[[0-9;]*3[1-6]' || fail "no colours: $(screen -e | cat -v)"
press q
restored 0
press 'export NO_COLOR=1' Enter
start_top
see 'ratio-lib.rfl:3 +heavy'
! screen -e | grep -q $'\033\\[[0-9;]*3[1-6]' || fail "colours in spite of NO_COLOR: $(screen -e | cat -v)"
press q
restored 0
stop_target
