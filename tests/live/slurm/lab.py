"""A Slurm cluster on this machine for tests and for newcomers: munged, slurmctld, slurmrestd and one slurmd for each node, which
has fake GPUs of its own, in one folder, on the loopback interface only. `lab` is the same on the command line."""
import json
import os
import pwd
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import lab_config
import lab_root
from lab_config import node_name

HERE = os.path.dirname(os.path.abspath(__file__))
EMIT = lab_config.EMIT
PATH = os.environ.get('PATH', '') + ':/usr/sbin:/sbin'
PACKAGES = {'munged': 'munge', 'slurmctld': 'slurmctld', 'slurmd': 'slurmd', 'slurmrestd': 'slurmrestd', 'sbatch': 'slurm-client',
            'scontrol': 'slurm-client', 'sinfo': 'slurm-client', 'squeue': 'slurm-client', 'scancel': 'slurm-client'}
PACKAGES_DBD = {'slurmdbd': 'slurmdbd', 'sacctmgr': 'slurm-client',
                'mariadbd': 'mariadb-server-core', 'mariadb-install-db': 'mariadb-server-core',
                'my_print_defaults': 'mariadb-client-core'}
PLUGINS = {'auth_jwt.so': 'slurm-wlm-jwt-plugin', 'job_submit_lua.so': 'slurm-wlm-basic-plugins'}
PLUGINS_DBD = {'accounting_storage_mysql.so': 'slurm-wlm-mysql-plugin'}
AT_ONCE = 2 * (os.cpu_count() or 2)


class Unavailable(Exception):
    """Why there can be no lab here, and what to install."""


class Failed(Exception):
    """The programs are there and something did not come about in its time."""


def check_available(dbd=False, root=''):
    if root:
        if os.geteuid() != 0:
            raise Unavailable('slurmd, chroot and the making of device files need root')
        if lab_root.version_of(root) is None:
            raise Unavailable(f'{root} has no Slurm: tests/live/slurm/versions makes such folders')
        there = {p for d in ('bin', 'sbin') for p in os.listdir(f'{root}/usr/{d}')}
        missing = sorted(set(PACKAGES_DBD) - there) if dbd else []
        if missing:
            raise Unavailable(f'{", ".join(missing)} not installed in {root}')
        return
    wanted = {**PACKAGES, **(PACKAGES_DBD if dbd else {})}
    missing = {p: package for p, package in wanted.items() if shutil.which(p, path=PATH) is None}
    folders = [os.path.join(f, 'slurm-wlm') for top in ('/usr/lib', '/usr/lib64') if os.path.isdir(top)
               for f in (top, *(os.path.join(top, d) for d in os.listdir(top) if '-linux-' in d))]
    for plugin, package in {**PLUGINS, **(PLUGINS_DBD if dbd else {})}.items():
        if not any(os.path.exists(os.path.join(f, plugin)) for f in folders):
            missing[plugin] = package
    if missing:
        raise Unavailable(f'{", ".join(missing)} not installed: apt-get install {" ".join(sorted(set(missing.values())))}')
    if os.geteuid() != 0:
        raise Unavailable('slurmd and the making of device files need root')


def until(what, seconds, step=0.05):
    """The first true answer of what(), or None when the time is over."""
    end = time.monotonic() + seconds
    while True:
        answer = what()
        if answer or time.monotonic() >= end:
            return answer or None
        time.sleep(step)


def free_ports(count):
    """The first of `count` ports in a row that nobody has, below those that the kernel gives to connections."""
    draw = random.Random()
    for _ in range(200):
        first = draw.randrange(12000, 32000 - count)
        held = []
        try:
            for port in range(first, first + count):
                s = socket.socket()
                held.append(s)
                s.bind(('0.0.0.0', port))
            return first
        except OSError:
            continue
        finally:
            for s in held:
                s.close()
    raise Failed(f'no {count} free ports in a row between 12000 and 32000')


def read(path, default=''):
    try:
        with open(path, encoding='utf-8', errors='replace') as f:
            return f.read()
    except OSError:
        return default


