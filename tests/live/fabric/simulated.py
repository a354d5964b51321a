"""A simulated InfiniBand fabric: ibsim and OpenSM of Debian, unpacked and not installed."""
import csv
import glob
import io
import os
import re
import shutil
import subprocess
import time

from ground import DIR, MUSTER, children

CACHE = os.path.join(os.environ.get('XDG_CACHE_HOME', os.path.expanduser('~/.cache')), 'muster-fabric')
PACKAGES = ['opensm', 'ibsim-utils']
ONLY_DEPENDS = [f'--no-{kind}' for kind in ('recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances')]


def needed(packages):
    """The packages, and the libraries that they need and that are not here."""
    def lines(*command):
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    wanted = {name for name in lines('apt-cache', 'depends', '--recurse', *ONLY_DEPENDS, *packages) if name.startswith('lib')}
    states = lines('dpkg-query', '-W', '-f', '${db:Status-Abbrev} ${Package}\n')
    return packages + sorted(wanted - {line.split()[1] for line in states if line.startswith('ii ')})


def unpacked(packages=PACKAGES, name='unpacked'):
    """The folder with the packages' programs. A folder that is there is whole: it gets its name last."""
    root = os.path.join(CACHE, name)
    if os.path.exists(root):
        return root
    part = os.path.join(CACHE, f'part.{os.getpid()}')
    os.makedirs(os.path.join(part, 'root'))
    subprocess.run(['apt-get', 'download', '-qq', *needed(packages)], cwd=part, check=True, capture_output=True, timeout=300)
    for package in glob.glob(os.path.join(part, '*.deb')):
        subprocess.run(['dpkg', '-x', package, os.path.join(part, 'root')], check=True)
        os.unlink(package)
    try:
        os.rename(os.path.join(part, 'root'), root)
    except OSError:
        if not os.path.exists(root):
            raise
    shutil.rmtree(part)  # with all that was unpacked, where another test was sooner
    return root


def room_for(net):
    """What ibsim must be told of the size of a net file: it has room for 2,048 nodes and 256 switches unless it is."""
    cards = switches = ports = 0
    with open(net) as f:
        for line in f:
            if line.startswith('Switch'):
                switches += 1
                ports += int(line.split()[1]) + 1
            elif line.startswith('Ca'):
                cards += 1
                ports += int(line.split()[1]) + 1
    return ['-N', str(cards + switches + 8), '-S', str(switches + 8), '-P', str(ports + 64)]


