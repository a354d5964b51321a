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
