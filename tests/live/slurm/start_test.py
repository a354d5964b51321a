"""start_test.py MUSTER [--nodes 64 --each 0.1]: a prolog that takes a lock which all nodes share. `muster explain start` names
it, with what it costs; without the lock the job starts in a third of the time, and nothing is named."""
import argparse
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')]
import lab_agents  # noqa: E402
import lab_config  # noqa: E402
from controller import wait_for  # noqa: E402
from held import check, finish  # noqa: E402
from stage import lab_or_skip  # noqa: E402

FALLS = 0.65


def run_job(lab):
    job = lab.sbatch('-N', str(len(lab.nodes)), '--gpus-per-node=8', '-t', '5', script='srun true')
    ended = wait_for(lambda: lab.job(job).get('JobState') == 'COMPLETED', 120, 0.3)
    check(ended, 'a job on all nodes starts and ends', lab.job(job))
    wait_for(lambda: settled(lab), 60)
    return job


def settled(lab):
    """All nodes are free. Slurm's own launch of a step now and then hangs on a node whose prolog was late, and Slurm then drains
    that node ("Kill task failed"): given back here, as an administrator would, since it is not what is measured."""
    drained = [n for n in lab.nodes if 'Kill task failed' in lab.node(n).get('Reason', '')]
    if drained and 'drained' in lab.states():
        print(f'# Slurm drained {len(drained)} node(s) after a hung step: given back')
        lab.run('scontrol', 'update', f'NodeName={",".join(drained)}', 'State=RESUME')
    return lab.states() == {'idle': len(lab.nodes)}


def explain(lab, muster, job, *more):
    return subprocess.run([muster, 'explain', 'start', str(job), '--slurm-conf', lab.conf, *more], capture_output=True, text=True,
                          timeout=60, env=lab.environment())


def sources(lab):
    return ['--starts', f'{lab.dir}/starts', '--slurmctld-log', f'{lab.dir}/log/slurmctld.log', '--slurmd-log',
            f'{lab.dir}/nodes/%n/slurmd.log']


def told(lab, muster, job):
    """What it says, as people and as programs see it."""
    done = explain(lab, muster, job, *sources(lab))
    check(done.returncode == 0, 'muster explain start answers', done.stderr)
    print('\n'.join('#   ' + line for line in done.stdout.splitlines()))
    return json.loads(explain(lab, muster, job, *sources(lab), '-o', 'json').stdout)


def site_prolog(lab, text):
    lab_config.write(f'{lab.dir}/etc/prolog.site', '#!/bin/sh\n' + text, 0o755)


def main():
    args = argparse.ArgumentParser()
    args.add_argument('muster')
    args.add_argument('--nodes', type=int, default=8)
    args.add_argument('--each', type=float, default=0.3, help='seconds that one prolog takes')
    o = args.parse_args()
    muster = os.path.abspath(o.muster)
    lab = lab_or_skip('start', nodes=o.nodes, leaf=16)
    os.makedirs(f'{lab.dir}/starts')
    site_prolog(lab, f'exec 9> {lab.dir}/starts.lock\nflock 9\nsleep {o.each}\n')
    conf = f'starts={lab.dir}/starts\nprolog={lab.dir}/etc/prolog.site\nmuster=none\nspool={lab.dir}\n'
    lab_agents.set_hooks(lab, f'{lab.dir}/etc/muster-hook.sh', conf)
    job = run_job(lab)
    slow = told(lab, muster, job)
    serial = slow.get('serial', {})
    check(slow['prolog']['nodes'] == o.nodes and not slow['missing'], 'the times of all nodes are known', slow)
    named = slow['prolog']['order'] == 'queued' and 'share' in serial.get('cause', '')
    check(named, 'prologs that wait for each other are named', slow)
    check(serial.get('cost_s', 0) > 0.7 * o.each * (o.nodes - 1), 'with what that costs', serial)
    check('lock' in serial.get('do', ''), 'and what to do', serial)
    bare = explain(lab, muster, job)
    check(bare.returncode == 0 and '--starts' in bare.stdout, 'without any source it says which it wants', bare.stdout)
    # Mended: each node does its own work without asking the others.
    site_prolog(lab, f'sleep {o.each}\n')
    quick = told(lab, muster, run_job(lab))
    check('serial' not in quick or quick['serial'].get('node'), 'mended, nothing is serial', quick)
    fell = 1 - quick['start_s'] / slow['start_s']
    print(f"# start-up on {o.nodes} nodes: {slow['start_s']:.2f} s serial, {quick['start_s']:.2f} s mended: "
          f"{100 * fell:.0f} % less")
    if o.nodes >= 32:  # of few nodes there is less to gain
        check(fell >= FALLS, f'the start-up falls by at least {100 * FALLS:.0f} %')
    gone = explain(lab, muster, 999999)
    check(gone.returncode == 3 and 'does not know job' in gone.stderr, 'a job that Slurm does not know is an error', gone.stderr)
    wrong = explain(lab, muster, 'x; id')
    check(wrong.returncode == 2, 'and what is no number of a job is refused', wrong.stderr)
    finish()


main()
