"""lab_test.py MUSTER: the lab itself, the gate that jobs pass, and the timer that lets them go, on a real Slurm of 16 nodes."""
import atexit
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')]
import lab_agents  # noqa: E402
from controller import wait_for  # noqa: E402
from held import check, finish  # noqa: E402
from lab import EMIT, HERE, Lab, Unavailable, listening, read, until  # noqa: E402

NODES = 16
labs = []


@atexit.register
def clean():
    for one in labs:
        if os.path.exists(one.dir):
            one.down()


def start(**more):
    labs.append(Lab.start(**more))
    return labs[-1]


def command(*words):
    return subprocess.run([f'{HERE}/lab', *words], capture_output=True, text=True, timeout=120)


def state(lab, job):
    return lab.job(job).get('JobState', '')


def runs(lab, job, seconds=8):
    return bool(wait_for(lambda: state(lab, job) == 'RUNNING', seconds))


def waits(lab, job):
    """At the gate: pending for its start time, marked as Muster's, with a priority."""
    j = lab.job(job)
    return (j.get('JobState'), j.get('Reason'), j.get('AdminComment')) == ('PENDING', 'BeginTime', 'muster: gate') and \
        int(j['Priority']) > 0


def asked(lab, *more):
    return lab.run('curl', '-s', '-o', '/dev/null', '-w', '%{http_code}', *more).stdout


def cluster(lab):
    sizes = lab.out('sinfo', '-h', '-N', '-p', 'batch', '-o', '%N %G %T').splitlines()
    check(sizes == [f'{n} gpu:h200:8(S:0-1) idle' for n in lab.nodes] or sizes == [f'{n} gpu:h200:8 idle' for n in lab.nodes],
          'every node is idle and has eight GPUs', sizes[:3])
    switches = lab.out('scontrol', 'show', 'topology').split()
    check({'SwitchName=leaf001', 'SwitchName=leaf002', 'Switches=leaf[001-002]'} <= set(switches),
          'two leaves and a spine', switches)
    parts = lab.out('sinfo', '-h', '-o', '%P').split()
    check(sorted(parts) == ['batch*', 'debug', 'half', 'urgent'], 'the partitions batch, debug, half and urgent', parts)
    ours = [address for pid in lab.daemons().values() for address, _ in listening(pid)]
    check(len(ours) == NODES + 2 and set(ours) == {'127.0.0.1'}, 'all listen on the loopback interface only', ours)
    log = read(f'{lab.dir}/log/slurmctld.log').splitlines()
    noise = [line for line in log if 'fatal' in line or 'lua' in line and 'error' in line]
    check(not noise, 'slurmctld complains of nothing in its files', noise)
    token = read(lab.about['token_file']).strip()
    url = '/slurm/v0.0.38/ping'
    got = (asked(lab, '--unix-socket', lab.about['rest_socket'], f'http://lab{url}'), asked(lab, lab.about['rest_url'] + url),
           asked(lab, '-H', 'X-SLURM-USER-NAME: root', '-H', f'X-SLURM-USER-TOKEN: {token}', lab.about['rest_url'] + url))
    check(got == ('200', '401', '200'), 'slurmrestd answers over its socket, and over its port only with the token', got)


def ordinary_user(lab):
    script = 'echo $CUDA_VISIBLE_DEVICES $(id -un) > $HOME/said; srun -N2 true'
    job = lab.sbatch('-p', 'debug', '-N2', '--gres=gpu:4', script=script)
    check(wait_for(lambda: state(lab, job) == 'COMPLETED', 15) and read(f'{lab.dir}/home/said') == '0,1,2,3 nobody\n',
          'an ordinary user sends a job, which gets its GPUs and runs a step on two nodes',
          (lab.job(job), read(f'{lab.dir}/home/said')))


