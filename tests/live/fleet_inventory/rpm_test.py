"""rpm_test.py MUSTER: packages built by rpmbuild, installed into databases by rpm, and what the probe says of them."""
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from ground import DIR, MUSTER, check, finish  # noqa: E402

# As they are called on RHEL, Rocky, Fedora and SLES.
WANTED = {'nvidia-fabricmanager': ('580.95.05', 'fabricmanager.version'), 'munge': ('0.5.13', 'munge.version'),
          'slurm-slurmd': ('24.05.3', 'slurm.slurmd'), 'nvidia-container-toolkit': ('1.17.8', 'container_toolkit.version'),
          'containerd.io': ('1.7.27', 'containerd.version'), 'doca-ofed': ('3.1.0', 'doca.version'),
          'kmod-nvidia-open-dkms': ('580.95.05', None)}
OTHERS = ('munge-libs', 'slurm', 'containers-common', 'nvidia-kmod-common')
HERE = ['/usr/bin/rpm', '/usr/bin/rpmbuild']

SPEC = '''Name: {name}
Epoch: {epoch}
Version: {version}
Release: 3%{{?dist}}
Summary: a package of a test
License: none
BuildArch: noarch
%description
Nothing.
%prep
%install
{install}
%files
{files}
'''


def do(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, 'HOME': DIR}, **more)
    if done.returncode:
        check(False, ' '.join(command[:3]), done.stdout + done.stderr)
        finish()
    return done.stdout


def build(name, version, epoch=0, files=0):
    """The package, with as many files as asked for: their names make its header large."""
    spec = os.path.join(DIR, f'{name}-{version}.spec')
    install = f'mkdir -p %{{buildroot}}/opt/{name}; for i in $(seq {files}); do : > %{{buildroot}}/opt/{name}/$i; done'
    with open(spec, 'w', encoding='utf-8') as f:
        f.write(SPEC.format(name=name, version=version, epoch=epoch, install=install, files=f'/opt/{name}' if files else ''))
    do('rpmbuild', '-bb', '--define', f'_topdir {DIR}/top', '--define', '_build_name_fmt %{NAME}-%{VERSION}.rpm', spec)
    return f'{DIR}/top/RPMS/{name}-{version}.rpm'


def install(root, *packages, dbpath='/var/lib/rpm', how='-i'):
    os.makedirs(root + '/etc', exist_ok=True)
    with open(root + '/etc/os-release', 'w', encoding='utf-8') as f:
        f.write('ID="rocky"\nVERSION_ID="9.6"\n')
    do('rpm', '--root', root, '--define', '_db_backend sqlite', '--dbpath', dbpath, how, '--justdb', '--nodeps', *packages)
    return root


def probe(root, *more):
    ran = subprocess.run([MUSTER, 'fleet', 'probe', '--root', root, *more], capture_output=True, text=True)
    if ran.returncode:
        check(False, 'the probe reads a root', ran.stderr)
        finish()
    return json.loads(ran.stdout), ran.stderr


def beside(root):
    folder = root + '/var/lib/rpm'
    return {n: (os.stat(f'{folder}/{n}').st_size, os.stat(f'{folder}/{n}').st_mtime_ns) for n in os.listdir(folder)}


def versions(packages):
    root = install(f'{DIR}/rocky9', *packages)
    for program in ('bin/podman', 'sbin/munged'):
        os.makedirs(os.path.dirname(f'{root}/usr/{program}'), exist_ok=True)
        open(f'{root}/usr/{program}', 'w').close()
    before = beside(root)
    told, _ = probe(root)
    facts = told['facts']
    check(facts['packages.database'] == 'rpm sqlite', "rpm's database is read", facts['packages.database'])
    for name, (version, key) in WANTED.items():
        if key:
            check(facts[key] == version, f'{key} is that of {name}: {version}', facts[key])
    check(facts['fabricmanager.package'] == 'nvidia-fabricmanager' and facts['fabricmanager.source'] == 'rpm',
          'whose the fabric manager is, is told', facts)
    check(facts['kernel_mft.version'] is None and facts['enroot.version'] is None, 'what is not installed is absent', facts)
    check('podman.version' in told['unreadable'], 'a program without a package is there, and its version unreadable', told)
    check(beside(root) == before, 'nothing beside the database is made or changed', (before, beside(root)))
    install(root, build('munge', '0.5.15', epoch=2), how='-U')
    check(probe(root)[0]['facts']['munge.version'] == '0.5.15', 'an upgrade is seen', probe(root)[0]['facts'])
    if os.geteuid() == 0:
        folder = f'{root}/var/lib/rpm'
        script = f'mount --bind {folder} {folder} && mount -o remount,ro,bind {folder} && exec "$@"'
        mounted = subprocess.run(['unshare', '-m', 'sh', '-c', script, 'sh', MUSTER, 'fleet', 'probe', '--root', root],
                                 capture_output=True, text=True)
        if mounted.stderr.startswith(('mount:', 'unshare:')):  # not allowed, or in a chroot
            print(f'skip - live_fleet_rpm: read-only: {mounted.stderr.strip()}')
        else:
            check(json.loads(mounted.stdout)['facts']['munge.version'] == '0.5.15', 'a read-only file system is no hindrance',
                  mounted)
    return root


