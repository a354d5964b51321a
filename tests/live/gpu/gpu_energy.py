"""gpu_energy.py MUSTER: what `muster energy` makes of a real GPU's power, both ways: the driver's own counter of energy against
the integral of sampled power, within 2 % over about 80 s of matrix products, bursts, copies and rest. What nvidia-smi wrote
meanwhile stands beside them. Needs PyTorch with CUDA; skipped (77) where there is no GPU. It changes no clock and no limit.

With FAKE_NVML (a library) it runs against that instead, without a load."""
import csv
import datetime
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..'))
from held import check, finish  # noqa: E402

MUSTER = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else 'muster'
FAKE = os.environ.get('FAKE_NVML')
PHASES = [('rest', 1), ('steady', 9), ('rest2', 2)] if FAKE else [
    ('rest', 8), ('products', 18), ('pause', 6), ('bursts', 18), ('copies', 15), ('end', 8)]
NODE = 'here'
WITHIN_PCT = 2.0

LOAD = '''
import sys, time, torch
phases = [(p.split('=')[0], float(p.split('=')[1])) for p in sys.argv[1:]]
n = 8192
a = torch.randn(n, n, device='cuda', dtype=torch.bfloat16)
b = torch.randn(n, n, device='cuda', dtype=torch.bfloat16)
c = torch.empty(n, n, device='cuda', dtype=torch.bfloat16)
x = torch.randn(1 << 28, device='cuda')
y = torch.empty_like(x)
torch.matmul(a, b, out=c)
y.copy_(x)
torch.cuda.synchronize()
print('ready', flush=True)
def until(t, work, times):
    while time.time() < t:
        for _ in range(times):
            work()
        torch.cuda.synchronize()
for name, length in phases:
    begin = time.time()
    end = begin + length
    if name == 'products':
        until(end, lambda: torch.matmul(a, b, out=c), 50)
    elif name == 'bursts':
        while time.time() < end:
            until(min(end, time.time() + 0.7), lambda: torch.matmul(a, b, out=c), 20)
            time.sleep(max(0, min(0.6, end - time.time())))
    elif name == 'copies':
        until(end, lambda: y.copy_(x), 100)
    else:
        time.sleep(length)
    print(name, begin, time.time(), flush=True)
'''


def holds(sentence, held, detail=''):
    check(bool(held), sentence, str(detail)[:1500])


def skip(why):
    print(f'skip - gpu_energy: {why}')
    sys.exit(77)


def run(*argv, env=None, timeout=240):
    return subprocess.run(argv, capture_output=True, text=True, timeout=timeout, env=env)


