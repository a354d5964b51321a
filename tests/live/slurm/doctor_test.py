"""doctor_test.py MUSTER: `muster doctor --slurm` on a real Slurm: nothing essential is missing there, and what is then taken
away is found, with its cost and the line that brings it back."""
import json
import os
import pwd
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')]
from controller import Controller  # noqa: E402
from held import check, finish  # noqa: E402
from lab import HERE, PATH, read  # noqa: E402
from stage import lab_or_skip  # noqa: E402

MUSTER = os.path.abspath(sys.argv[1])


def ask(file, *more, env=None, user=None):
    who, muster = {}, MUSTER
    if user:
        row = pwd.getpwnam(user)
        who = {'user': row.pw_uid, 'group': row.pw_gid, 'extra_groups': []}
        muster = f'{os.path.dirname(file)}/muster-for-all'  # the build may lie in a folder that others cannot enter
        shutil.copy(MUSTER, muster)
    return subprocess.run([muster, 'doctor', '--slurm', file, *more], capture_output=True, text=True, timeout=120,
                          env={**os.environ, 'PATH': PATH, **(env or {})}, cwd='/', **who)


def doctor(file, **more):
    """(exit code, {thing: what is said of it})"""
    done = ask(file, '-o', 'json', **more)
    checks = json.loads(done.stdout)['checks'] if done.stdout else []
    return done.returncode, {c['thing']: c for c in checks}


def found(answer, thing, line):
    """Whether it is missing, essential, and the line is given."""
    code, said = answer
    d = said.get(thing, {})
    return code == 6 and d.get('judgement') == 'missing' and d.get('essential') and d.get('cost') and line in d.get('line', '')


def whole(lab, file):
    before = lab.out('scontrol', '-o', 'show', 'nodes'), os.listdir(f'{lab.dir}/run')
    code, said = doctor(file)
    good = ('squeue', 'scontrol', 'scancel', 'sinfo', 'slurmctld', 'rights', 'select', 'gpus', 'topology', 'partitions', 'gate',
            'heartbeat', 'release timer', 'hands', 'reboot', 'MinJobAge', 'requeue', 'failed launches')
    bad = [(t, said.get(t)) for t in good if said.get(t, {}).get('judgement') != 'ok']
    check(code == 0 and not bad, 'nothing that is needed is missing in the lab', bad or code)
    check('2 nodes of 8 x h200' in said['gpus']['found'] and said['gate']['found'].startswith(f'{lab.dir}/etc/job_submit.lua'),
          'it names the GPUs and the file with the gate', (said['gpus'], said['gate']))
    check(said['accounting']['judgement'] == 'note' and 'priority by age' in said, 'that there is no database is a note',
          said['accounting'])
    check(said['REST']['found'] == 'not configured', 'REST is not configured', said['REST'])
    after = lab.out('scontrol', '-o', 'show', 'nodes'), os.listdir(f'{lab.dir}/run')
    check(before == after, 'nothing was changed by looking', (before, after))
    table = ask(file)
    line = 'slurm.conf: AccountingStorageType=accounting_storage/slurmdbd'
    check(table.returncode == 0 and table.stdout.startswith('THING') and line in table.stdout,
          'the table ends with the lines to copy', table.stdout + table.stderr)


def broken(lab, file):
    check(found(doctor(file, user='nobody'), 'rights', 'run muster as slurm'), 'an ordinary user may not change things')
    lab.kill('release')
    check(found(doctor(file), 'release timer', 'muster-release.timer'), 'a release timer that does not run is missed')
    lab.restart('release')
    path = f'{lab.dir}/etc/job_submit.lua'
    good = read(path)
    with open(path, 'w') as f:
        f.write(good.replace('muster.gate(', '-- muster.gate('))
    check(found(doctor(file), 'gate', 'muster.gate(job_desc'), 'and so is a gate that nobody calls')
    with open(path, 'w') as f:
        f.write(good)
    text = read(file)
    with open(f'{lab.dir}/other.yaml', 'w') as f:
        f.write(text.replace('batch: place', 'bach: place').replace(f'test_node: [{HERE}', 'test_node: [/none'))
    other = doctor(f'{lab.dir}/other.yaml')
    check(found(other, 'partition bach', 'batch: place'), 'a partition that Slurm lacks is named, and the one that was meant',
          other)
    check(found(other, 'hand test_node', 'test_node: ['), 'and a hand that is not there', other)
    os.mkdir(f'{lab.dir}/private', 0o700)
    with open(f'{lab.dir}/other.yaml', 'w') as f:
        f.write(text.replace('run/heartbeat', 'private/heartbeat'))
    other = doctor(f'{lab.dir}/other.yaml')
    check(found(other, 'heartbeat', 'chmod a+rx'), 'a heartbeat that slurmctld cannot read', other)
    check(found(other, 'gate', 'private/heartbeat'), 'and a gate that looks at another one', other)
    tools = f'{lab.dir}/tools'
    os.mkdir(tools)
    for name in ('scontrol', 'scancel', 'sinfo'):
        os.symlink(shutil.which(name, path=PATH), f'{tools}/{name}')
    few = doctor(file, env={'PATH': tools})
    check(found(few, 'squeue', 'slurm-client') and few[1]['sacct']['judgement'] == 'missing' and not few[1]['sacct']['essential'],
          'tools that are not installed', few)
    lab.kill('slurmctld')
    check(found(doctor(file), 'slurmctld', 'conf: '), 'and a slurmctld that does not answer')


def main():
    lab = lab_or_skip('doctor', nodes=2, place=('batch',))
    os.chmod(lab.dir, 0o755)
    file = Controller(MUSTER, lab).file
    whole(lab, file)
    broken(lab, file)
    missing = ask(f'{lab.dir}/none.yaml')
    check(missing.returncode == 3, 'a file that is not there is said', missing.stderr)
    finish()


main()
