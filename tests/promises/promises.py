"""Promised figures of simulated runs: repeat | scale | soak | replay."""
import json
import math
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from held import check, finish  # noqa: E402

MUSTER, PART = os.path.abspath(sys.argv[1]), sys.argv[2]


def muster(*args):
    done = subprocess.run([MUSTER, *args], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def run(*args):
    code, out, err = muster('twin', 'run', *args, '-o', 'json', '--progress', 'never')
    if code != 0:
        check(False, 'muster twin run ' + ' '.join(args), f'exit {code}\n{out[-1500:]}{err[-500:]}')
        sys.exit(1)
    return json.loads(out)


def repeat():
    one, again = (run('--gpus', '1024', '--days', '7', '--seed', '1') for _ in range(2))
    other = run('--gpus', '1024', '--days', '7', '--seed', '2')
    check(one['digest'] == again['digest'], 'the same seed gives the same digest: ' + one['digest'])
    check(one['digest'] != other['digest'], 'another seed gives another digest')
    wanted = {'seed', 'gpus', 'days', 'events', 'cpu_s', 'rss_mb', 'digest', 'gpu_hours', 'goodput', 'weather', 'jobs', 'faults',
              'mttr_s', 'actions', 'violations'}
    check(wanted <= set(one), 'the report has every promised field', wanted - set(one))
    check({'submitted', 'completed', 'requeued', 'lost'} <= set(one['jobs']), 'jobs are counted', one['jobs'])
    check({'injected', 'detected', 'missed', 'false'} <= set(one['faults']), 'faults are counted', one['faults'])
    ms = dict(one['gpu_ms'])
    installed = ms.pop('installed')
    check(sum(ms.values()) == installed == 1024 * 7 * 86_400_000,
          f'GPU-milliseconds sum to what is installed, exactly: {installed}', ms)


def scale():
    cost = {}
    for gpus in (1000, 10_000, 100_000):
        r = run('--gpus', str(gpus), '--days', '1', '--seed', '1')
        cost[gpus] = r
        print(f"# {gpus} GPUs: {r['cpu_s']:.2f} CPU-s, {r['rss_mb']:.0f} MB, {r['events']} events, {r['samples']} samples, "
              f"{r['events_per_cpu_s']:.0f} events and {r['samples_per_cpu_s']:.0f} samples per CPU-s, "
              f"{100 * r['allocated']:.1f} % allocated", flush=True)
    big = cost[100_000]
    check(big['cpu_s'] <= 60, f"100,000 GPUs for a day: {big['cpu_s']:.1f} CPU-s, at most 60")
    check(big['rss_mb'] <= 1536, f"100,000 GPUs for a day: {big['rss_mb']:.0f} MB, at most 1536")
    check(big['allocated'] >= 0.90, f"GPUs allocated: {100 * big['allocated']:.1f} %, at least 90")
    check(big['samples'] >= 12_500 * 1439, f"every node reports each minute: {big['samples']} samples, at least {12_500 * 1439}")
    # The last tenfold by itself: above n log n, since each pass of the queue looks at all that run and wait.
    growth = big['cpu_s'] / cost[10_000]['cpu_s']
    n_log_n = 10 * math.log(100_000) / math.log(10_000)
    check(growth <= 1.5 * n_log_n, f'cost grows {growth:.1f}-fold from 10,000 to 100,000 GPUs; n log n is {n_log_n:.1f}')
    whole = big['cpu_s'] / cost[1000]['cpu_s']
    check(whole <= 100 * math.log(100_000) / math.log(1000) * 1.15,
          f'cost grows {whole:.0f}-fold from 1,000 to 100,000 GPUs; n log n is 167')


def soak():
    args = ('twin', 'soak', '--seeds', '200', '--first-seed', '1', '--gpus', '512', '--days', '2', '--weather', 'x200',
            '-o', 'json')
    code, out, err = muster(*args, '--progress', 'never')
    if code not in (0, 6):
        check(False, 'the soak runs', out + err)
        return
    r = json.loads(out)
    check(code == 0 and not r['violations'],
          f"200 seeds at weather x200, {r['faults']} faults, {r['actions']} actions: no violation", r)
    check(r['faults'] >= 2000 and not r['void'], f"enough faults for it to count: {r['faults']}")
    found = r['detected'] / max(1, r['faults'])
    check(found >= 0.97, f"faults found: {100 * found:.2f} %; false alarms: {r['false']}")
    # A node drained without a fault is what people are burnt by.
    check(r['false'] * 1000 <= r['faults'], f"false alarms: {r['false']} in {r['faults']} faults")


def replay():
    with tempfile.TemporaryDirectory(prefix='muster-replay-') as d:
        journal = os.path.join(d, 'journal.db')
        memory = run('--gpus', '512', '--days', '2', '--seed', '5', '--weather', 'x100')
        r = run('--gpus', '512', '--days', '2', '--seed', '5', '--weather', 'x100', '--journal', journal)
        check(r['digest'] == memory['digest'], 'a run gives the same digest with a journal on disk as without')
        code, out, err = muster('twin', 'replay', journal, '--check', '-o', 'json')
        same = json.loads(out) if code == 0 else {}
        check(code == 0 and same.get('same') is True, f"replay: {same.get('decisions')} decisions the same, bit for bit",
              out + err)
        other = os.path.join(d, 'other.yaml')
        with open(other, 'w') as f:
            f.write('name: timid\nlimits:\n  out_cluster_pct: 0\n  out_cluster_floor: 1\n')
        code, out, err = muster('twin', 'replay', journal, '--policy', other, '--days', '1', '-o', 'json', '--progress', 'never')
        fork = json.loads(out) if code == 0 else {}
        check(code == 0 and fork.get('first_difference') is not None, 'with another policy the first differing action is named',
              out + err)
        check(fork.get('fork', {}).get('events', 0) > 100, 'and history goes on in a fork of the twin', out[-500:])
        check(not fork.get('fork', {}).get('violations', ['none']), 'which keeps the other policy', out[-800:])


{'repeat': repeat, 'scale': scale, 'soak': soak, 'replay': replay}[PART]()
finish()
