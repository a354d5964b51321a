"""queue.py MUSTER: what job-trace replays promise, on the Philly trace where it is at hand ($MUSTER_DATA), and the path of every
policy on a small trace made here. The seeds are not those on which the policy was tuned."""
import json
import os
import random
import subprocess
import sys
import tempfile

MUSTER = sys.argv[1]
SEEDS = ('201', '202', '203')
failed = 0


def check(held, sentence):
    global failed
    failed += not held
    print(('ok - ' if held else 'not ok - ') + sentence, flush=True)


def replay(*args):
    done = subprocess.run([MUSTER, 'replay', 'jobs', *args, '-o', 'json'], capture_output=True, text=True)
    if done.returncode != 0:
        print(f'not ok - muster replay jobs {" ".join(args)}\n    exit {done.returncode}: {done.stderr[-500:]}')
        sys.exit(1)
    return json.loads(done.stdout)


def small_trace(path):
    r = random.Random(7)
    t = 0
    with open(path, 'w') as f:
        f.write('timestamp,duration,num_gpus\n')
        for _ in range(3000):
            t += r.expovariate(1 / 60)
            f.write(f'{t:.0f},{max(1, r.lognormvariate(7, 2.2)):.0f},{r.choice([1] * 12 + [2, 4, 8, 8, 16])}\n')


def every_policy(path):
    for policy in ('fifo', 'easy', 'sjf', 'las', 'muster'):
        r = replay('--trace', path, '--gpus', '128', '--policy', policy)
        check(r['jobs'] == 3000 and sum(s['jobs'] for s in r['by_size']) == 3000 and 0 < r['utilisation'] <= 1,
              f"{policy}: 3,000 jobs of a made trace, p99 wait {r['wait_s']['p99']:.0f} s, utilisation {r['utilisation']:.2f}")
    again = [replay('--trace', path, '--gpus', '128', '--failures', '--slow-far')['wait_s'] for _ in range(2)]
    check(again[0] == again[1], 'the same seed gives the same waits, failures and slow gangs included')
    picture = path + '.svg'
    both = replay('--trace', path, '--gpus', '128', '--compare', '--svg', picture)
    check('</svg>' in open(picture).read() and set(both['ratios']) >= {'wait_p99', 'slowdown_mean', 'wait_max'},
          f"side by side: p99 wait {both['ratios']['wait_p99']:.2f} of EASY's, slowdown {both['ratios']['slowdown_mean']:.2f}")
    with open(path, 'a') as f:
        f.write('5,-3,1\n')
    bad = subprocess.run([MUSTER, 'replay', 'jobs', '--trace', path], capture_output=True, text=True)
    check(bad.returncode == 2 and ':3002: duration is negative' in bad.stderr,
          'a bad line is named: ' + bad.stderr.splitlines()[0])


def promises(trace):
    easy = replay('--trace', trace, '--gpus', '800', '--policy', 'easy')
    check(easy['jobs'] == 82247 and easy['cpu_s'] < 1,
          f"easy on counts: {easy['jobs']} jobs in {easy['cpu_s']:.2f} s of CPU, under 1")
    for seed in SEEDS:
        both = replay('--trace', trace, '--gpus', '800', '--seed', seed, '--compare')
        r, what = both['ratios'], f'Philly on 800 GPUs, seed {seed}'
        check(both['muster']['cpu_s'] < 10, f"{what}: muster with topology in {both['muster']['cpu_s']:.2f} s of CPU, under 10")
        check(r['wait_p99'] <= 0.45, f"{what}: p99 wait {r['wait_p99']:.3f} of EASY's, at most 0.45")
        check(r['slowdown_mean'] <= 0.4, f"{what}: mean bounded slowdown {r['slowdown_mean']:.3f} of EASY's, at most 0.4")
        check(r['wait_max'] <= 1.1, f"{what}: longest wait {r['wait_max']:.3f} of EASY's, at most 1.1")
        sizes = {k: v for k, v in r['wait_p99_by_size'].items() if v is not None}
        zeros = [s['gpus'] for s in both['muster']['by_size'] if s['gpus'] not in sizes and s['wait_s']['p99'] > 0]
        check(all(v <= 1 for v in sizes.values()) and not zeros,
              f"{what}: p99 wait by size over EASY's, none above 1: " + ', '.join(f'{k}: {v:.2f}' for k, v in sizes.items()))


with tempfile.TemporaryDirectory() as folder:
    made = os.path.join(folder, 'made.csv')
    small_trace(made)
    every_policy(made)
philly = os.path.join(os.environ.get('MUSTER_DATA', ''), 'jobs', 'philly', 'philly.csv.gz')
if os.environ.get('MUSTER_DATA') and os.path.exists(philly):
    promises(philly)
else:
    print('ok - the Philly trace is not here ($MUSTER_DATA): its promises are not checked')
sys.exit(1 if failed else 0)