def gate(lab):
    """Returns jobs that wait for the timer, and one that its user told to wait."""
    lab.heartbeat()
    first = lab.sbatch('-N2', '--gres=gpu:8')
    check(waits(lab, first), "a job waits at the gate while the heartbeat is fresh, with its priority and Muster's mark",
          lab.job(first))
    small, large = lab.sbatch('-N1'), lab.sbatch('-N12')
    order = [int(lab.job(j)['Priority']) for j in (small, large)]
    check(0 < order[0] < order[1], 'priorities at the gate are those that Slurm computes', order)
    lab.run('scontrol', 'update', f'JobId={first}', 'NodeList=gpu[0006,0008]', 'AdminComment=muster: place', 'StartTime=now')
    check(runs(lab, first) and lab.job(first)['NodeList'] == 'gpu[0006,0008]', 'one update names its nodes and starts it',
          lab.job(first))
    lab.heartbeat()
    begin = lab.sbatch('-N1', '--begin=now+3hours')
    j = lab.job(begin)
    check(j['Reason'] == 'BeginTime' and j.get('AdminComment', '').startswith('muster: left to Slurm: it has'),
          "a start time that the user gave is the user's", j)
    array, dependent = lab.sbatch('--array=1-2'), lab.sbatch('-N1', '-d', f'afterany:{begin}')
    parts, other = lab.sbatch('-p', 'batch,debug'), lab.sbatch('-p', 'debug')
    lab.out('scontrol', 'create', 'reservation', 'ReservationName=r1', 'Users=nobody,root', 'Nodes=gpu0016', 'StartTime=now',
            'Duration=10')
    reserved = lab.sbatch('--reservation=r1')
    het = lab.run('sbatch', '--parsable', '--output=/dev/null', '-N1', ':', '-N1', '--wrap', 'sleep 600',
                  user=lab.about['user']).stdout
    for job, what in ((parts, 'a job for several partitions'), (other, 'a job for another partition')):
        check(runs(lab, job) and 'AdminComment' not in lab.job(job), f'{what} is left to Slurm', lab.job(job))
    for job, what in ((array, 'an array'), (reserved, 'a job with a reservation')):
        check(runs(lab, job) and lab.job(job).get('AdminComment', '').startswith('muster: left to Slurm: it '),
              f'{what} is left to Slurm, and its comment says so', lab.job(job))
    check(lab.job(dependent)['Reason'] == 'Dependency', 'and so is a job that depends on another', lab.job(dependent))
    lab.heartbeat()
    direct = lab.run('srun', '-N1', '--immediate=5', 'true', user=lab.about['user'])
    check(direct.returncode == 0, 'srun does not wait at the gate', direct.stderr)
    check(runs(lab, int(het), 15), 'and a heterogeneous job starts', lab.job(int(het)))
    return [small, large, *(lab.sbatch('-N1') for _ in range(3))], begin


def mistakes(lab):
    """Whatever stands in the function's file and in the heartbeat's, jobs go to Slurm."""
    path = f'{lab.dir}/etc/muster.lua'
    good = read(path)
    broken = {'a mistake in its syntax': good.replace('local function gate(', 'local function gate((('),
              'an error in its work': good.replace('local now = os.time()', 'local now = os.time() + nothing.here'),
              'nothing': '', 'another table': 'return { gate = 7 }\n'}
    for what, text in broken.items():
        with open(path, 'w') as f:
            f.write(text)
        lab.heartbeat()
        job = lab.sbatch('-N1')
        check(runs(lab, job), f'a job starts at once where muster.lua has {what}', lab.job(job))
    os.unlink(path)
    job = lab.sbatch('-N1')
    check(runs(lab, job), 'and without the file', lab.job(job))
    with open(path, 'w') as f:
        f.write(good)
    lab.heartbeat()
    job = lab.sbatch('-N1')
    check(waits(lab, job), 'the mended file works from the next job on', lab.job(job))
    lab.run('scancel', job)


def stale(lab):
    path = lab.about['heartbeat']
    for what, write in (('stale', lambda: lab.heartbeat(time.time() - 20)),
                        ('of a time to come', lambda: lab.heartbeat(time.time() + 900)),
                        ('empty', lambda: open(path, 'w').close()), ('gone', lambda: os.unlink(path))):
        write()
        job = lab.sbatch('-N1')
        check(runs(lab, job) and 'AdminComment' not in lab.job(job), f'a job starts at once while the heartbeat is {what}',
              lab.job(job))


