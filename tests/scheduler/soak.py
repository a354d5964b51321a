"""The whole scheduler under storms: parts of nodes, shares of GPUs, arrays, dependencies, deadlines, priorities, quotas.
No GPU given twice, no quota passed, every certificate true, every GPU-millisecond accounted for; a seed is a history."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from held import check, finish  # noqa: E402

MUSTER = os.path.abspath(sys.argv[1])
QUOTAS = """name: quotas
scheduling: {pause: true, spare_confidence: 0.8}
queues:
  - {name: language, guaranteed_gpus: 64, limit_gpus: 128}
  - {name: vision, guaranteed_gpus: 64}
  - {name: science, guaranteed_gpus: 16, borrow: false}
  - {name: platform, guaranteed_gpus: 32, lend: false}
"""
CAPPED = """name: capped
nodes: 32
nodes_per_rack: 4
racks_per_row: 4
rack_power_kw: 34
row_power_kw: 130
power_limit_kw: 230
"""


def soak(name, *args):
    done = subprocess.run([MUSTER, 'twin', 'soak', *args, '-o', 'json', '--progress', 'never'], capture_output=True, text=True)
    r = json.loads(done.stdout or '{}')
    check(done.returncode == 0 and r.get('violations') == [] and not r.get('void'),
          f"{name}: {r.get('actions')} actions, {r.get('jobs_completed')} jobs, {r.get('faults')} faults, "
          f"{len(r.get('violations', []))} violations, {r.get('cpu_s', 0):.0f} CPU-s", done.stdout[-2000:] + done.stderr[-500:])


with tempfile.TemporaryDirectory() as folder:
    quotas, capped = os.path.join(folder, 'quotas.yaml'), os.path.join(folder, 'capped.yaml')
    open(quotas, 'w').write(QUOTAS)
    open(capped, 'w').write(CAPPED)
    common = ('--days', '1', '--weather', 'x200', '--load', '1.15')  # more than the cluster can do: queues are full
    soak('shared nodes and GPUs', '--seeds', '12', '--gpus', '256', '--jobs', 'mix:shared', *common)
    soak('with quotas, pauses and spares', '--seeds', '8', '--gpus', '256', '--jobs', 'mix:shared', '--policy', quotas, *common)
    soak('with power caps', '--seeds', '8', '--cluster', capped, '--jobs', 'mix:shared', *common)
    soak('NVL72 domains', '--seeds', '2', '--cluster', 'gb200-nvl72-1152', *common)
    shared = [MUSTER, 'twin', 'run', '--gpus', '256', '--jobs', 'mix:shared', '--policy', quotas, '-o', 'json',
              '--progress', 'never']

    def digest(seed):
        done = subprocess.run([*shared, '--days', '2', '--seed', seed], capture_output=True, text=True)
        return json.loads(done.stdout)['digest']

    one, again, other = digest('1'), digest('1'), digest('2')
    check(one == again != other, 'the same seed gives the same history: ' + one)
    journal = os.path.join(folder, 'run.db')
    subprocess.run([*shared, '--days', '1', '--weather', 'x50', '--journal', journal], capture_output=True)
    again = subprocess.run([MUSTER, 'twin', 'replay', journal, '--check', '--progress', 'never'], capture_output=True, text=True)
    check(again.returncode == 0, 'a recorded journal gives the same decisions again', again.stdout[-800:] + again.stderr[-800:])
finish()
