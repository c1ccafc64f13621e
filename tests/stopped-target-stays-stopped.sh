#!/bin/bash
# The operator's SIGSTOP and SIGCONT keep their meaning for a target that is sampled: it stays stopped until it is
# continued, and its parent is told of both.
. "$(dirname "$0")/lib.sh"

B=$B python3 - <<'END' || fail "see above"
import os, signal, subprocess, sys, time
b = os.environ["B"] + "/fixtures/"

def cpu(pid):
    return sum(int(open(f"/proc/{pid}/task/{t}/schedstat").read().split()[0]) for t in os.listdir(f"/proc/{pid}/task"))

def states(pid):
    return {open(f"/proc/{pid}/task/{t}/stat").read().rpartition(")")[2].split()[0]
            for t in os.listdir(f"/proc/{pid}/task")}

def told(pid, what, code):
    for _ in range(300):
        r = os.waitid(os.P_PID, pid, what | os.WNOHANG)
        if r:
            return r.si_code == code
        time.sleep(0.01)
    return False

target = subprocess.Popen([b + "meter", "-b", "2"], stdout=subprocess.PIPE)
sampler = None
try:
    target.stdout.readline()
    sampler = subprocess.Popen([b + "sampler", "-p", str(target.pid), "-r", "2000"], stdout=subprocess.DEVNULL)
    time.sleep(0.3)
    for i in range(12):
        time.sleep(0.03 + i / 1000)
        target.send_signal(signal.SIGSTOP)
        if not told(target.pid, os.WSTOPPED, os.CLD_STOPPED):
            sys.exit("the parent was not told of the stop")
        time.sleep(0.05)
        before = cpu(target.pid)
        time.sleep(0.1)
        if cpu(target.pid) != before or states(target.pid) != {"T"}:
            sys.exit(f"it does not stay stopped: {states(target.pid)}")
        target.send_signal(signal.SIGCONT)
        if not told(target.pid, os.WCONTINUED, os.CLD_CONTINUED):
            sys.exit("the parent was not told that it goes on")
        time.sleep(0.1)
        if cpu(target.pid) == before:
            sys.exit(f"it does not go on: {states(target.pid)}")
    if sampler.poll() is not None:
        sys.exit(f"the sampler ended, {sampler.returncode}")
finally:
    target.kill()
    target.wait()
    if sampler:
        sampler.kill()
        sampler.wait()
END
