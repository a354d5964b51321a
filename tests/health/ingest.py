"""ingest.py MUSTER: samples read and judged in a CPU-second, the memory that takes, and peers on the same payload (short)."""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from held import check, finish  # noqa: E402

MUSTER = sys.argv[1]


def bench(*args):
    done = subprocess.run([MUSTER, 'bench', 'ingest', *args, '-o', 'json', '--progress', 'never'], capture_output=True, text=True)
    if done.returncode != 0:
        print(f'not ok - muster bench ingest {" ".join(args)}\n    exit {done.returncode}: {done.stderr[-500:]}')
        sys.exit(1)
    return json.loads(done.stdout)


r = bench('--gpus', '8000', '--rounds', '2', '--peer-seconds', '0')
for f in r['ingest']:
    what = f"8,000 GPUs with {f['series']} series"
    check(f['samples_per_cpu_s'] >= 3e6, f"{what}: {f['samples_per_cpu_s'] / 1e6:.1f} M samples in a CPU-second, at least 3")
    check(f['samples'] == 8000 * f['series'] * 2 and f['refused'] == 0 and f['findings'] == 0,
          f"{what}: {f['samples']} samples, none refused, no finding on healthy GPUs")
    check(0 < f['kept'] <= f['samples'], f"{what}: {f['kept']} of them are of use to the detectors")
check([f['series'] for f in r['ingest']] == [25, 125], 'with 25 and with 125 series')
check(r['scraping'] == [] and 'also store' in r['note'], 'no peers were asked for, and none are shown')

r = bench('--gpus', '100000', '--rounds', '1', '--peer-seconds', '0')
check(r['rss_mb'] < 1500, f"100,000 GPUs with 125 series: {r['rss_mb']:.0f} MB, below 1,500")

# Figures of a few seconds on few targets are rough: they must be there and of the right kind, and ours must be the better ones.
r = bench('--gpus', '800', '--rounds', '1', '--peer-seconds', '8')
for p in r['scraping']:
    what = f"{p['name']} with {p['series']} series"
    if p['absent']:
        check(p['name'] != 'muster' and shutil.which(p['name']) is None, f"{what}: {p['absent']}")
        continue
    # Of 125 series every 10 s: 8 s see half of a round or more.
    check(p['samples'] >= 0.4 * 800 * p['series'] and p['cpu_s'] > 0,
          f"{what}: {p['samples']} samples, {p['cpu_s']:.2f} CPU-seconds, {p['samples_per_cpu_s'] / 1e3:.0f} k in one")
for f in r['ingest']:
    if sum(p['series'] == f['series'] and not p['absent'] for p in r['scraping']) > 1:
        check(f['times_best_peer'] > 2,
              f"with {f['series']} series Muster scrapes {f['times_best_peer']:.1f} times what the better does in a CPU-second")
check(len(r['scraping']) == 6, 'each program is named with its figures, or with why there are none')
finish()
