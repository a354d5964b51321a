"""A simulated InfiniBand fabric: ibsim and OpenSM of Debian, unpacked and not installed."""
import glob
import os
import subprocess
import time

from ground import DIR, children

CACHE = os.path.join(os.environ.get('XDG_CACHE_HOME', os.path.expanduser('~/.cache')), 'muster-fabric')
PACKAGES = ['opensm', 'ibsim-utils']
ONLY_DEPENDS = [f'--no-{kind}' for kind in ('recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances')]


def needed():
    """Both packages, and the libraries that they need and that are not here."""
    def lines(*command):
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    wanted = {name for name in lines('apt-cache', 'depends', '--recurse', *ONLY_DEPENDS, *PACKAGES) if name.startswith('lib')}
    states = lines('dpkg-query', '-W', '-f', '${db:Status-Abbrev} ${Package}\n')
    return PACKAGES + sorted(wanted - {line.split()[1] for line in states if line.startswith('ii ')})


def unpacked():
    """The folder with both programs. A folder that is there is whole: it gets its name last."""
    root = os.path.join(CACHE, 'unpacked')
    if os.path.exists(root):
        return root
    part = os.path.join(CACHE, f'part.{os.getpid()}')
    os.makedirs(os.path.join(part, 'root'))
    subprocess.run(['apt-get', 'download', '-qq', *needed()], cwd=part, check=True, capture_output=True, timeout=300)
    for package in glob.glob(os.path.join(part, '*.deb')):
        subprocess.run(['dpkg', '-x', package, os.path.join(part, 'root')], check=True)
        os.unlink(package)
    os.rename(os.path.join(part, 'root'), root)
    os.rmdir(part)
    return root


def routed(name, net, engine, cut=None, roots=None):
    """Boots `net`, takes away the cable at `cut`, has it routed once; the folder with OpenSM's dumps."""
    root = unpacked()
    out = os.path.join(DIR, name)
    os.makedirs(out)
    libs = glob.glob(os.path.join(root, 'usr/lib/*-linux-gnu'))[0]
    env = dict(os.environ, LD_LIBRARY_PATH=':'.join([libs, *glob.glob(os.path.join(root, 'lib/*-linux-gnu'))]))
    limits = ['-N', '3000', '-S', '1000', '-P', '40000']
    sim = subprocess.Popen([os.path.join(root, 'usr/bin/ibsim'), '-s', *limits, net], cwd=out, env=env,
                           stdin=subprocess.PIPE, stdout=open(os.path.join(out, 'ibsim.log'), 'wb'), stderr=subprocess.STDOUT)
    children.append(sim)
    end = time.monotonic() + 30
    while b'simulator ready' not in open(os.path.join(out, 'ibsim.log'), 'rb').read() and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.3)
    if cut:
        sim.stdin.write(f'Unlink {cut}\n'.encode())
        sim.stdin.flush()
        time.sleep(0.5)
    more = []
    if roots:
        with open(os.path.join(out, 'roots'), 'w') as f:
            f.write('\n'.join(roots) + '\n')
        more = ['-a', 'roots']
    opensm = [os.path.join(root, 'usr/sbin/opensm'), '-o', '-R', engine, '-f', 'log', '--dump_files_dir', '.', '-D', '0x43']
    subprocess.run(opensm + more, cwd=out, env=dict(env, LD_PRELOAD=os.path.join(libs, 'umad2sim/libumad2sim.so')), timeout=120,
                   stdout=open(os.path.join(out, 'opensm.out'), 'wb'), stderr=subprocess.STDOUT, check=False)
    sim.stdin.write(b'quit\n')
    sim.stdin.close()
    sim.wait(20)
    return out
