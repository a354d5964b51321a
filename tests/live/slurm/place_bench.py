"""place_bench.py MUSTER [--nodes 64] [--jobs 300] [--load 0.9] [--seed 1] [--policy FILE]: a stream of gangs by plain
sbatch of an ordinary user on a real Slurm, placed by Muster; then the same stream under Slurm's own topology/tree. Prints leaves
used over the fewest possible for both, waits, and whether a job was lost, ran twice or did not end. Exit 1 where a promise is
not kept."""
import argparse
import os
import statistics
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')]
from controller import wait_for  # noqa: E402
from held import check, finish  # noqa: E402
from stage import lab_or_skip, muster_on  # noqa: E402
from stream import compactness, play, stream  # noqa: E402

LEAF = 8


def percentile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(p * len(values)))]


def side(name, muster, o, jobs):
    lab = lab_or_skip('place', nodes=o.nodes, leaf=LEAF, place=('batch',) if muster else ())
    controller = None
    try:
        if muster:
            controller = muster_on(lab, muster, policy=o.policy).start()
            controller.beats(60)
        ids, outcome = play(lab, jobs, limit_s=300 + 10 * len(jobs) / 50)
        ratio, used, fewest = compactness(lab, outcome, LEAF)
        waits = list(outcome.wait_s.values()) or [0]
        print(f'{name:8} leaves {used} over {fewest} = {ratio:.3f}   wait mean {statistics.mean(waits):.1f} s, p95 '
              f'{percentile(waits, 0.95):.0f} s, longest {max(waits):.0f} s   {outcome.span_s:.0f} s in all')
        placed = 0
        if muster:
            placed = sum(1 for e in controller.of('order_intended') if e['body']['order']['action']['verb'] == 'start_job')
            controller.stop()
        return ratio, outcome, placed, max(waits)
    finally:
        if controller:
            controller.stop()
        lab.down()


def main():
    p = argparse.ArgumentParser()
    p.add_argument('muster')
    p.add_argument('--nodes', type=int, default=64)
    p.add_argument('--jobs', type=int, default=300)
    p.add_argument('--load', type=float, default=0.9)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--policy', default=os.path.join(os.path.dirname(os.path.abspath(__file__)), 'patient.yaml'))
    o = p.parse_args()
    jobs = stream(o.jobs, o.nodes, o.load, o.seed)
    ours, a, placed, longest = side('muster', os.path.abspath(o.muster), o, jobs)
    theirs, b, _, their_longest = side('slurm', None, o, jobs)
    check(not a.bad, 'placed by Muster every job ended, none was lost and none ran twice', a.bad[:5])
    check(not b.bad, 'under Slurm alone too', b.bad[:5])
    check(placed >= len(jobs), f'Muster placed all of them ({placed} starts)')
    check(ours <= 1.05, f'leaves used over the fewest possible: {ours:.3f}, at most 1.05')
    check(ours <= theirs, f'and no more than under topology/tree: {theirs:.3f}')
    check(longest <= max(60, 3 * their_longest),
          f'nobody starved: the longest wait is {longest:.0f} s, under Slurm {their_longest:.0f} s')
    finish()


main()
