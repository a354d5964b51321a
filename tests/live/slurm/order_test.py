"""order_test.py MUSTER: jobs start in the order of Slurm's priority, with Muster and without. On eight nodes a stream of gangs
of five to eight nodes, of which no two run side by side, waits behind a job that holds all nodes; niceness and size give each a
priority, some the same; one is made nicer and one held for a while. Whoever places them, they start in the same order."""
import os
import random
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')]
from controller import wait_for  # noqa: E402
from held import check, finish  # noqa: E402
from stage import lab_or_skip, muster_on  # noqa: E402

NODES, JOBS = 8, 12


def side(lab):
    """The stream's indexes in the order of their starts, and in the order of the priorities that Slurm had given."""
    rng = random.Random(7)
    full = lab.sbatch('-N', str(NODES), '--gpus-per-node=8', '-t', '10', script='sleep 600')
    if not wait_for(lambda: lab.job(full).get('JobState') == 'RUNNING', 30):
        raise RuntimeError(f'the first job does not run: {lab.job(full)}')
    order = os.path.join(lab.dir, 'home', 'order')
    open(order, 'w').close()
    os.chmod(order, 0o666)
    nice = [37 * (k // 2) for k in range(JOBS)]  # pairs of equals: they start as they came
    rng.shuffle(nice)
    ids = [lab.sbatch('-N', str(5 + i % 4), '--gpus-per-node=8', '-t', '5', f'--nice={n}', f'--job-name=j{i}',
                      script=f'echo $SLURM_JOB_ID >> {order}; sleep 0.3') for i, n in enumerate(nice)]
    # While they wait: one is sent to the end, one is held and let go again.
    lab.run('scontrol', 'update', f'JobId={ids[0]}', 'Nice=5000')
    lab.run('scontrol', 'hold', str(ids[1]))
    time.sleep(2)
    lab.run('scontrol', 'release', str(ids[1]))
    time.sleep(7)  # priorities are worked out every five seconds
    priority = {j: int(lab.job(j)['Priority']) for j in ids}
    comments = [lab.job(j).get('AdminComment', '') for j in ids]
    lab.run('scancel', str(full))
    wait_for(lambda: not lab.out('squeue', '-h', '-t', 'R,PD,CG').strip(), 120, 0.5)
    with open(order) as f:
        started = [int(line) for line in f]
    told = sorted(ids, key=lambda j: -priority[j])
    index = {j: i for i, j in enumerate(ids)}
    return [index[j] for j in started], [index[j] for j in told], len(set(priority.values())), comments


def main():
    lab = lab_or_skip('order', nodes=NODES, leaf=4, place=('batch',))
    alone, told_alone, kinds, _ = side(lab)  # without a heartbeat the gate holds nothing
    check(JOBS // 2 <= kinds, f'Slurm gives {JOBS} jobs {kinds} priorities')
    check(alone == told_alone, 'under Slurm alone they start in its order', (alone, told_alone))
    muster = muster_on(lab, sys.argv[1]).start()
    muster.beats(60)
    placed, told, _, comments = side(lab)
    check(all(c.startswith('muster: gate') for c in comments), 'with Muster they wait behind its gate', comments)
    check(told == told_alone, 'their priorities are in the same order there', (told, told_alone))
    check(placed == alone, 'and they start in the order in which Slurm alone starts them',
          f'{placed} {alone}\n{muster.lately(80)}')
    print(f'# order of starts: Slurm alone {alone}, with Muster {placed}')
    finish()


main()
