"""Chroots of Debian 12 with Python and cloud-init, as nodes that Ansible works on without a network."""
import os
import shutil
import subprocess
import sys

SKIP = 77
# debootstrap knows no virtual packages: python3-cffi-backend stands for one that cloud-init's libraries need.
PACKAGES = 'python3,procps,python3-cffi-backend,python3-apt,cloud-init'


def skip(why):
    print('skip - fleet_emit: ' + why)
    sys.exit(SKIP)


def need_root_and(*programs):
    if os.geteuid() != 0:
        skip('chroots need root')
    for program in programs:
        if shutil.which(program) is None:
            skip(program + ' is not installed')


def base(kept):
    """The folder of a fresh chroot, made at the first time: nobody writes into it."""
    folder = os.path.join(kept, 'bookworm')
    if os.path.exists(folder + '.done'):
        with open(folder + '.done') as f:
            if f.read() == PACKAGES:
                return folder
        os.remove(folder + '.done')
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(kept, exist_ok=True)
    done = subprocess.run(['debootstrap', '--variant=minbase', '--include=' + PACKAGES, 'bookworm', folder,
                           'http://deb.debian.org/debian'], capture_output=True, text=True, timeout=700)
    if 'Failure while' in done.stdout + done.stderr:  # the archive was reached: what it gave does not fit together
        sys.exit('debootstrap could not configure a chroot: ' + (done.stdout + done.stderr)[-600:])
    if done.returncode != 0:
        skip('debootstrap made no chroot: ' + (done.stdout + done.stderr)[-300:])
    # Caches are two thirds of it.
    shutil.rmtree(os.path.join(folder, 'var/cache/apt'), ignore_errors=True)
    shutil.rmtree(os.path.join(folder, 'var/lib/apt/lists'), ignore_errors=True)
    with open(folder + '.done', 'w') as f:
        f.write(PACKAGES)
    return folder


def copy(kept, to):
    subprocess.run(['cp', '-a', '--reflink=auto', base(kept), to], check=True)
    return to
