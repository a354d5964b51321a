#!/usr/bin/env python3
"""What Ansible's check mode costs for three tasks a host, beside `muster fleet check` for the same hosts; prints both and the
ratio. For running by hand, as root:  ansible_cost.py MUSTER FOLDER [HOSTS]   FOLDER: where the chroot is kept."""
import os
import resource
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import chroots  # noqa: E402
import fleet  # noqa: E402
from ground import DIR, MUSTER  # noqa: E402

chroots.need_root_and('ansible-playbook', 'debootstrap')
HOSTS = int(sys.argv[3]) if len(sys.argv) > 3 else 20
MANY = 12_500
TASKS = {'sysctl.vm.swappiness': '60', 'nvidia_fs.rw_stats': '1', 'slurm.constrain_devices': 'no'}


def cpu_s(*words, **more):
    """Processor seconds of it and all its children, best of three."""
    best = None
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(words, capture_output=True, text=True, **more)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in (0, 6):
            sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
        took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = took if best is None else min(best, took)
    return best


# Every host is the same chroot under another name: check mode writes nothing.
folder = chroots.copy(os.path.abspath(sys.argv[2]), DIR + '/one')
odd = {f'odd{i:04d}': TASKS for i in range(HOSTS)}
facts = fleet.write(DIR + '/facts.jsonl', fleet.fleet(odd, 5 * HOSTS))
subprocess.run([MUSTER, 'fleet', 'emit', 'ansible', facts, '-o', DIR + '/site'], check=True, capture_output=True)
words = fleet.chroot_variables(DIR + '/site', {name: folder for name in odd})
env = {**os.environ, 'HOME': DIR, 'LC_ALL': 'C.UTF-8', 'ANSIBLE_RETRY_FILES_ENABLED': '0'}
ansible = cpu_s('ansible-playbook', 'site.yml', '--check', *words, cwd=DIR + '/site', env=env) / HOSTS
same = fleet.write(DIR + '/same.jsonl', fleet.fleet({}, HOSTS))
ours_few = cpu_s(MUSTER, 'fleet', 'check', same)
many = fleet.write(DIR + '/many.jsonl', fleet.fleet({}, MANY))
ours = cpu_s(MUSTER, 'fleet', 'check', many) / MANY
print(f'ansible-playbook --check, three tasks and those that are skipped: {ansible:.2f} CPU-s a host ({HOSTS} hosts)')
print(f'muster fleet check, all rules: {1000 * ours_few:.0f} ms for {HOSTS} hosts, {1e6 * ours:.0f} us a host ({MANY} hosts)')
print(f'ratio a host, of {MANY}: {ansible / max(ours, 1e-9):.0f}')
