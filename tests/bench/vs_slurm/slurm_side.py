"""The stream through a real Slurm: munged, slurmctld and one slurmd for each node, all on this host, in a folder of their own."""
import ctypes
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

from figures import Ran

PROGRAMS = ('munged', 'slurmctld', 'slurmd', 'sbatch', 'scancel', 'scontrol', 'sdiag', 'sinfo')
PATH = os.environ.get('PATH', '') + ':/usr/sbin:/sbin'
SUBMITS_AT_ONCE = 6
LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36

# Scheduling as eager as Slurm can be set to: a look at the whole queue whenever something changes, a backfill pass each second
# over all jobs, with a time map of one second.
SCHEDULER = ('batch_sched_delay=0', 'sched_min_interval=20000', 'sched_interval=1', 'default_queue_depth=5000', 'bf_interval=1',
             'bf_continue', 'bf_max_job_test=5000', 'bf_max_job_start=5000', 'bf_resolution=1', 'bf_window=60', 'bf_max_time=30',
             'bf_yield_interval=1000000', 'bf_yield_sleep=100000')

CONFIG = '''\
ClusterName=vs
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={dir}/munge/socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool/%n
SlurmctldPidFile={dir}/run/slurmctld.pid
SlurmdPidFile={dir}/run/%n.pid
SlurmctldLogFile={dir}/log/slurmctld.log
SlurmdLogFile={dir}/log/slurmd.log
SlurmctldDebug=info
SlurmdDebug=error
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/filetxt
JobCompLoc={dir}/jobcomp
SelectType=select/{select}
{select_parameters}
SchedulerType=sched/backfill
SchedulerParameters={scheduler}
PriorityType=priority/basic
PreemptType=preempt/none
TopologyPlugin=topology/tree
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmctldTimeout=120
SlurmdTimeout=0
SlurmdParameters=config_overrides
InactiveLimit=0
MinJobAge=10
MaxJobCount=100000
KillWait=5
OverTimeLimit=10
MessageTimeout=60
TCPTimeout=10
TreeWidth=64
JobRequeue=0
HealthCheckInterval=0
NodeName=n[0001-{nodes:04}] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{first_port}-{last_port}] CPUs=1 \
  RealMemory=1000 State=UNKNOWN
PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP {oversubscribe}
'''


class Unavailable(Exception):
    """Why there is no Slurm to compare with here."""


class Failed(Exception):
    """Slurm was there and did not do what it should."""


def check_available():
    missing = [p for p in PROGRAMS if shutil.which(p, path=PATH) is None]
    if missing:
        raise Unavailable(f'{", ".join(missing)} not installed (Debian: slurmctld slurmd slurm-client munge)')
    if os.geteuid() != 0:
        raise Unavailable('slurmd needs root')


def version():
    return subprocess.run(['slurmctld', '-V'], env={'PATH': PATH}, capture_output=True, text=True, check=True).stdout.split()[-1]


def free_ports(count):
    """The first of `count` ports in a row that nobody listens on, below those that the kernel gives to connections."""
    draw = random.Random(os.getpid() ^ time.time_ns())
    for _ in range(100):
        first = draw.randrange(20000, 32000 - count)
        held = []
        try:
            for port in range(first, first + count):
                s = socket.socket()
                held.append(s)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                s.bind(('127.0.0.1', port))
            return first
        except OSError:
            continue
        finally:
            for s in held:
                s.close()
    raise Failed(f'no {count} free ports in a row between 20000 and 32000')


def ranges(numbers):
    """n0003 to n0007 as n[0003-0007]"""
    return f'n[{numbers[0] + 1:04}-{numbers[-1] + 1:04}]' if len(numbers) > 1 else f'n{numbers[0] + 1:04}'


def expand(text):
    """Indices of a Slurm node list such as n[0001-0003,0007] or n0001."""
    m = re.fullmatch(r'n(?:(\d+)|\[([\d,-]+)\])', text)
    if not m:
        raise Failed(f'not a node list: {text!r}')
    out = []
    for part in (m[1] or m[2]).split(','):
        low, _, high = part.partition('-')
        out.extend(range(int(low) - 1, int(high or low)))
    return out


