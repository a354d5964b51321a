"""What live tests stand on: the program under test, a folder and children that are gone afterwards, checks, free ports."""
import atexit
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from held import check, finish  # noqa: E402, F401

MUSTER = os.path.abspath(sys.argv[1])
DIR = tempfile.mkdtemp(prefix='muster-live-')
children = []  # ended at the end, however that comes
given = set()
dice = random.Random()


@atexit.register
def clean():
    for child in children:
        if child.poll() is None:
            child.kill()
            child.wait()
    with open('/proc/mounts') as f:  # not by looking at the folder: a mount may be there that never answers
        mounts = [line.split()[1] for line in f if line.split()[1].startswith(DIR)]
    for mount in mounts:
        subprocess.run(['umount', '-l', mount], capture_output=True)
    shutil.rmtree(DIR, ignore_errors=True)


def free_port():
    """Below those that the kernel gives to whoever connects somewhere, and never the same twice."""
    while True:
        port = dice.randint(12000, 30000)
        with socket.socket() as s:
            try:
                s.bind(('127.0.0.1', port))
            except OSError:
                continue
        if port not in given:
            given.add(port)
            return port


def until(what, seconds=20, step=0.02):
    """The first true answer of what(), or None when the time is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = what()
        if answer:
            return answer
        time.sleep(step)
    return None


def cpu_of(pids):
    """Seconds of processor time, to the nanosecond."""
    total = 0
    for pid in pids:
        for task in os.listdir(f'/proc/{pid}/task'):
            try:
                total += int(open(f'/proc/{pid}/task/{task}/schedstat').read().split()[0])
            except OSError:
                pass
    return total / 1e9


class Others:
    """The share of the processors that went to others since this was made: to programs that are none of ours, and to other
    machines on the same metal. No program of ours can be quick through that."""
    def __init__(self):
        self.began = self.read()

    @staticmethod
    def read():
        user, nice, system, idle, waits, irq, soft, stolen = (int(n) for n in open('/proc/stat').readline().split()[1:9])
        used = user + nice + system + irq + soft + stolen
        alive = cpu_of(c.pid for c in children if c.poll() is None)
        return used + idle + waits, used - os.sysconf('SC_CLK_TCK') * (sum(os.times()[:4]) + alive)

    def share(self):
        total, others = (now - then for now, then in zip(self.read(), self.began))
        return max(0, others / max(total, 1))


SLEEPER = """
import os, sys, time
disk = os.open(sys.argv[1] + '.disk', os.O_CREAT | os.O_WRONLY)
log = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for n in range(10_000_000):
    began = time.monotonic()
    time.sleep(0.005)
    woke = time.monotonic()
    if n % 4 == 0:
        os.pwrite(disk, b'x' * 4096, 0)
        os.fdatasync(disk)
    done = time.monotonic()
    os.write(log, b'%.6f %.3f\\n' % (done, 1000 * (done - began - 0.005)))
"""


class Pauses:
    """How long the machine kept everybody waiting: a program that sleeps and now and then writes one block to the disk says by
    how much it was late. Nothing that must be durable can be quicker than that."""
    def __init__(self):
        self.path = os.path.join(DIR, f'pauses{len(children)}')
        self.child = subprocess.Popen([sys.executable, '-c', SLEEPER, self.path])
        children.append(self.child)
        until(lambda: os.path.exists(self.path) and os.path.getsize(self.path) > 0)

    def worst_ms(self, since):
        """The longest from the time `since` (monotonic) on."""
        with open(self.path) as f:
            lines = [line.split() for line in f if line.endswith('\n')]
        return max((float(late) for at, late in lines if float(at) >= since), default=0.0)