def pinned(lab):
    """A job that has nodes from Muster and did not start must not wait for them once Muster is gone. The script, called once."""
    lab.kill('release')
    lab.heartbeat()
    job, second = lab.sbatch('-N1', '--exclusive'), lab.sbatch('-N1', '--exclusive')
    for one in (job, second):
        lab.run('scontrol', 'update', f'JobId={one}', 'NodeList=gpu0006', 'AdminComment=muster: place', 'StartTime=now')
    own = lab.sbatch('-p', 'debug', '-w', 'gpu0006', '--exclusive')
    script = ('/bin/sh', f'{lab.dir}/etc/muster-release.sh', lab.about['heartbeat'])
    done = lab.run(*script)
    check(done.returncode == 0 and done.stdout == '' and lab.job(job)['ReqNodeList'] == 'gpu0006',
          'the timer does nothing while the heartbeat is fresh', (done, lab.job(job)))
    lab.heartbeat(time.time() - 40)
    done = lab.run(*script)
    check(done.returncode == 0 and runs(lab, job) and runs(lab, second) and lab.job(own)['ReqNodeList'] == 'gpu0006',
          "jobs that waited for nodes that Muster had named run elsewhere; a user's own nodes stay",
          (done, lab.job(job), lab.job(second), lab.job(own)))
    lab.restart('release')


def node_acts(lab, muster):
    """Agents, a fault, and the site's programs."""
    node, home = 'gpu0003', lab.node_dir('gpu0003')
    with open(f'{lab.dir}/agent-token', 'w') as f:
        f.write('no-controller-asks-for-it\n')
    lab_agents.start_agents(lab, 'http://127.0.0.1:9', f'{lab.dir}/agent-token', ['--deadline', '4s'], muster)
    check(len([n for n in lab.daemons() if n.startswith('agent.')]) == NODES, 'an agent for each node')

    def lost(name):
        try:
            url = f'http://127.0.0.1:{lab_agents.agent_port(lab, name)}/metrics'
            page = urllib.request.urlopen(url, timeout=5).read().decode()
        except OSError as why:  # it is being started
            return why
        lines = [line for line in page.splitlines() if line.startswith('muster_gpu_lost{') and line.endswith(' 1')]
        return [line.split('gpu="')[1][0] for line in lines]
    done = command('xid', lab.dir, node, '79', '--slot', '2', '--lose', '--cure', 'reboot_node')
    check(done.returncode == 0 and 'Xid (PCI:0000:3b:00): 79,' in read(f'{home}/kmsg') and not os.path.exists(f'{home}/dev/gpu2'),
          'a GPU falls off the bus: a line in the kernel log, and its device is gone', done)
    gone = wait_for(lambda: lost(node) == ['2'], 10)
    check(gone and not lost('gpu0004'), "NVML has lost it too, on that node only", lost(node))
    tested, reset = command('hand', lab.dir, 'test_node', node), command('hand', lab.dir, 'reset_gpu', node, '2')
    check(tested.returncode == 1 and 'GPU 2 missing of 8' in tested.stderr and reset.returncode == 1,
          'the test of the node fails, and a milder cure than it needs does not help', (tested, reset))
    before = lab.pid('agent', node), lab.pid('slurmd', node)
    lab.out('scontrol', 'reboot', 'ASAP', 'nextstate=RESUME', 'reason=muster: incident 1', node)
    back = wait_for(lambda: lab.node(node)['State'] == 'IDLE' and lab.pid('slurmd', node) not in (0, before[1]), 20)
    tested = command('hand', lab.dir, 'test_node', node)
    check(back and tested.returncode == 0, '`scontrol reboot` of the node brings it back whole', (lab.node(node), tested))
    check(wait_for(lambda: lab.pid('agent', node) not in (0, before[0]), 5) and wait_for(lambda: lost(node) == [], 10),
          'with its agent, which sees eight GPUs', lab.pid('agent', node))


def killed_controller(lab):
    job = lab.sbatch('-p', 'debug', '-N1')
    runs(lab, job)
    lab.saved()
    before = lab.out('squeue', '-h', '-t', 'R', '-o', '%i')
    lab.kill('slurmctld')
    lab.kill('slurmrestd')
    lab.restart('slurmctld')
    lab.restart('slurmrestd')
    after = wait_for(lambda: set(before.split()) <= set(lab.out('squeue', '-h', '-t', 'R', '-o', '%i').split()), 10)
    check(after and state(lab, job) == 'RUNNING', 'jobs run on through kill -9 of slurmctld and slurmrestd',
          (before, lab.job(job)))


