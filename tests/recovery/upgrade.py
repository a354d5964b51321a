#!/usr/bin/env python3
"""A rolling driver upgrade of 2,048 GPUs under load: finished within 24 hours, less than 2 % of useful GPU-hours lost, budgets
hold, and a version that hangs GPUs is stopped at the canaries."""
import json
import subprocess
import sys

failed = 0
for name, flags in (('good', []), ('bad', ['--bad'])):
    ran = subprocess.run([sys.argv[1], 'bench', 'upgrade', '-o', 'json', '--progress', 'never', *flags],
                         capture_output=True, text=True)
    try:
        r = json.loads(ran.stdout)
    except ValueError:
        print(f'{name}: no figures: {ran.stderr[-500:]}')
        failed += 1
        continue
    runs = r['runs']
    print(f"{name}: {len(runs)} seeds, {sorted({x['phase'] for x in runs})}, at most {max(x['took_h'] for x in runs):.1f} h, "
          f"useful GPU-hours fell by {r['useful_loss_pct']:.2f} % ({r['useful_loss_low']:.2f} to {r['useful_loss_high']:.2f}), "
          f"{sum(x['moves'] for x in runs) / len(runs):.0f} jobs moved, at most {max(x['most_out'] for x in runs)} nodes out, "
          f"it reached at most {max(x['reached'] for x in runs)} nodes")
    for what in r['not_kept']:
        print(f'NOT KEPT: {what}')
    failed += ran.returncode != 0
sys.exit(1 if failed else 0)