class Lab:
    def __init__(self, folder):
        """A lab that is there already; Lab.start makes one."""
        self.dir = os.path.abspath(folder)
        try:
            self.about = json.loads(read(f'{self.dir}/lab.json'))
        except ValueError:
            raise Failed(f'{self.dir} is no lab: it has no lab.json (lab up --dir {self.dir} makes one)') from None
        self.nodes = self.about['nodes']
        self.conf = f'{self.dir}/etc/slurm.conf'

    @classmethod
    def start(cls, nodes=16, folder=None, leaf=16, gpus=8, user='nobody', place=(), dbd=False, tether=True,
              root='', say=lambda text: None):
        """Ready when it returns: every node idle. `place` names the partitions whose jobs pass the gate of muster.lua. With
        `tether` the lab ends with the process that started it, however that ends. `root` is a folder with another Slurm
        (lab_root.py), of which all daemons and tools are taken."""
        root = root or os.environ.get('MUSTER_SLURM_ROOT', '')
        check_available(dbd, root)
        if not 1 <= nodes <= 9999 or leaf < 1 or gpus < 1:
            raise Failed('a lab has 1 to 9999 nodes, at least one node a leaf and at least one GPU a node')
        folder = os.path.abspath(folder or tempfile.mkdtemp(prefix='slurm-lab-'))
        if os.path.exists(f'{folder}/lab.json'):
            raise Failed(f'{folder} has a lab already: lab down {folder} ends it')
        if len(folder) > 70 or any(c in folder for c in ' "\'%,[]#\\'):
            raise Failed(f'{folder}: the folder of a lab has at most 70 bytes and no blanks, commas, brackets, % or quotes')
        first = free_ports(nodes + 3)
        about = {'dir': folder, 'nodes': [node_name(i) for i in range(1, nodes + 1)], 'gpus': gpus, 'leaf': leaf, 'user': user,
                 'place': list(place), 'conf': f'{folder}/etc/slurm.conf', 'env': f'{folder}/env',
                 'slurmctld_port': first, 'rest_port': first + 1, 'rest_url': f'http://127.0.0.1:{first + 1}',
                 'rest_socket': f'{folder}/rest/socket', 'token_file': f'{folder}/token',
                 'munge_socket': f'{folder}/run/munge.socket',
                 'dbd_port': first + 2 if dbd else 0, 'first_node_port': first + 3, 'heartbeat': f'{folder}/run/heartbeat',
                 'root': os.path.abspath(root) if root else '', 'slurm': lab_root.version_of(root),
                 'pid_files': f'{folder}/run/*.pid', 'reboot_s': 1.0}
        os.makedirs(folder, exist_ok=True)
        lab_config.write(f'{folder}/lab.json', json.dumps(about, indent=1) + '\n')
        lab = cls(folder)
        try:
            make_folders(folder, nodes, gpus, user)
            if tether:
                lab.launch('tether', sys.executable, '-B', f'{HERE}/lab', 'tether', folder, str(os.getpid()))
            lab.bring_up(say)
        except Failed:  # the folder stays: it has the logs
            lab.stop_all()
            raise
        except BaseException:
            lab.down()
            raise
        return lab

    def bring_up(self, say):
        began = time.monotonic()
        for name in ('muster.lua', 'muster-release.sh', 'muster-hook.sh'):
            shutil.copy(f'{EMIT}/{name}', f'{self.dir}/etc/{name}')
        if self.about['root']:
            lab_root.write_tools(self.dir, self.about['root'])
        lab_config.write_all(self.about, f'{HERE}/lab', sys.executable)
        self.start_munged()
        if self.about['dbd_port']:
            self.start_dbd()
        self.start_slurmctld()
        say(f'slurmctld answers after {time.monotonic() - began:.1f} s')
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self.start_slurmd, self.nodes))
        self.start_slurmrestd()
        if self.about['place']:
            self.start_release()
        if not self.wait_idle(30 + 0.2 * len(self.nodes)):
            raise Failed(f'not every node became idle: {self.states()}; logs in {self.dir}/log and {self.dir}/nodes')
        say(f'{len(self.nodes)} nodes idle after {time.monotonic() - began:.1f} s')

    # Where things are

    def node_dir(self, name):
        if name not in self.nodes:
            raise Failed(f'no node {name}: this lab has {self.nodes[0]} to {self.nodes[-1]}')
        return f'{self.dir}/nodes/{name}'

    def pid(self, what, node=None):
        """Of a daemon that runs, or 0. A pid file that outlived its process, and a number that has gone to another, are seen."""
        name = f'{what}.{node}' if node else what
        text = read(f'{self.dir}/run/{name}.pid').strip()
        return int(text) if text.isdigit() and self.is_ours(int(text)) else 0

    def is_ours(self, pid):
        stat = read(f'/proc/{pid}/stat')
        if not stat or stat.rsplit(')', 1)[1].split()[0] in 'ZX':
            return False
        # slurmdbd is told of its files by the environment alone.
        named = read(f'/proc/{pid}/environ' if '(slurmdbd)' in stat else f'/proc/{pid}/cmdline')
        return self.dir + '/' in named

    def daemons(self):
        """{'slurmctld': pid, 'slurmd.gpu0001': pid, ...} of all that run."""
        files = sorted(os.listdir(f'{self.dir}/run')) if os.path.isdir(f'{self.dir}/run') else []
        names = [f[:-4] for f in files if f.endswith('.pid')]
        return {name: pid for name in names if (pid := self.pid(name)) and pid != os.getpid()}

    # Commands

    def environment(self, user=None):
        path = f'{self.dir}/bin:{PATH}' if self.about['root'] else PATH
        env = {'PATH': path, 'SLURM_CONF': self.conf, 'LANG': 'C.UTF-8', 'TZ': os.environ.get('TZ', 'UTC'),
               'HOME': f'{self.dir}/home'}
        return {**env, 'USER': user} if user else env

    def run(self, *command, user=None, timeout=60, env=None, **more):
        """A Slurm command, as root or as another user; what it printed and its exit status."""
        env = {**self.environment(user), **(env or {})}
        if user and user != 'root':
            self.become(user, env, more)
        return subprocess.run([str(c) for c in command], env=env, cwd=f'{self.dir}/home', stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=timeout, **more)

    def become(self, user, env, more):
        """What makes a process of another user: the tools of a root need rights to get there, and drop them themselves."""
        who = pwd.getpwnam(user)
        if self.about['root']:
            env['MUSTER_LAB_AS'] = f'{who.pw_uid}:{who.pw_gid}'
        else:
            more |= {'user': who.pw_uid, 'group': who.pw_gid, 'extra_groups': []}

    def out(self, *command, **more):
        """What a command printed; that it failed is an error."""
        done = self.run(*command, **more)
        if done.returncode:
            raise Failed(f'{" ".join(map(str, command))}: exit {done.returncode}: {(done.stderr or done.stdout).strip()}')
        return done.stdout

    def sbatch(self, *options, script='sleep 600', user=None, **more):
        """The number of a batch job of the lab's ordinary user, or of another; `script` is what its shell runs."""
        text = self.out('sbatch', '--parsable', '--output=/dev/null', *options, '--wrap', script, user=user or self.about['user'],
                        **more)
        return int(text.strip().split(';')[0])

    def job(self, number):
        """Fields of `scontrol show job` as a dict; empty once Slurm forgot the job."""
        done = self.run('scontrol', '-o', 'show', 'job', number)
        return fields(done.stdout) if done.returncode == 0 else {}

    def node(self, name):
        return fields(self.out('scontrol', '-o', 'show', 'node', name))

    def states(self):
        """{'idle': 14, 'down*': 2}"""
        counted = {}
        for line in self.run('sinfo', '-h', '-N', '-p', 'batch', '-o', '%T').stdout.split():
            counted[line] = counted.get(line, 0) + 1
        return counted

    def wait_idle(self, seconds):
        return until(lambda: self.states() == {'idle': len(self.nodes)}, seconds, 0.1)

    def saved(self, seconds=30):
        """Waits until slurmctld has written what it knows of jobs. It does so some seconds after a change, and answers sbatch
        before: with kill -9 in between a job is lost, or forgotten to run. True if it was written in time."""
        path = f'{self.dir}/state/job_state'
        stamp = read_stat(path)
        numbers = self.out('squeue', '-h', '-a', '-t', 'PD,R', '-o', '%A').split()
        if numbers:
            self.out('scontrol', 'update', f'JobId={numbers[-1]}', f'Comment=saved-{time.time_ns()}')
        return bool(not numbers or until(lambda: read_stat(path) != stamp, seconds))

    def heartbeat(self, at=None):
        """As Muster writes it: the second, whole or not at all."""
        lab_config.write(self.about['heartbeat'], f'{int(time.time() if at is None else at)}\n')

    # Daemons

    def launch(self, name, *command, env=None, user=None, log=None):
        """A program that does not detach itself; its pid file is ours to write."""
        more, env = {}, {**self.environment(), **(env or {})}
        if user:
            self.become(user, env, more)
        with open(log or f'{self.dir}/log/{name}.log', 'ab') as out:
            child = subprocess.Popen(command, env=env, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                     start_new_session=True, **more)
        lab_config.write(f'{self.dir}/run/{name}.pid', f'{child.pid}\n')
        return child

    def detached(self, name, *command, env=None):
        """A program that detaches itself and writes its pid file."""
        try:
            done = subprocess.run(command, env={**self.environment(), **(env or {})}, cwd=self.dir,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  timeout=60)
        except subprocess.TimeoutExpired:
            raise Failed(f'{name} did not detach within 60 s') from None
        if done.returncode or not until(lambda: self.pid(name), 20):
            kind, _, node = name.partition('.')
            log = read(f'{self.dir}/nodes/{node}/slurmd.log' if node else f'{self.dir}/log/{kind}.log').strip().splitlines()
            raise Failed(f'{name} did not start: {done.stderr.strip()} {"; ".join(log[-3:])}')

    def start_munged(self):
        self.detached('munged', 'munged', '--force', f'--key-file={self.dir}/munge/key', f'--socket={self.about["munge_socket"]}',
                      f'--pid-file={self.dir}/run/munged.pid', f'--log-file={self.dir}/munge/log',
                      f'--seed-file={self.dir}/munge/seed', '--num-threads=4')

    def start_slurmctld(self):
        self.detached('slurmctld', 'slurmctld', '-f', self.conf)
        if not until(lambda: ' is UP' in self.run('scontrol', 'ping').stdout, 30):
            raise Failed(f'slurmctld does not answer: see {self.dir}/log/slurmctld.log')
        if not os.path.exists(f'{self.dir}/token'):
            token = self.out('scontrol', 'token', 'username=root', 'lifespan=31536000').partition('=')[2]
            lab_config.write(f'{self.dir}/token', token, 0o600)

    def start_slurmd(self, node, booted=False):
        conf = f'{self.node_dir(node)}/etc/slurm.conf'
        self.detached(f'slurmd.{node}', 'slurmd', '-f', conf, '-N', node, *(['-b'] if booted else []),
                      env={'MUSTER_LAB_NODE': node})

    def start_slurmrestd(self):
        """As a user of no rights: it refuses to be root or SlurmUser. One behind the unix socket, which needs no token, one
        behind the port, which does: in 22.05 a process that takes tokens (SLURM_JWT must be set then) fails over its socket."""
        if os.path.exists(self.about['rest_socket']):
            os.unlink(self.about['rest_socket'])
        api = 'openapi/v0.0.38' if self.about['slurm'] == '22.05' else 'slurmctld'
        common = ('slurmrestd', '-f', self.conf, '-s', api, '-a')
        self.launch('slurmrestd.unix', *common, 'rest_auth/local', f'unix:{self.about["rest_socket"]}', user='nobody')
        self.launch('slurmrestd.tcp', *common, 'rest_auth/jwt', f'127.0.0.1:{self.about["rest_port"]}', user='nobody',
                    env={'SLURM_JWT': 'daemon'})
        with_port, with_path = ('127.0.0.1', self.about['rest_port']), self.about['rest_socket']
        if not until(lambda: accepts(socket.AF_INET, with_port) and accepts(socket.AF_UNIX, with_path), 20):
            raise Failed(f'slurmrestd does not answer: see {self.dir}/log/slurmrestd.*.log')

    def start_dbd(self):
        """MariaDB behind a socket of its own, slurmdbd before it, and the cluster and the lab's user known to it."""
        d = self.dir
        self.out('mariadb-install-db', '--no-defaults', f'--datadir={d}/sql', '--user=root', '--skip-test-db',
                 '--auth-root-authentication-method=normal', timeout=120)
        self.launch('mariadbd', 'mariadbd', '--no-defaults', f'--datadir={d}/sql', f'--socket={d}/run/sql.socket', '--user=root',
                    '--skip-networking', '--innodb-lock-wait-timeout=900')
        if not until(lambda: accepts(socket.AF_UNIX, f'{d}/run/sql.socket'), 60):
            raise Failed(f'mariadbd does not answer: see {d}/log/mariadbd.log')
        os.chown(f'{d}/etc/slurmdbd.conf', *slurm_ids())
        self.launch('slurmdbd', 'slurmdbd', '-D', env={'MYSQL_UNIX_PORT': f'{d}/run/sql.socket'})
        if not until(lambda: accepts(socket.AF_INET, ('127.0.0.1', self.about['dbd_port'])), 60):
            raise Failed(f'slurmdbd does not answer: see {d}/log/slurmdbd.log')
        for words in (('cluster', 'lab'), ('account', 'users'), ('user', self.about['user'], 'account=users')):
            self.out('sacctmgr', '-i', 'add', *words)

    def start_release(self):
        self.launch('release', '/bin/sh', f'{self.dir}/etc/muster-release.sh', '--loop', self.about['heartbeat'],
                    env={'MUSTER_LOOP_S': '5'})

    def kill(self, what, node=None, with_signal=signal.SIGKILL, wait_s=20):
        """kill -9 of slurmctld, slurmd (of a node), slurmrestd, munged, release, agent (of a node). Without it: an error."""
        parts = ('unix', 'tcp') if what == 'slurmrestd' and node is None else (node,)
        pids = [pid for part in parts if (pid := self.pid(what, part))]
        if not pids:
            raise Failed(f'{what}{" of " + node if node else ""} does not run')
        for pid in pids:
            os.kill(pid, with_signal)
        if not until(lambda: not any(map(self.is_ours, pids)), wait_s, 0.02):
            raise Failed(f'{what} (process {pids[0]}) did not end within {wait_s} s')

    def runs(self, what):
        return any(name == what or name.startswith(f'{what}.') for name in self.daemons())

    def restart(self, what, node=None, booted=False):
        """Starts it, after ending it if it runs. `booted` tells slurmctld that the node was rebooted (slurmd -b)."""
        if self.pid(what, node) if node else self.runs(what):
            self.kill(what, node, signal.SIGTERM)
        if what == 'slurmd':
            self.start_slurmd(node, booted)
        elif what == 'agent':
            import lab_agents
            lab_agents.start_agent(self, node)
        else:
            {'slurmctld': self.start_slurmctld, 'slurmrestd': self.start_slurmrestd, 'munged': self.start_munged,
             'release': self.start_release}[what]()

    def stop_all(self):
        """Ends what runs, munged last. slurmd and agents have nothing to save here, and a thousand slurmd take their time to say
        farewell to a slurmctld that is gone: they are killed. So is what does not end when told; its names are returned."""
        last = {'munged', 'mariadbd'}

        def end_first():
            for pid in self.step_processes():
                signal_quietly(pid, signal.SIGKILL)
            return not set(self.daemons()) - last and not self.step_processes()
        for name, pid in self.daemons().items():
            if name not in last:
                signal_quietly(pid, signal.SIGKILL if name.split('.')[0] in ('slurmd', 'agent') else signal.SIGTERM)
        until(end_first, 15, 0.1)
        killed = self.daemons()
        for name in last & set(killed):
            signal_quietly(killed.pop(name), signal.SIGTERM)
        for pid in killed.values():
            signal_quietly(pid, signal.SIGKILL)
        if not until(lambda: end_first() and not self.daemons(), 20, 0.1):
            raise Failed(f'still running: {self.daemons()} {self.step_processes()}')
        return sorted(killed)

    def down(self, keep=False):
        killed = self.stop_all()
        if self.about.get('root'):
            lab_root.forget(self.dir, self.about['root'])
        if not keep:
            shutil.rmtree(self.dir, ignore_errors=True)
        return killed

    def step_processes(self):
        """slurmstepd of this lab and all that came of them. slurmstepd rewrites its command line and its parent is init: what
        tells it is the log of its node, which it keeps open."""
        parents, found = {}, []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            stat = read(f'/proc/{pid}/stat')
            if not stat or ')' not in stat:
                continue
            name, rest = stat.split('(', 1)[1].rsplit(')', 1)
            parents.setdefault(int(rest.split()[1]), []).append(int(pid))
            if name.startswith('slurmstepd') and rest.split()[0] not in 'ZX' and self.holds_file(pid):
                found.append(int(pid))
        for pid in found:
            found += [p for p in parents.get(pid, []) if p not in found]
        return found

    def holds_file(self, pid):
        try:
            return any(f'{self.dir}/' in os.readlink(f'/proc/{pid}/fd/{fd}') for fd in os.listdir(f'/proc/{pid}/fd'))
        except OSError:
            return False

    def memory_mb(self):
        """Memory that is a lab's own (PSS), by daemon."""
        total = {}
        for name, pid in self.daemons().items():
            kind = name.split('.')[0]
            pss = [line.split()[1] for line in read(f'/proc/{pid}/smaps_rollup').splitlines() if line.startswith('Pss:')]
            total[kind] = total.get(kind, 0) + (int(pss[0]) / 1024 if pss else 0)
        return total