def die_with_parent():
    os.setsid()
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def descendants():
    """Pids of all processes below this one: as subreaper it inherits what a daemon leaves behind."""
    children = {}
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open(f'/proc/{name}/stat', encoding='utf-8', errors='replace') as f:
                    parent = int(f.read().rpartition(')')[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(name))
    out, todo = [], [os.getpid()]
    while todo:
        below = children.get(todo.pop(), [])
        out.extend(below)
        todo.extend(below)
    return out


class Slurm:
    """with Slurm(...) as s: the daemons run until the end of the block, and nothing of them is left after it."""

    def __init__(self, stream, folder, select, say):
        self.stream, self.dir, self.select, self.say = stream, folder, select, say
        self.env = {'PATH': PATH, 'SLURM_CONF': f'{folder}/slurm.conf', 'TZ': 'UTC', 'LC_ALL': 'C', 'HOME': folder}
        self.daemons = []

    def __enter__(self):
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1)
        try:
            self.configure()
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def configure(self):
        d, nodes = self.dir, self.stream.nodes
        os.chmod(d, 0o755)
        for name in ('state', 'spool', 'log', 'run', 'munge', 'out'):
            os.makedirs(f'{d}/{name}')
        for n in range(nodes):
            os.makedirs(f'{d}/spool/n{n + 1:04}')
        open(f'{d}/jobcomp', 'w', encoding='utf-8').close()
        first = free_ports(nodes + 1)
        linear = self.select == 'linear'
        with open(f'{d}/slurm.conf', 'w', encoding='utf-8') as f:
            f.write(CONFIG.format(dir=d, port=first, first_port=first + 1, last_port=first + nodes, nodes=nodes,
                                  select=self.select, select_parameters='' if linear else 'SelectTypeParameters=CR_CPU',
                                  oversubscribe='' if linear else 'OverSubscribe=EXCLUSIVE', scheduler=','.join(SCHEDULER)))
        with open(f'{d}/topology.conf', 'w', encoding='utf-8') as f:
            node = 0
            for leaf, size in enumerate(self.stream.leaves, 1):
                f.write(f'SwitchName=leaf{leaf:03} Nodes={ranges(range(node, node + size))}\n')
                node += size
            f.write(f'SwitchName=spine Switches=leaf[001-{len(self.stream.leaves):03}]\n')
        with open(f'{d}/cgroup.conf', 'w', encoding='utf-8') as f:
            f.write('CgroupAutomount=no\n')
        with open(f'{d}/munge/key', 'wb') as f:
            f.write(os.urandom(1024))
        os.chmod(f'{d}/munge/key', 0o600)

    def daemon(self, *args):
        with open(f'{self.dir}/out/{len(self.daemons)}', 'wb') as out:
            p = subprocess.Popen(args, env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=self.dir,
                                 preexec_fn=die_with_parent)
        self.daemons.append(p)
        return p

    def ask(self, *args, timeout=60):
        try:
            return subprocess.run(args, env=self.env, capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(args, 124, '', 'timed out')

    def await_(self, what, seconds, done):
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                raise Failed(f'{what}: not within {seconds} s\n{self.log_tail()}')
            dead = [p for p in self.daemons if p.poll() is not None]
            if dead:
                raise Failed(f'{what}: {" ".join(dead[0].args[:5])} ended with {dead[0].returncode}\n{self.log_tail()}')
            time.sleep(0.5)

    def log_tail(self):
        out = []
        for name in ['log/slurmctld.log', 'log/slurmd.log'] + [f'out/{i}' for i in range(min(3, len(self.daemons)))]:
            try:
                with open(f'{self.dir}/{name}', encoding='utf-8', errors='replace') as f:
                    out += [f'{name}: {line.rstrip()}' for line in f.readlines()[-8:]]
            except OSError:
                pass
        return '\n'.join(out)

    def start(self):
        d, began = self.dir, time.monotonic()
        self.say(f'daemons in {d}')
        self.daemon('munged', '--foreground', '--force', f'--key-file={d}/munge/key', f'--socket={d}/munge/socket',
                    f'--pid-file={d}/munge/pid', f'--log-file={d}/munge/log', f'--seed-file={d}/munge/seed', '--num-threads=4')
        self.await_('munged', 30, lambda: os.path.exists(f'{d}/munge/socket'))
        self.daemon('slurmctld', '-D', '-c', '-f', f'{d}/slurm.conf')
        self.await_('slurmctld', 60, lambda: 'UP' in self.ask('scontrol', 'ping').stdout)
        for n in range(self.stream.nodes):
            self.daemon('slurmd', '-D', '-f', f'{d}/slurm.conf', '-N', f'n{n + 1:04}')
        count = self.stream.nodes
        idle = ('sinfo', '-h', '-N', '-t', 'idle', '-o', '%N')
        self.await_('nodes idle', 300, lambda: len(self.ask(*idle).stdout.split()) == count)
        self.say(f'Slurm {version()}: {count} nodes idle after {time.monotonic() - began:.1f} s')

    def stop(self):
        """Ends only what this process started or inherited from it, by pid. A second Ctrl-C does not leave half of it running."""
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        if len(self.daemons) > 1 and self.daemons[1].poll() is None:
            self.ask('scancel', '--user=root', timeout=10)
        for p in reversed(self.daemons):
            if p.poll() is None:
                p.terminate()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and any(p.poll() is None for p in self.daemons):
            time.sleep(0.1)
        for _ in range(50):
            left = descendants()
            if not left:
                break
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            for p in self.daemons:
                p.poll()
            self.reap()
            time.sleep(0.1)
        self.daemons = []
        signal.signal(signal.SIGINT, before)

    def reap(self):
        """Orphans of the daemons that became this process's own; its Popen children keep their own account."""
        known = {p.pid for p in self.daemons}
        for pid in descendants():
            if pid not in known:
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    pass

    # The stream

    def submit(self, i, switches):
        job = self.stream.jobs[i]
        # Root's environment is not sent along: each job would carry kilobytes of it.
        args = ['sbatch', '--parsable', '--export=NONE', f'--job-name=j{i}', f'--nodes={job.nodes}', f'--time={job.limit_min}',
                '--output=/dev/null', '--chdir=/']
        if switches is not None:
            args.append(f'--switches={self.stream.least_leaves()[job.nodes]}@{switches // 60:02}:{switches % 60:02}')
        with open(f'{self.dir}/out/script', 'w', encoding='utf-8') as f:
            f.write(f'#!/bin/sh\nexec sleep {job.run_s}\n')
        with open(f'{self.dir}/out/script', encoding='utf-8') as f:
            os.unlink(f.name)
            return subprocess.Popen(args, env=self.env, stdin=f, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def feed(self, switches):
        """Submits each job at its time. Returns how late the latest was."""
        under_way, late, began = [], 0.0, time.monotonic()
        for i, job in enumerate(self.stream.jobs):
            while len(under_way) >= SUBMITS_AT_ONCE or time.monotonic() < began + job.at:
                for p in [p for p in under_way if p.poll() is not None]:
                    under_way.remove(p)
                    if p.returncode != 0:
                        raise Failed(f'sbatch: exit {p.returncode}: {p.stderr.read()}\n{self.log_tail()}')
                    p.stderr.close()
                time.sleep(max(0.001, min(0.05, began + job.at - time.monotonic())))
            late = max(late, time.monotonic() - began - job.at)
            under_way.append(self.submit(i, switches))
            if i % 20 == 0:
                self.reap()
            if i % 200 == 0:
                self.say(f'Slurm: {i} of {len(self.stream.jobs)} jobs submitted, {self.completed()} over')
        for p in under_way:
            if p.wait(timeout=60) != 0:
                raise Failed(f'sbatch: exit {p.returncode}: {p.stderr.read()}')
            p.stderr.close()
        return late

    def completed(self):
        with open(f'{self.dir}/jobcomp', encoding='utf-8') as f:
            return sum(1 for _ in f)

    def run(self, switches=None):
        """Returns (ran by number of the job, what tells whether Slurm had the CPU it needs)."""
        bound = 3 * self.stream.work / self.stream.nodes + 300
        began, loads = time.monotonic(), []
        late = self.feed(switches)

        def over():
            loads.append(os.getloadavg()[1])
            return self.completed() >= len(self.stream.jobs)
        self.await_('all jobs over', bound, over)
        seconds = time.monotonic() - began
        with open(f'/proc/{self.daemons[1].pid}/stat', encoding='utf-8') as f:
            ticks = f.read().rpartition(')')[2].split()[11:13]
        diag = self.ask('sdiag').stdout.partition('Backfilling stats')[2]
        cycles, mean = (re.search(rf'{what}:\s+(\d+)', diag) for what in ('Total cycles', 'Mean cycle'))
        return self.read(), {'seconds': round(seconds, 1), 'submit_late_max_s': round(late, 2),
                             'slurmctld_cpu_s': sum(map(int, ticks)) / os.sysconf('SC_CLK_TCK'),
                             'backfill_cycles_per_s': round(int(cycles[1]) / seconds, 3) if cycles else 0,
                             'backfill_cycle_mean_ms': int(mean[1]) / 1000 if mean else 0,
                             'load_average': round(sum(loads) / len(loads), 1), 'cores': os.cpu_count()}

    def read(self):
        """Slurm's own record of each job; times in whole seconds."""
        ran = {}
        with open(f'{self.dir}/jobcomp', encoding='utf-8') as f:
            for line in f:
                field = dict(word.split('=', 1) for word in line.split() if '=' in word)
                if field['JobState'] != 'COMPLETED':
                    print(f'vs_slurm: Slurm says {line.strip()}', file=sys.stderr)
                    continue
                at = [time.mktime(time.strptime(field[k], '%Y-%m-%dT%H:%M:%S')) for k in ('SubmitTime', 'StartTime', 'EndTime')]
                ran[int(field['Name'][1:])] = Ran(*at, expand(field['NodeList']))
        first = min(r.submit for r in ran.values())
        return {i: Ran(r.submit - first, r.start - first, r.end - first, r.nodes) for i, r in ran.items()}
