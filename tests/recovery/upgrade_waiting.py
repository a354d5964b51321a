#!/usr/bin/env python3
"""A rolling upgrade of 2,048 nodes that waits for jobs: none is stopped, none spans both versions, the budget holds also with a
version with which nodes do not come up, and it takes at most 1.3 times what is needed at least."""
import json
import subprocess
import sys

failed = 0
for name, flags in (('good', []), ('broken', ['--bad'])):
    command = ['bench', 'upgrade', '--wait-for-jobs', '--gpus', '16384', '--seeds', '1', '--weather', 'x0', '-o', 'json']
    ran = subprocess.run([sys.argv[1], *command, '--progress', 'never', *flags], capture_output=True, text=True)
    try:
        r = json.loads(ran.stdout)
    except ValueError:
        print(f'{name}: no figures: {ran.stderr[-500:]}')
        failed += 1
        continue
    for x in r['runs']:
        print(f"{name}: {x['phase']}, {x['killed']} jobs stopped, {x['mixed']} starts on both versions, at most "
              f"{x['most_away']} of {x['budget']} nodes away, last one back after {x['back_h']:.1f} h where {x['bound_h']:.1f} "
              f"are needed, {x['reached']} nodes reached")
    for what in r['not_kept']:
        print(f'NOT KEPT: {what}')
    failed += ran.returncode != 0
sys.exit(1 if failed else 0)
