"""srun_test.py MUSTER: nodes asked by a real srun, on the Slurm lab: free, busy, drained and down; and what is left behind."""
import json
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '../slurm'), os.path.join(HERE, '../..')]
from controller import wait_for  # noqa: E402
from held import check, finish  # noqa: E402
from stage import lab_or_skip  # noqa: E402

MUSTER = os.path.abspath(sys.argv[1])


def run(lab, nodes, *more, timeout=200):
    began = time.monotonic()
    ran = subprocess.run([MUSTER, 'fleet', 'inventory', '--srun', nodes, '-o', 'json', *more], capture_output=True, text=True,
                         timeout=timeout, env=lab.environment(), cwd=f'{lab.dir}/home')
    ran.took_s = time.monotonic() - began
    got = json.loads(ran.stdout) if ran.stdout else {'nodes': [], 'failed': []}
    return ran, {n['node']: n for n in got['nodes']}, {f['node']: f['why'] for f in got['failed']}


def queued(lab):
    return lab.out('squeue', '-h', '-o', '%i %j %T %N').splitlines()


def free(lab):
    ran, nodes, failed = run(lab, 'gpu[0001-0004]')
    check(ran.returncode == 0 and sorted(nodes) == lab.nodes and not failed,
          f'the program is sent to four nodes as a job on each, and tells of each ({ran.took_s:.1f} s)', ran.stderr)
    check(all(len(n['facts']) > 100 for n in nodes.values()), 'with all that it reads')
    check(wait_for(lambda: lab.wait_idle(1), 20), 'and the nodes are free again', lab.states())
    ran, nodes, _ = run(lab, 'gpu[0001-0002]', '--program', MUSTER)
    check(ran.returncode == 0 and sorted(nodes) == lab.nodes[:2], 'a program that is there is run there', ran.stderr)


def not_free(lab):
    job = lab.sbatch('-w', 'gpu0001', '--exclusive', '--mem=0')
    lab.out('scontrol', 'update', 'NodeName=gpu0002', 'State=DRAIN', 'Reason=a test')
    lab.kill('slurmd', 'gpu0003')
    check(wait_for(lambda: 'DOWN' in lab.node('gpu0003')['State'], 60), 'one node is down, one drained, one busy', lab.states())
    ran, nodes, failed = run(lab, 'gpu[0001-0004],gpu9999', '--deadline', '5s')
    check(ran.returncode == 5 and list(nodes) == ['gpu0004'], 'the one that is free is told of beside those that are not',
          ran.stderr)
    print('\n'.join(f'#   {n}: {w}' for n, w in sorted(failed.items())))
    for name, say in (('gpu0001', 'queued and waiting for resources'), ('gpu0002', 'did not answer in time'),
                      ('gpu0003', 'did not answer in time'), ('gpu9999', 'Invalid node name')):
        check(say in failed.get(name, ''), f'{name} is named with the reason: {say}', failed)
    check(ran.took_s < 12, f'nobody is waited for much longer than the deadline of 5 s ({ran.took_s:.1f} s)')
    left = wait_for(lambda: [q for q in queued(lab) if not q.startswith(f'{job} ')] == [], 10)
    check(left, 'no job of ours stays in the queue', queued(lab))
    lab.out('scancel', job)
    lab.out('scontrol', 'update', 'NodeName=gpu0002', 'State=RESUME')
    lab.restart('slurmd', 'gpu0003')
    check(wait_for(lambda: lab.wait_idle(1), 60), 'all are free again', lab.states())


def hung(lab):
    """A step that does not end: the node must not be held for it."""
    slow = f'{lab.dir}/home/slow'
    with open(slow, 'w', encoding='utf-8') as f:
        f.write('#!/bin/sh\nexec sleep 600\n')
    os.chmod(slow, 0o755)
    ran, nodes, failed = run(lab, 'gpu[0001-0002]', '--program', slow, '--deadline', '4s')
    check(ran.returncode == 5 and all('did not answer in time' in failed.get(n, '') for n in lab.nodes[:2]),
          'a node on which the probe hangs is given up on', failed)
    check(wait_for(lambda: queued(lab) == [] and lab.wait_idle(1), 30), 'and the job on it is ended', (queued(lab), lab.states()))
    check(not lab.step_processes(), 'with all its processes', lab.step_processes())


the_lab = lab_or_skip('fleet_inventory', nodes=4)
free(the_lab)
not_free(the_lab)
hung(the_lab)
finish()
