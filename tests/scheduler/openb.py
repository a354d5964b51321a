"""Packing of shared GPUs on the lists of the Alibaba 2023 trace: our FGD against the published one, and ours against FGD
on every list there. Without the public data a small list of its own keeps the command covered."""
import csv
import glob
import gzip
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from held import check, finish  # noqa: E402

MUSTER = os.path.abspath(sys.argv[1])
DATA = os.path.join(os.environ.get('MUSTER_DATA', ''), 'jobs', 'openb')
SEEDS = '1000-1009'
FULL = ('default', 'cpu235', 'cpu250', 'gpushare40', 'gpushare100', 'gpuspec33', 'multigpu50')  # the others: two of the seeds


def bench(nodes, pods, policy, seeds=SEEDS):
    done = subprocess.run([MUSTER, 'bench', 'openb', '--nodes', nodes, '--pods', pods, '--policy', policy, '--seeds', seeds,
                           '-o', 'json', '--progress', 'never'], capture_output=True, text=True)
    if done.returncode != 0:
        check(False, f'bench openb --policy {policy}', done.stderr)
        sys.exit(1)
    return json.loads(done.stdout)


def own_lists(folder):
    nodes, pods = os.path.join(folder, 'nodes.csv'), os.path.join(folder, 'pods.csv.gz')
    with open(nodes, 'w') as f:
        f.write('sn,cpu_milli,memory_mib,gpu,model\n')
        f.writelines(f'n{i},64000,262144,{(2, 4, 8)[i % 3]},{("T4", "P100")[i % 2]}\n' for i in range(240))
    with gzip.open(pods, 'wt') as f:
        f.write('name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n')
        shapes = ((1, 250, ''), (1, 460, ''), (1, 1000, ''), (2, 1000, ''), (1, 500, 'T4'), (4, 1000, ''), (0, 0, ''))
        for i in range(900):
            gpus, milli, spec = shapes[i * 5 % len(shapes)]
            f.write(f'p{i},{2000 + i % 7 * 1000},4096,{gpus},{milli},{spec},LS,Running,0,1,0\n')
    return nodes, pods


with tempfile.TemporaryDirectory() as folder:
    nodes, pods = own_lists(folder)
    for policy in ('random', 'bestfit', 'fgd', 'muster'):
        r = bench(nodes, pods, policy)
        fields = {'alloc_pct_100_mean', 'alloc_pct_100_sd', 'alloc_pct_130_mean', 'decision_us_mean'}
        check(fields <= set(r) and 0 < r['alloc_pct_100_mean'] <= 100, f"own list, {policy}: {r['alloc_pct_100_mean']:.2f} %", r)
    one, again = (bench(nodes, pods, 'muster', '7') for _ in range(2))
    check(one['alloc_pct_100_mean'] == again['alloc_pct_100_mean'], 'the same seed gives the same packing')
    with open(nodes, 'a') as f:
        f.write('last,64000,262144,99,T4\n')
    bad = subprocess.run([MUSTER, 'bench', 'openb', '--nodes', nodes, '--pods', pods], capture_output=True, text=True)
    check(bad.returncode == 2 and f'{nodes}:242: gpu must be' in bad.stderr and bad.stdout == '',
          'a bad cell is an error that names file and line', bad.stderr)
if not os.path.isdir(DATA):
    print('skip - no $MUSTER_DATA/jobs/openb: the published lists were not run')
    finish()

# What `bench claims` says of placement (O13), computed again: chance and best fit beside ours, where 40 and 100 % of the GPU
# pods share one.
said = subprocess.run([MUSTER, 'bench', 'claims', '-o', 'csv'], capture_output=True, text=True).stdout
o13 = next((r for r in csv.DictReader(said.splitlines()) if r['id'] == 'O13'), {})
nodes = os.path.join(DATA, 'openb_node_list_gpu_node.csv.gz')
of_claim = {p: [bench(nodes, os.path.join(DATA, f'openb_pod_list_gpushare{share}.csv.gz'), p)['alloc_pct_100_mean']
                for share in (40, 100)] for p in ('random', 'bestfit', 'muster')}
for policy, words in (('random', '{:.1f} and {:.1f} % at random'), ('bestfit', '{:.1f} and {:.1f} by best fit'),
                      ('muster', '{:.1f} and {:.1f} by what would be stranded')):
    words = words.format(*of_claim[policy])
    check(words in o13.get('figure', ''), f'O13: {words}', o13)
chance, fit = ([ours - other for ours, other in zip(of_claim['muster'], of_claim[p])] for p in ('random', 'bestfit'))
check(all(7.5 <= g < 10.5 for g in chance) and all(1.5 <= g < 3.5 for g in fit), 'O13: 8 to 10 points against chance, 2 to 3 '
      f'against best fit: {chance}, {fit}', o13)

published = {r['workload']: float(r['alloc_pct_100_mean']) for r in csv.DictReader(open(os.path.join(DATA, 'published.csv')))
             if r['policy'] == 'FGD'}
nodes, gains = os.path.join(DATA, 'openb_node_list_gpu_node.csv.gz'), {}
for pods in sorted(glob.glob(os.path.join(DATA, 'openb_pod_list_*.csv.gz'))):
    name = os.path.basename(pods)[len('openb_pod_list_'):-len('.csv.gz')]
    seeds = SEEDS if name in FULL else '1000-1001'
    fgd, ours = (bench(nodes, pods, policy, seeds) for policy in ('fgd', 'muster'))
    gains[name] = ours['alloc_pct_100_mean'] - fgd['alloc_pct_100_mean']
    print(f"# {name}: fgd {fgd['alloc_pct_100_mean']:.2f} (sd {fgd['alloc_pct_100_sd']:.2f}), "
          f"muster {ours['alloc_pct_100_mean']:.2f} (sd {ours['alloc_pct_100_sd']:.2f}), "
          f"{ours['decision_us_mean']:.0f} us a decision, seeds {seeds}", flush=True)
    if name in published and name in FULL:
        off = abs(fgd['alloc_pct_100_mean'] - published[name])
        check(off <= 0.3, f'{name}: our FGD is {off:.2f} points from the published {published[name]}')
    check(gains[name] >= 0, f'{name}: muster is {gains[name]:+.2f} points from FGD')
better = [n for n, g in gains.items() if g >= 1 and n in FULL]
check(len(better) >= 3, f"at least a point better on {', '.join(better)}")
finish()
