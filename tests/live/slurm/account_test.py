"""account_test.py MUSTER: the account of a real Slurm from what its own tools print: jobs that ran, waited, were cancelled and
are still running, a node that was down and one that was drained. Needs slurmdbd and MariaDB, and says so where they are not."""
import json
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')]
from controller import wait_for  # noqa: E402
from held import check, finish  # noqa: E402
from stage import lab_or_skip  # noqa: E402

COLUMNS = 'JobID,User,Account,Partition,QOS,State,Submit,Eligible,Start,End,ElapsedRaw,NNodes,NodeList,AllocTRES,ReqTRES'
EVENTS = 'Cluster,NodeName,TimeStart,TimeEnd,State,Reason'
UNIX = {'SLURM_TIME_FORMAT': '%s'}


def account(program, lab, name, jobs, *more):
    path = f'{lab.dir}/{name}'
    with open(path, 'w') as f:
        f.write(jobs)
    done = subprocess.run([program, 'account', '--sacct', path, '-o', 'json', *more], capture_output=True, text=True, timeout=60)
    check(done.returncode == 0, f'what Slurm prints is read ({name})', done.stderr)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def main():
    program = os.path.abspath(sys.argv[1])
    lab = lab_or_skip('account', nodes=3, leaf=3, dbd=True)
    began = int(time.time())
    nodes = [line.split()[0][len('NodeName='):] for line in lab.out('scontrol', '-o', 'show', 'node').splitlines()]
    short = lab.sbatch('-N', '2', '--gpus-per-node=8', '-t', '10', script='sleep 6')
    wait_for(lambda: lab.job(short).get('JobState') == 'RUNNING', 20)
    waits = lab.sbatch('-N', '3', '--gpus-per-node=8', '-t', '10', script='sleep 4')  # a node is idle, and three are wanted
    gone = lab.sbatch('-N', '3', '--gpus-per-node=8', '-t', '10', script='sleep 4')
    lab.out('scancel', str(gone))
    wait_for(lambda: lab.job(waits).get('JobState') == 'COMPLETED', 60)
    lab.out('scontrol', 'update', f'NodeName={nodes[2]}', 'State=DRAIN', 'Reason=a test')
    lab.out('scontrol', 'update', f'NodeName={nodes[1]}', 'State=DOWN', 'Reason=a fan | say')
    still = lab.sbatch('-N', '1', '--gpus-per-node=4', '-t', '10', script='sleep 300')
    wait_for(lambda: lab.job(still).get('JobState') == 'RUNNING', 20)
    time.sleep(5)
    known = wait_for(lambda: [line for line in lab.out('sacct', '-a', '-X', '-n', '-P', '--format=JobID,State').splitlines()
                              if line in (f'{waits}|COMPLETED', f'{still}|RUNNING')][1:], 30)
    check(known, "Slurm's accounting knows the jobs", lab.out('sacct', '-a', '-X', '-n', '-P'))
    ended = int(time.time())
    since = time.strftime('%Y-%m-%dT%H:%M:%S', time.localtime(began - 60))
    for name, text in (('installed', lab.out('scontrol', '-o', 'show', 'node')),
                       ('outages', lab.out('sacctmgr', '-P', 'show', 'event', f'Start={since}', f'format={EVENTS}', env=UNIX))):
        with open(f'{lab.dir}/{name}', 'w') as f:
            f.write(text)
    window = [x for flag, s in (('--from', began), ('--to', ended))
              for x in (flag, time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(s)))]
    more = ['--nodes', f'{lab.dir}/installed', '--events', f'{lab.dir}/outages', *window]
    ask = ('sacct', '-a', '-D', '-S', since)
    first = account(program, lab, 'jobs', lab.out(*ask, '-X', '-P', '-o', COLUMNS, env=UNIX), *more)
    whole = first.get('classes_milli_gpu_ms', {})
    check(sum(whole.values()) == first.get('installed_milli_gpu_ms') == 24 * 1000 * 1000 * (ended - began),
          'the classes sum to what is installed, to the millisecond', first)
    seconds = {k: v / 1e6 for k, v in whole.items() if v}
    check(seconds.get('unseen', 0) >= 16 * 6 + 24 * 4 + 4 * 5 - 24, 'jobs have what they ran', seconds)
    check(seconds.get('idle_fragmented', 0) >= 8 * 3, 'GPUs were idle while a job waited for three nodes', seconds)
    check(seconds.get('drained', 0) >= 8 * 5 and seconds.get('down', 0) >= 8 * 5, 'a node was drained, and one was down', seconds)
    check(any(f['kind'] == 'open_ended' for f in first.get('faults', [])), 'the one that still runs is named',
          first.get('faults'))
    steps = account(program, lab, 'with_steps', lab.out(*ask, '-p', '-o', COLUMNS, env=UNIX), *more)
    check(steps.get('classes_milli_gpu_ms') == whole, 'with the rows of steps it is the same', steps.get('classes_gpu_hours'))
    try:
        text = lab.out(*ask, '--json')
    except Exception as e:  # this Slurm was built without its plugin for JSON
        print('# no --json here:', str(e)[:200])
        text = ''
    if text.lstrip().startswith('{'):
        other = account(program, lab, 'jobs.json', text, *more)
        check(other.get('classes_milli_gpu_ms') == whole, 'and as JSON', (other.get('classes_gpu_hours'), other.get('notes')))
    finish()


main()
