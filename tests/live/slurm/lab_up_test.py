"""lab_up_test.py MUSTER: `./run up --slurm-lab`, as a newcomer meets it: it starts, a job of plain sbatch is placed and runs,
Ctrl-C ends it, and nothing is left."""
import atexit
import os
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')]
from held import check, finish  # noqa: E402
from lab import HERE, Lab, read, until  # noqa: E402

NODES = 8
children = []


@atexit.register
def clean():
    for child in children:
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
            child.wait(timeout=120)


def is_running(pid):
    stat = read(f'/proc/{pid}/stat')
    return bool(stat) and stat.rsplit(')', 1)[1].split()[0] not in 'ZX'


def start(muster):
    child = subprocess.Popen([sys.executable, '-B', f'{HERE}/lab_up.py', muster, 'up', '--slurm-lab', str(NODES), '--port', '0'],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    children.append(child)
    said = ''
    for line in child.stdout:
        said += line
        if line.startswith('Ctrl-C ends'):
            break
    return child, said


def shell(lab, line):
    """A line of the second terminal, as it is printed for the newcomer."""
    return subprocess.run(['bash', '-c', f'. {lab.dir}/env && {line}'], capture_output=True, text=True, timeout=60)


def works(lab, said):
    check(re.search(r'^page +http://127.0.0.1:\d+/$', said, re.M), 'it says where its page is', said)
    check(until(lambda: os.path.exists(f'{lab.dir}/run/heartbeat'), 30), 'its heart beats')
    sbatch = re.search(r'^ +(sbatch -N4 .*)$', said, re.M)[1]
    sent = shell(lab, sbatch)
    check('Submitted batch job 1' in sent.stdout, 'the sbatch line that it prints works', sent)
    check(until(lambda: lab.job(1).get('JobState') == 'RUNNING', 30), 'the job runs', lab.job(1))
    check(lab.job(1).get('AdminComment', '').startswith('muster: place'), 'on nodes that Muster chose', lab.job(1))
    why = shell(lab, 'muster explain job 1')
    check(why.returncode == 0 and 'Placed on 2 leaf switches' in why.stdout, 'and muster says why those', why)
    drain = re.search(r'^ +(muster drain .*)$', said, re.M)[1]
    drained = shell(lab, drain)
    check('loud fan' in lab.node('gpu0003').get('Reason', ''), 'the drain line takes a node out of service', drained)
    agents = [name for name in lab.daemons() if name.startswith('agent.')]
    check(len(agents) == NODES, 'an agent watches each node', agents)


def ends(child, lab):
    own = subprocess.run(['ps', '-o', 'pid=', '--ppid', str(child.pid)], capture_output=True, text=True).stdout.split()
    pids = {pid: read(f'/proc/{pid}/cmdline') for pid in [*lab.daemons().values(), *lab.step_processes(), *map(int, own)]}
    child.send_signal(signal.SIGINT)
    rest = child.communicate(timeout=120)[0]
    until(lambda: not any(map(is_running, pids)), 5)  # the lab's tether sees half a second later that nobody needs it
    left = {pid: name for pid, name in pids.items() if is_running(pid)}
    check(child.returncode == 0 and not left and not os.path.exists(lab.dir) and len(pids) > 2 * NODES,
          f'Ctrl-C ends all {len(pids)} processes and removes the folder', (child.returncode, left, rest))


def main():
    child, said = start(os.path.abspath(sys.argv[1]))
    if child.poll() == 77 or 'no Slurm lab here' in said:
        print(f'skip - live_slurm_lab_up: {said.strip()}')
        return 77
    folder = re.search(r'^ +\. (\S+)/env', said, re.M)
    if not check(folder, 'it starts, and prints what to try', said):
        return 1
    lab = Lab(folder[1])
    works(lab, said)
    ends(child, lab)
    return 0


if __name__ == '__main__':
    code = main()
    if code:
        sys.exit(code)
    finish()