def utc(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ')


def phases_of_load():
    """(name, begin, end) of each phase, once it was run."""
    words = [f'{name}={length}' for name, length in PHASES]
    if FAKE:
        out = []
        for name, length in PHASES:
            begin = time.time()
            time.sleep(length)
            out.append((name, begin, time.time()))
        return out
    load = subprocess.Popen([sys.executable, '-c', LOAD, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, error = load.communicate(timeout=240)
    if load.returncode != 0:
        holds('the load runs', False, error)
        finish()
    rows = [line.split() for line in out.splitlines() if line != 'ready']
    return [(name, float(begin), float(end)) for name, begin, end in rows]


def energy(folder, power, meter, jobs=True):
    argv = [MUSTER, 'energy', '--power', power, '--meter', meter, '--pue', '1', '--host-watts', '0', '--gpu', 'h200', '-o',
            'json']
    done = run(*argv, *(['--jobs', os.path.join(folder, 'jobs.csv')] if jobs else []), '--node', NODE)
    if done.returncode != 0:
        holds(f'muster energy reads {os.path.basename(power)}', False, done.stderr)
        finish()
    return json.loads(done.stdout)


def joules(row):
    return sum(row['gpu_j'].values())


def record(folder):
    """Records while the load runs; the phases, what the recorder used of a processor, and the file."""
    power = os.path.join(folder, 'power.csv')
    argv = [MUSTER, 'energy', 'record', '--every', '0.1', '--node', NODE, '--out', power]
    recorder = subprocess.Popen(argv + (['--nvml-library', FAKE] if FAKE else []), stderr=subprocess.PIPE, text=True)
    smi = None
    if not FAKE:
        with open(os.path.join(folder, 'smi.csv'), 'w', encoding='utf-8') as out:
            smi = subprocess.Popen(['nvidia-smi', '--query-gpu=timestamp,uuid,index,name,power.draw', '--format=csv', '-lms',
                                    '100'],
                                   stdout=out, env={**os.environ, 'TZ': 'UTC'})
    time.sleep(1)
    begin = time.time()
    phases = phases_of_load()
    time.sleep(1)
    if smi:
        smi.send_signal(signal.SIGINT)
        smi.wait(timeout=20)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    recorder.send_signal(signal.SIGINT)
    said = recorder.communicate(timeout=20)[1]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(said.strip())
    holds('the recorder ends when it is interrupted', recorder.returncode == 0, said)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    print(f'the recorder used {100 * cpu / (time.time() - begin):.2f} % of one processor')
    return phases, power


def write_jobs(folder, phases, uuid):
    with open(os.path.join(folder, 'jobs.csv'), 'w', encoding='utf-8', newline='') as out:
        rows = csv.writer(out)
        rows.writerow(['job', 'node', 'gpus', 'gpu_uuid', 'gpu_type', 'start', 'end'])
        for name, begin, end in phases:
            if int(end) > int(begin):
                rows.writerow([name, NODE, 1, uuid, 'h200', utc(int(begin)), utc(int(end))])


def by_hand(rows):
    """Joules of the samples of one GPU."""
    points = [(datetime.datetime.fromisoformat(r['timestamp_utc'].replace('Z', '+00:00')).timestamp(), float(r['power_w']))
              for r in rows if r['power_w']]
    return sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in zip(points, points[1:]))


def busy_gpu(rows):
    """UUID of the GPU that drew most in the recording: the one that the load was on."""
    most = {}
    for row in rows:
        if row['power_w']:
            most[row['uuid']] = max(most.get(row['uuid'], 0), float(row['power_w']))
    return max(most, key=most.get)


def compare_phases(folder, power):
    counted, sampled = (energy(folder, power, meter) for meter in ('counter', 'sampled'))
    by_name = {row['name']: row for row in sampled['rows']}
    print(f'{"phase":12} {"counter J":>12} {"samples J":>12} {"apart":>8} {"mean W":>8}')
    watts = {}
    for row in counted['rows']:
        holds(f'samples know {row["name"]} too', row['name'] in by_name, sorted(by_name))
        a, b = joules(row), joules(by_name.get(row['name'], {'gpu_j': {}}))
        hours = row['gpu_hours']
        watts[row['name']] = a / (3600 * hours) if hours else 0
        print(f'{row["name"]:12} {a:12.1f} {b:12.1f} {100 * (b / a - 1) if a else 0:+7.2f}% {watts[row["name"]]:8.1f}')
    return counted, watts


def main():
    if not FAKE:
        if not shutil.which('nvidia-smi') or run('nvidia-smi', '-L').returncode != 0:
            skip('no GPU that nvidia-smi knows')
        if run(sys.executable, '-c', 'import torch, sys; sys.exit(0 if torch.cuda.is_available() else 1)').returncode != 0:
            skip('no PyTorch with CUDA')
    with tempfile.TemporaryDirectory() as folder:
        phases, power = record(folder)
        with open(power, encoding='utf-8') as f:
            rows = list(csv.DictReader(f))
        uuid = busy_gpu(rows)
        mine = [r for r in rows if r['uuid'] == uuid]
        print(f'{len(rows)} rows, {len(mine)} of {uuid} ({mine[0]["model"]})')
        length = sum(s for _, s in PHASES)
        holds('at least eight of ten readings were taken in time', len(mine) >= 8 * length, len(mine))
        holds('every row has an energy counter', all(r['energy_mj'] for r in mine), mine[0])
        write_jobs(folder, phases, uuid)
        both = energy(folder, power, 'best')
        apart = next(a for a in both['agreement'] if a['gpu'] == uuid)
        print(f'over {apart["over_s"]:.1f} s: counter {apart["counter_j"]:.1f} J, samples {apart["sampled_j"]:.1f} J, '
              f'{apart["difference_pct"]:+.3f} %')
        holds('the counter and the integral of sampled power agree within 2 %',
              apart['difference_pct'] is not None and abs(apart['difference_pct']) <= WITHIN_PCT, apart)
        holds('and the counter was believed', both['all']['gpu_j']['counter'] > 0 and not apart['counter_refused'], apart)
        holds('over all of the load', apart['over_s'] >= 0.9 * length, apart)
        ours = by_hand(mine)
        holds("the samples' joules are those of trapezoids that this test adds up itself",
              abs(apart['sampled_j'] / ours - 1) < 0.01, (apart, ours))
        holds('all of it is counted, nothing estimated', both['all']['gpu_j']['estimated'] == 0, both['all'])
        counted, watts = compare_phases(folder, power)
        parts = sum(joules(row) for row in counted['rows'])
        holds('the phases and what nobody held are all of it', abs(parts - joules(counted['all'])) < 1e-3, (parts,
                  counted['all']))
        first = next(r for r in mine if r['energy_mj'])
        last = [r for r in mine if r['energy_mj']][-1]
        raw = (int(last['energy_mj']) - int(first['energy_mj'])) / 1e3
        holds("the counter's joules are its last reading less its first", abs(apart['counter_j'] - raw) < 0.01 * raw, (apart,
                  raw))
        if not FAKE:
            holds('products draw more than a pause', watts['products'] > 2 * watts['pause'], watts)
            smi = energy(folder, os.path.join(folder, 'smi.csv'), 'sampled')
            seen = {row['name']: joules(row) for row in smi['rows']}
            ours = {row['name']: joules(row) for row in counted['rows']}
            names = [n for n, _ in PHASES]
            holds('every phase is in both', all(n in seen and n in ours for n in names), (sorted(seen), sorted(ours)))
            names = [n for n in names if n in seen and n in ours]
            a, b = sum(ours[n] for n in names), sum(seen[n] for n in names)
            print(f'nvidia-smi -lms 100 over the phases: {b:.1f} J, the counter {a:.1f} J, {100 * (b / a - 1):+.3f} %')
            holds("what nvidia-smi wrote adds up to the counter's within 3 %", abs(b / a - 1) < 0.03, (a, b))
    finish()


if __name__ == '__main__':
    main()
