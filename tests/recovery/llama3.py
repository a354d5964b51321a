#!/usr/bin/env python3
"""The 54 days of Llama 3 over a few seeds: effective time, distance to the optimum, time to recover; and the bench can fail."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from held import check, finish  # noqa: E402

muster = sys.argv[1]


def bench(*args):
    out = subprocess.run([muster, 'bench', 'llama3', '-o', 'json', *args], capture_output=True, text=True, check=False)
    return out.returncode, json.loads(out.stdout)


code, r = bench('--seeds', '4')
check(code == 0 and r['kept'], 'every bound is kept: ' + '; '.join(x for run in r['runs'] for x in run['not_kept']))
curve = {c['stall_s']: c['optimum_pct'] for c in r['curve']}
check(abs(curve[1] - 97.1) < 0.05 and abs(curve[3] - 96.1) < 0.05,
      f'the optimum for 180 s to recover is {curve[1]:.2f} % at a stall of 1 s, {curve[3]:.2f} % at 3 s')
for run in r['runs']:
    name = f"{run['policy']}, stall {run['stall_s']:g} s"
    check(abs(sum(run['breakdown_pct'].values()) - 100) < 1e-6, f'{name}: the breakdown sums to 100 %')
    rec = run['recovery']
    check(run['policy'] == 'manual' or run['optimum_pct'] - run['effective_pct'] <= 0.3,
          f"{name}: effective {run['effective_pct']:.2f} % +- {run['effective_ci95']:.2f}, optimum {run['optimum_pct']:.2f} %; "
          f"fault to first step median {rec['p50_s']:.0f} s, p99 {rec['p99_s']:.0f} s")
manual = next(x for x in r['runs'] if x['policy'] == 'manual')
check(abs(manual['effective_pct'] - 90) <= 1, f"the crew comes to {manual['effective_pct']:.2f} %")

small = ('--gpus', '2048', '--days', '10', '--seeds', '1', '--policy', 'default', '--stall', '1')
code, r = bench(*small, '--restart', '600s')
check(code == 6 and not r['kept'] and any('median' in x for x in r['runs'][0]['not_kept']),
      'a restart of 10 minutes breaks the bound on the median: exit 6')
check(bench(*small)[1]['runs'][0]['effective_pct'] == bench(*small)[1]['runs'][0]['effective_pct'],
      'the same seed gives the same figures')
finish()
