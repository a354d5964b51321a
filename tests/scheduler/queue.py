"""queue.py MUSTER: what job-trace replays promise, on the Philly trace where it is at hand ($MUSTER_DATA), and the path of every
policy on a small trace made here. The seeds are not those on which the policy was tuned."""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from held import check, finish  # noqa: E402

MUSTER = sys.argv[1]
SEEDS = ('201', '202', '203')


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


CLUSTER = """name: small
gpu: H100
gpus_per_node: 4
groups:
  - {nodes: 24, nodes_per_leaf: 6}
  - {nodes: 8, nodes_per_leaf: 8, node_gpu: A100}
"""


def told(*args):
    return subprocess.run([MUSTER, 'replay', 'jobs', *args], capture_output=True, text=True)


def switches(path, folder):
    """Pauses, failures, slow gangs and the cluster: each changes what it should, and is said."""
    on, off = [replay('--trace', path, '--gpus', '128', *more) for more in ([], ['--no-pauses'])]
    check(on['may_pause'] and on['pauses'] > 0 and not off['may_pause'] and off['pauses'] == 0,
          f"--no-pauses: {on['pauses']} pauses with, none without")
    text = told('--trace', path, '--gpus', '128')
    check('shipped: false' in text.stdout and '--no-pauses' in text.stdout, 'pauses are not the shipped policy, and that is said')
    check('no pauses' in told('--trace', path, '--gpus', '128', '--no-pauses').stdout, 'and their absence too')

    both = replay('--trace', path, '--gpus', '128', '--compare', '--failures', '--slow-far')
    plain = replay('--trace', path, '--gpus', '128', '--compare')
    check(all(both[p]['failures'] and both[p]['slow_far'] and both[p]['topology'] for p in ('easy', 'muster')) and
          not plain['easy']['topology'] and not plain['muster']['failures'],
          'failures and slow gangs strike both that are compared')
    hit = replay('--trace', path, '--gpus', '128', '--failures', '--speedup', '0.05')
    check(hit['node_failures'] > 0 and hit['lost_gpu_h'] > 0, f"--failures: {hit['node_failures']} nodes, work done again")

    given = os.path.join(folder, 'small.yaml')
    with open(given, 'w') as f:
        f.write(CLUSTER)
    here = replay('--trace', path, '--cluster', given)
    check(here['gpus'] == 128 and here['cluster'] == 'small' and here['wait_s'] != on['wait_s'],
          'a cluster file: 32 nodes of 4, other waits than 16 nodes of 8')
    slow = replay('--trace', path, '--cluster', given, '--slow-far')
    check(slow['wait_s'] != here['wait_s'] and here['leaves_ratio'] > 1, '--slow-far: gangs over many leaves run slower there')
    check('32 nodes of 4, 5 leaves, 2 pods' in told('--trace', path, '--cluster', given).stdout, 'the cluster is named')
    named = os.path.join(folder, 'named.csv')
    with open(named, 'w') as f:
        f.write('"timestamp","duration","num_gpus","gpu_model"\n0,100,32,A100\n1,100,4,A100\n2,100,4,\n3,9,1,B200\n4,0,1,\n')
    one = told('--trace', named, '--cluster', given, '-o', 'json')
    r = json.loads(one.stdout)
    check(r['jobs'] == 3 and r['wait_s']['max'] == 99 and r['wait_s']['p50'] == 0 and 'of their model' in one.stderr and
          '1 job that ran for no time (duration 0)' in one.stderr, 'jobs wait for the model they name')
    few, enough = [told('--trace', path, '--gpus', n, '--speedup', '0.5').stderr for n in ('8', '1024')]
    check('the queue grows to the end of the trace' in few and 'queue grows' not in enough, 'a cluster far too small is told')
    with open(named, 'w') as f:
        f.write('timestamp,duration,num_gpus\n0,0,32\n1,5,0\n')
    none = told('--trace', named)
    check(none.returncode == 2 and '1 asked for no GPU, 1 ran for no time (duration 0)' in none.stderr,
          'a trace without work: ' + none.stderr.splitlines()[0])


def real_traces(folder):
    """Every file of the folder runs, or is told to be no job trace."""
    for name in ('trace1', 'trace3', 'trace4'):
        done = told('--trace', os.path.join(folder, 'muri', name + '.csv.gz'), '--gpus', '512', '-o', 'json')
        r = json.loads(done.stdout or '{}')
        check(done.returncode == 0 and r['jobs'] > 900 and 'milliseconds' in done.stderr,
              f"muri {name}: {r.get('jobs')} jobs, utilisation {r.get('utilisation', 0):.2f}, in milliseconds")
    for name in ('acme/cluster_summary.csv', 'pai_steps/job_1_norm.csv.gz', 'openb/openb_pod_list_default.csv.gz'):
        done = told('--trace', os.path.join(folder, name))
        check(done.returncode == 2 and 'not a job trace' in done.stderr and 'there are ' in done.stderr,
              f'{name}: ' + done.stderr.splitlines()[0][-90:])


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
    switches(made, folder)
    every_policy(made)
philly = os.path.join(os.environ.get('MUSTER_DATA', ''), 'jobs', 'philly', 'philly.csv.gz')
if os.environ.get('MUSTER_DATA') and os.path.exists(philly):
    real_traces(os.path.dirname(os.path.dirname(philly)))
    promises(philly)
else:
    print('ok - the Philly trace is not here ($MUSTER_DATA): its promises are not checked')
finish()