def accepts(family, address):
    with socket.socket(family) as s:
        try:
            return s.connect_ex(address) == 0
        except OSError:
            return False


def listening(pid):
    """[('127.0.0.1', port), ...] of the sockets that a process listens on."""
    try:
        ends = {os.readlink(f'/proc/{pid}/fd/{fd}') for fd in os.listdir(f'/proc/{pid}/fd')}
    except OSError:
        return []
    rows = [line.split() for version in ('', '6') for line in read(f'/proc/{pid}/net/tcp{version}').splitlines()[1:]]
    local = [row[1].split(':') for row in rows if row[3] == '0A' and f'socket:[{row[9]}]' in ends]
    return [('127.0.0.1' if address == '0100007F' else address, int(port, 16)) for address, port in local]


def fields(line):
    """{'JobId': '1', 'AdminComment': 'muster: gate', ...} of a line of `scontrol -o show`; values may have blanks."""
    return {m[1]: m[2].strip() for m in re.finditer(r'(\S+?)=(.*?)(?=\s[A-Za-z][\w:/]*=|$)', line.strip())}


def slurm_ids():
    try:
        who = pwd.getpwnam('slurm')
    except KeyError:
        raise Unavailable('no user slurm: apt-get install slurmctld makes it') from None
    return who.pw_uid, who.pw_gid


