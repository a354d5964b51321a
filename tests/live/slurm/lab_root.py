"""Slurm of another release, for the lab: a Debian in a folder, out of which the lab's daemons and tools are run. Nothing of it is
mounted where others see it: each program has a mount namespace of its own, which goes when the program ends."""
import os
import re
import shutil
import subprocess

# What Debian calls the release that carries each version of Slurm. 22.05 is bookworm's.
SUITES = {'24.11': 'trixie', '26.05': 'sid'}
PACKAGES = ('munge', 'slurmctld', 'slurmd', 'slurmrestd', 'slurm-client', 'slurm-wlm-jwt-plugin', 'slurm-wlm-basic-plugins')
TOOLS = ('munged', 'slurmctld', 'slurmd', 'slurmrestd', 'sbatch', 'srun', 'scontrol', 'sinfo', 'squeue', 'scancel', 'sacct',
         'sacctmgr', 'sdiag', 'slurmdbd', 'mariadbd', 'mariadb-install-db')

# A program of the root, with the lab's folder where it is outside, as the user that the lab says.
TOOL = '''\
#!/bin/sh
exec unshare -m /bin/sh -c '
  mount --bind "{dir}" "{root}{dir}" && mount --bind /proc "{root}/proc" && mount --rbind /dev "{root}/dev" || exit 125
  exec chroot ${{MUSTER_LAB_AS:+--userspec="$MUSTER_LAB_AS" --groups=}} "{root}" /bin/sh -c '\\''cd "$0" 2> /dev/null
    PATH=/usr/sbin:/usr/bin exec "$@"'\\'' "$@"' lab "$PWD" {tool} "$@"
'''


class NoRoot(Exception):
    """Why such a folder could not be made."""


def folder():
    return os.environ.get('MUSTER_SLURM_ROOTS') or os.path.expanduser('~/.cache/muster-slurm')


def version_of(root):
    """'24.11' of a root, or of this machine where root is empty; None: no Slurm there."""
    command = (['chroot', root] if root else []) + ['slurmctld', '-V']
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except OSError:
        return None
    found = re.match(r'slurm\S* (\d+\.\d+)', done.stdout)
    return found[1] if found else None


def mirror():
    """Where this machine's packages come from."""
    for name in sorted(os.listdir('/etc/apt/sources.list.d')):
        with open(f'/etc/apt/sources.list.d/{name}') as f:
            found = re.search(r'^(?:URIs:|deb(?: \[.*?\])?)\s*(\S+)', f.read(), re.MULTILINE)
        if found:
            return found[1]
    with open('/etc/apt/sources.list') as f:
        found = re.search(r'^deb(?: \[.*?\])? (\S+)', f.read(), re.MULTILINE)
    return found[1] if found else 'http://deb.debian.org/debian'


def make(suite, say=lambda text: None):
    """The folder of a suite, made if it is not there: some minutes and 600 MB. What is half made is made anew."""
    root = os.path.join(folder(), suite)
    if version_of(root):
        return root
    if os.geteuid() != 0:
        raise NoRoot('making a Debian in a folder needs root')
    if shutil.which('debootstrap') is None:
        raise NoRoot('debootstrap is not installed: apt-get install debootstrap')
    say(f'{suite}: debootstrap into {root}')
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(folder(), exist_ok=True)
    log = f'{root}.log'
    with open(log, 'wb') as out:
        def step(*command):
            if subprocess.run(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                              env={**os.environ, 'DEBIAN_FRONTEND': 'noninteractive'}).returncode:
                raise NoRoot(f'{suite}: {" ".join(command[:3])} failed, see {log}')
        step('debootstrap', '--variant=minbase', '--include=ca-certificates', suite, root, mirror())
        for name in os.listdir('/etc/apt/apt.conf.d'):
            if 'registry' in name or 'proxy' in name:
                shutil.copy(f'/etc/apt/apt.conf.d/{name}', f'{root}/etc/apt/apt.conf.d/')
        for name in ('/etc/resolv.conf', '/etc/hosts'):
            shutil.copy(name, root + name)
        with open(f'{root}/usr/sbin/policy-rc.d', 'w') as f:  # no daemon starts by being installed
            f.write('#!/bin/sh\nexit 101\n')
        os.chmod(f'{root}/usr/sbin/policy-rc.d', 0o755)
        step('chroot', root, 'apt-get', 'update')
        step('unshare', '-m', 'sh', '-c', 'mount --bind /proc "$0/proc" && exec chroot "$0" "$@"', root, 'apt-get', 'install',
             '-y', '--no-install-recommends', *PACKAGES)
    if not version_of(root):
        raise NoRoot(f'{suite}: there is no slurmctld in {root}, see {log}')
    return root


def write_tools(lab_dir, root):
    """{lab}/bin: each program of Slurm as a script that runs it out of the root."""
    os.makedirs(f'{lab_dir}/bin', exist_ok=True)
    os.makedirs(root + lab_dir, exist_ok=True)
    for tool in TOOLS:
        with open(f'{lab_dir}/bin/{tool}', 'w') as f:
            f.write(TOOL.format(dir=lab_dir, root=root, tool=tool))
        os.chmod(f'{lab_dir}/bin/{tool}', 0o755)


def forget(lab_dir, root):
    """The empty folders in the root on which the lab's was mounted."""
    try:
        os.rmdir(root + lab_dir)
    except OSError:
        pass