def under_way(root):
    """A writer that has the database open, as rpm has it in the middle of a transaction."""
    writer = sqlite3.connect(f'{root}/var/lib/rpm/rpmdb.sqlite', isolation_level=None)
    writer.execute('PRAGMA wal_autocheckpoint=0')
    writer.execute("UPDATE Packages SET hnum = hnum WHERE hnum = 1")
    check(os.path.getsize(f'{root}/var/lib/rpm/rpmdb.sqlite-wal') > 0, 'the log holds what the database does not')
    before = beside(root)
    told, _ = probe(root)
    check('munge.version' in told['unreadable'] and 'doca.version' in told['unreadable'],
          'while the log holds more than the file the versions are unreadable', told)
    check(beside(root) == before, 'and the log is left as it was', (before, beside(root)))
    writer.execute('PRAGMA wal_checkpoint(PASSIVE)')
    left = os.path.getsize(f'{root}/var/lib/rpm/rpmdb.sqlite-wal')
    check(left > 0 and probe(root)[0]['facts'].get('munge.version') == '0.5.15',
          'once all of it is copied they are read, though the log is not empty', (left, probe(root)[0]))
    writer.close()
    check(probe(root)[0]['facts'].get('munge.version') == '0.5.15', 'and when the writer is gone')


def other_kinds(packages):
    root = install(f'{DIR}/sysimage', *packages, dbpath='/usr/lib/sysimage/rpm')
    check(probe(root)[0]['facts']['munge.version'] == '0.5.13', 'the database is found where Fedora and SLES have it')
    # Debian's rpm makes neither of these; nothing of them is read but that they are there.
    for name, kind in (('Packages.db', 'rpm ndb'), ('Packages', 'rpm bdb')):
        shutil.rmtree(f'{root}/usr/lib/sysimage/rpm')
        os.makedirs(f'{root}/usr/lib/sysimage/rpm')
        open(f'{root}/usr/lib/sysimage/rpm/{name}', 'w').close()
        told, _ = probe(root)
        check(told['facts']['packages.database'] == kind and 'doca.version' in told['unreadable'],
              f'of a database that is {kind} it says so, and the versions are unreadable', told)


def cost(root):
    """Against a database of the size of a real one: 900 packages with headers of some 40 KB, and the wanted ones with more."""
    db = sqlite3.connect(f'{root}/var/lib/rpm/rpmdb.sqlite')
    blob = db.execute("SELECT blob FROM Packages JOIN Name USING (hnum) WHERE key = 'slurm'").fetchone()[0]
    for n in range(900):
        at = db.execute('INSERT INTO Packages (blob) VALUES (?)', (blob,)).lastrowid
        db.execute('INSERT INTO Name VALUES (?, ?, 0)', (f'{"nmacolkds"[n % 9]}other{n}', at))
        for i in range(20):
            db.execute('INSERT INTO Basenames VALUES (?, ?, ?)', (f'file{n}-{i}', at, i))
    db.commit()
    db.execute('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
    size = os.path.getsize(f'{root}/var/lib/rpm/rpmdb.sqlite')
    costs = sorted(float(re.search(r'in ([\d.]+) ms', probe(root, '--cost')[1])[1]) for _ in range(15))
    print(f'# a database of {size >> 20} MB: sweep in {costs[0]:.2f} ms of CPU (best of {len(costs)}, median {costs[7]:.2f})')
    check(costs[0] <= 5, 'a sweep with it takes at most 5 ms of CPU', costs)
    check(probe(root)[0]['facts']['slurm.slurmd'] == '24.05.3', 'and tells the same versions')
    # This machine as if it were installed by rpm, for the program alone.
    open(f'{DIR}/status', 'w').close()
    script = f'mount --bind {DIR}/status /var/lib/dpkg/status && mount --bind {root}/var/lib/rpm /var/lib/rpm && exec "$@"'
    live = [subprocess.run(['unshare', '-m', 'sh', '-c', script, 'sh', MUSTER, 'fleet', 'probe', '--cost'], capture_output=True,
                           text=True) for _ in range(15)]
    if any(ran.returncode for ran in live):
        print(f'skip - live_fleet_rpm: this machine with such a database: {live[0].stderr.strip()}')
        return
    costs = sorted(float(re.search(r'in ([\d.]+) ms', ran.stderr)[1]) for ran in live)
    facts = json.loads(live[0].stdout)['facts']
    print(f'# all of this machine with it: {len(facts)} facts in {costs[0]:.2f} ms of CPU (median {costs[7]:.2f})')
    check(costs[0] <= 5 and facts['packages.database'] == 'rpm sqlite' and facts['slurm.slurmd'] == '24.05.3',
          'nor does that of a whole machine that has it', costs)


missing = [p for p in HERE if not os.path.exists(p)]
if missing:
    print(f'skip - live_fleet_rpm: {", ".join(missing)} not installed: apt-get install rpm')
    sys.exit(77)
built = [build(name, version, files=300 if name.startswith(('nvidia', 'kmod')) else 0) for name, (version, _) in WANTED.items()]
built += [build(name, '9.9', files=600 if name == 'slurm' else 0) for name in OTHERS]
first = versions(built)
under_way(first)
other_kinds(built)
cost(first)
finish()