def read_stat(path):
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def signal_quietly(pid, what):
    try:
        os.kill(pid, what)
    except ProcessLookupError:
        pass


def make_folders(folder, nodes, gpus, user):
    try:
        who = pwd.getpwnam(user)
    except KeyError:
        raise Failed(f'no user {user} on this machine: give one with --user') from None
    uid, gid = slurm_ids()
    for name in ('', 'etc', 'run', 'log', 'state', 'munge', 'rest', 'home', 'nodes'):
        os.makedirs(f'{folder}/{name}', exist_ok=True)
    os.chmod(folder, 0o755)
    for name in ('state', 'run', 'log'):
        os.chown(f'{folder}/{name}', uid, gid)
    os.chown(f'{folder}/home', who.pw_uid, who.pw_gid)
    os.chown(f'{folder}/rest', *pwd.getpwnam('nobody')[2:4])
    os.chmod(f'{folder}/munge', 0o700)
    for path, owner in ((f'{folder}/munge/key', (0, 0)), (f'{folder}/etc/jwt_hs256.key', (uid, gid))):
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 'wb') as f:
            f.write(os.urandom(128))
        os.chown(path, *owner)
    for i in range(1, nodes + 1):
        home = f'{folder}/nodes/{node_name(i)}'
        for name in ('spool', 'dev', 'lost', 'agent'):
            os.makedirs(f'{home}/{name}', exist_ok=True)
        open(f'{home}/kmsg', 'a').close()
        for k in range(gpus):
            make_device(f'{home}/dev/gpu{k}')


def make_device(path):
    """A character device that is /dev/null by another name: what slurmd asks for is that a device file is there."""
    if os.path.exists(path):
        return
    try:
        os.mknod(path, 0o666 | 0o020000, os.makedev(1, 3))
    except PermissionError:
        raise Unavailable(f'{path}: making device files is forbidden here (a container without CAP_MKNOD)') from None
    os.chmod(path, 0o666)
