"""What tests and benchmarks on the lab begin and end with: a lab, or a skip that says why, and a Muster on it; both end with the
test, however it ends. MUSTER_LAB_KEEP=DIR keeps what the lab leaves behind there: logs, configuration, Muster's journal."""
import atexit
import os
import shutil
import sys

from controller import Controller
from lab import Lab, Unavailable

labs, controllers = [], []


@atexit.register
def clean():
    for c in controllers:
        c.stop()
    for one in labs:
        if not os.path.exists(one.dir):
            continue
        keep = os.environ.get('MUSTER_LAB_KEEP')
        if keep:
            logs = shutil.ignore_patterns('*sock*', 'run', 'spool', 'munge', 'state')
            shutil.copytree(one.dir, keep, dirs_exist_ok=True, symlinks=True, ignore=logs)
        one.down()


def lab_or_skip(test, kind=Lab, **words):
    """A lab as Lab.start makes it; without root or Slurm the test ends here, as skipped."""
    try:
        if os.geteuid() != 0:
            raise Unavailable('it needs root for a Slurm of its own')
        labs.append(kind.start(**words))
    except Unavailable as why:
        print(f'skip - live_slurm_{test}: {why}')
        sys.exit(77)
    return labs[-1]


def muster_on(lab, program, **words):
    """A Controller, not started yet."""
    controllers.append(Controller(os.path.abspath(program), lab, **words))
    return controllers[-1]