class Simulation:
    """ibsim on a net file, in a folder of its own, and the tools that ask it. Each has a name of its own, so several may run.
    OpenSM remembers neighbours between runs: it has a cache in the folder, or the last fabric's would be missed."""
    def __init__(self, folder, net, diags=False):
        self.folder = folder
        self.roots = [unpacked()] + ([unpacked(['infiniband-diags'], 'diags')] if diags else [])
        libs = [p for r in self.roots for d in ('usr/lib', 'lib') for p in glob.glob(f'{r}/{d}/*-linux-gnu')]
        self.env = dict(os.environ, LD_LIBRARY_PATH=':'.join(libs), OSM_CACHE_DIR=folder, OSM_TMP_DIR=folder,
                        IBSIM_SOCKNAME=f'muster-{os.getpid()}-{os.path.basename(folder)}')
        self.preload = glob.glob(f'{self.roots[0]}/usr/lib/*-linux-gnu/umad2sim/libumad2sim.so')[0]
        log = os.path.join(folder, 'ibsim.log')
        self.sim = subprocess.Popen([f'{self.roots[0]}/usr/bin/ibsim', '-s', *room_for(net), net], cwd=folder, env=self.env,
                                    stdin=subprocess.PIPE, stdout=open(log, 'wb'), stderr=subprocess.STDOUT)
        children.append(self.sim)
        end = time.monotonic() + 30
        while b'simulator ready' not in open(log, 'rb').read() and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(0.2)

    def say(self, line):
        """To its console."""
        self.sim.stdin.write((line + '\n').encode())
        self.sim.stdin.flush()
        time.sleep(0.2)

    def words(self, program, *args):
        return [next(p for r in self.roots for p in [f'{r}/usr/sbin/{program}'] if os.path.exists(p)), *args]

    def asking(self, host=None):
        """The environment of a program that asks from this host."""
        return dict(self.env, LD_PRELOAD=self.preload, **({'SIM_HOST': host} if host else {}))

    def ask(self, host, file, program, *args):
        """What it printed, in a file."""
        path = os.path.join(self.folder, file)
        with open(path, 'wb') as f:
            subprocess.run(self.words(program, *args), cwd=self.folder, stdout=f, stderr=subprocess.DEVNULL, timeout=300,
                           env=self.asking(host))
        return path

    def managed(self, host):
        """A subnet manager that goes on: ibqueryerrors asks one which way it should ask."""
        log = os.path.join(self.folder, 'managed.log')
        run = subprocess.Popen(self.words('opensm', '-R', 'minhop', '-f', log), cwd=self.folder, env=self.asking(host),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        children.append(run)
        end = time.monotonic() + 60
        while time.monotonic() < end and not (os.path.exists(log) and b'SUBNET UP' in open(log, 'rb').read()):
            time.sleep(0.05)
        return run

    def end(self):
        self.sim.stdin.write(b'quit\n')
        self.sim.stdin.close()
        self.sim.wait(20)
        children.remove(self.sim)


def routed(name, net, engine=None, cut=None, roots=None, config=None):
    """Boots `net`, takes away the cable at `cut`, has it routed once, by `engine` or as a configuration file says; the folder
    with OpenSM's dumps."""
    out = os.path.join(DIR, name)
    os.makedirs(out)
    sim = Simulation(out, net)
    if cut:
        sim.say(f'Unlink {cut}')
    how = ['-F', config] if config else ['-R', engine]
    if roots:
        with open(os.path.join(out, 'roots'), 'w') as f:
            f.write('\n'.join(roots) + '\n')
        how += ['-a', 'roots']
    sim.ask(None, 'opensm.out', 'opensm', '-o', *how, '-f', 'log', '--dump_files_dir', '.', '-D', '0x43')
    sim.end()
    return out


def shift(net, folder, every=1):
    """The share of the line rate that shifts get over the tables of a routed fabric, and what was said about it."""
    routes = os.path.join(folder, 'opensm-lfts.dump')
    run = subprocess.run([MUSTER, 'predict', 'fabric', '--net', net, '--routes', routes, '--pairs', '10', '--every', str(every),
                          '-o', 'csv'], capture_output=True, text=True)
    if run.returncode != 0:
        return None, run.stderr.strip()
    row = next(csv.DictReader(io.StringIO(run.stdout)))
    return float(row['share_mean']), run.stderr.strip()


def first_uplink(net):
    """Switch and port of the first cable between two switches."""
    here = None
    for line in open(net):
        if line.startswith('Switch'):
            here = line.split('"')[1]
        port = re.match(r'\[(\d+)\]\s+"S-', line)
        if here and port:
            return here, port[1]


def without(net, cut, path):
    """The net file as ibnetdiscover would print it after the cut."""
    switch, port = cut
    lines, here, far = [], None, None
    text = open(net).read().splitlines(True)
    for line in text:
        if line.startswith('Switch'):
            here = line.split('"')[1]
        if here == switch and line.startswith(f'[{port}]'):
            far = re.search(r'"(S-[0-9a-f]+)"\[(\d+)\]', line)
    here = None
    for line in text:
        if line.startswith('Switch') or line.startswith('Ca'):
            here = line.split('"')[1]
        gone = [(switch, port), (far[1], far[2])]
        if not any(here == s and line.startswith(f'[{p}]') for s, p in gone):
            lines.append(line)
    with open(path, 'w') as f:
        f.write(''.join(lines))
    return path