def released(lab, jobs, begin, since):
    ok = until(lambda: all(state(lab, j) == 'RUNNING' for j in jobs), max(1, 65 - (time.monotonic() - since)), 0.2)
    took = time.monotonic() - since
    check(ok and took < 60, f'jobs at the gate start {took:.0f} s after the last heartbeat', [lab.job(j) for j in jobs])
    check(lab.job(begin)['Reason'] == 'BeginTime', "and the user's own start time stays", lab.job(begin))


def ends(lab, other):
    check(command('up', '--dir', lab.dir).returncode == 1, 'a folder holds one lab')
    pids = [*lab.daemons().values(), *lab.step_processes()]
    done = command('down', lab.dir)
    left = [p for p in pids if is_running(p)]
    check(done.returncode == 0 and len(pids) > 2 * NODES and not left and not os.path.exists(lab.dir),
          f'down ends all {len(pids)} processes and removes the folder', (done, left))
    check(other.states() == {'idle': 2}, 'a lab beside it is not disturbed', other.states())
    check(command('down', lab.dir).returncode == 1 and 'no lab' in command('status', lab.dir).stderr,
          'what is no lab is said to be none')


def tethered():
    """A test that is killed takes its lab with it."""
    code = f'import sys; sys.path.insert(0, {HERE!r}); from lab import Lab; print(Lab.start(nodes=2).dir, flush=True); input()'
    child = subprocess.Popen([sys.executable, '-B', '-c', code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    folder = child.stdout.readline().strip()
    pids = Lab(folder).daemons().values()
    child.kill()
    child.wait()
    gone = wait_for(lambda: not os.path.exists(folder) and not any(map(is_running, pids)), 20)
    check(gone and len(pids) >= 6, 'a lab ends with the program that started it, even if that is killed', folder)


def is_running(pid):
    stat = read(f'/proc/{pid}/stat')
    return bool(stat) and stat.rsplit(')', 1)[1].split()[0] not in 'ZX'


def main():
    began = time.monotonic()
    try:
        lab = start(nodes=NODES, leaf=8, place=['batch'])
    except Unavailable as e:
        print(f'skip - live_slurm_lab: {e}')
        return 77
    check(True, f'{NODES} nodes are idle after {time.monotonic() - began:.1f} s')
    other = start(nodes=2)
    check(json.loads(read(f'{other.dir}/lab.json'))['slurmctld_port'] != lab.about['slurmctld_port'], 'two labs run at once')
    if shutil.which('shellcheck'):
        scripts = [f'{EMIT}/muster-release.sh', f'{EMIT}/muster-hook.sh']
        done = subprocess.run(['shellcheck', *scripts], capture_output=True, text=True)
        check(done.returncode == 0, 'shellcheck finds nothing in the timer and the hook', done.stdout)
    tethered()
    cluster(lab)
    ordinary_user(lab)
    jobs, begin = gate(lab)
    mistakes(lab)
    lab.heartbeat()
    since = time.monotonic()
    lab.kill('slurmd', 'gpu0001')
    if len(sys.argv) > 1:
        node_acts(lab, os.path.abspath(sys.argv[1]))
    killed_controller(lab)
    down = until(lambda: 'DOWN' in lab.node('gpu0001')['State'], max(1, 60 - (time.monotonic() - since)), 0.2)
    check(down, f'a slurmd that was killed shows as DOWN within {time.monotonic() - since:.0f} s', lab.node('gpu0001'))
    lab.restart('slurmd', 'gpu0001')
    released(lab, jobs, begin, since)
    back = wait_for(lambda: 'DOWN' not in lab.node('gpu0001')['State'], 20)
    check(back, 'started again, its node is back', lab.node('gpu0001'))
    stale(lab)
    pinned(lab)
    ends(lab, other)
    print(f'# {time.monotonic() - began:.0f} s')
    return 0


if __name__ == '__main__':
    code = main()
    if code:
        sys.exit(code)
    finish()
