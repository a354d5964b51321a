"""place.py MUSTER: the promised figures of gang placement, on seeds that no rule was tuned on."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from held import check, finish  # noqa: E402

MUSTER = sys.argv[1]


def bench(*args):
    done = subprocess.run([MUSTER, 'bench', 'place', *args, '-o', 'json'], capture_output=True, text=True)
    if done.returncode != 0:
        print(f'not ok - muster bench place {" ".join(args)}\n    exit {done.returncode}: {done.stderr[-500:]}')
        sys.exit(1)
    return json.loads(done.stdout)


# The median decision of first-fit, in us of thread CPU, on the machines for which the limits are promised. On a slower one, or
# one whose caches others use, the limits grow as much as first-fit takes longer in the same run; they never shrink.
FIRST_FIT_P50_US = 0.54


def limit_of(r, p99_max):
    return p99_max * max(1, r.get('first_fit_p50_us', 0) / FIRST_FIT_P50_US)


def beside_first_fit(args):
    r = bench(*args, '--peer')
    r['first_fit_p50_us'] = next(b['p50_us'] for b in r['beside'] if b['name'] == 'first-fit')
    return r


def timed(runs, tries=12):
    """The least of several tries of each of `runs`, (p99_max, arguments): what else runs on the machine takes its caches, and
    only ever adds. By turns, since such a neighbour stays for a while; in the end beside first-fit."""
    best = [bench(*args) for _, args in runs]
    for t in range(1, tries):
        for k, (p99_max, args) in enumerate(runs):
            if best[k]['p99_us'] > limit_of(best[k], p99_max):
                r = beside_first_fit(args) if t >= tries // 2 else bench(*args)
                best[k] = min(best[k], r, key=lambda r: r['p99_us'] / limit_of(r, p99_max))
    return best


def times(r, p99_max, what):
    limit, beside = limit_of(r, p99_max), ''
    if 'first_fit_p50_us' in r:
        beside = f", as first-fit takes {r['first_fit_p50_us']:.2f} where {FIRST_FIT_P50_US} is usual"
    check(r['p99_us'] <= limit,
          f"{what}: p50 {r['p50_us']:.2f}, p99 {r['p99_us']:.2f} us of thread CPU, at most {limit:.1f}{beside}")
    check(r['max_us'] <= 1000, f"{what}: longest decision {r['max_us']:.0f} us, at most 1000")


SEEDS = ('1', '2', '3')
*of_seeds, big = timed(
    [(10, ('--gpus', '98304', '--load', '0.97', '--seed', seed, '--decisions', '120000')) for seed in SEEDS] +
    [(50, ('--gpus', '1000000', '--load', '0.97', '--decisions', '100000'))])
for seed, r in zip(SEEDS, of_seeds):
    what = f'98,304 GPUs at load 0.97, seed {seed}'
    times(r, 10, what)
    check(r['leaves_ratio'] <= 1.05, f"{what}: leaves over minimum {r['leaves_ratio']:.4f}, at most 1.05")
    check(r['at_minimum_pct'] >= 92, f"{what}: {r['at_minimum_pct']:.2f} % of gangs at the minimum, at least 92")
    check(0.96 <= r['load_seen'] <= 0.98, f"{what}: load seen {r['load_seen']:.4f}, rejected {r['rejected_pct']:.2f} %")
    check({'decisions', 'rss_mb', 'clock_us'} <= set(r), f"{what}: {r['decisions']} decisions, {r['rss_mb']:.0f} MB")

again = [bench('--gpus', '10000', '--decisions', '20000', '--seed', '7') for _ in range(2)]
check(again[0]['leaves_ratio'] == again[1]['leaves_ratio'] and again[0]['at_minimum_pct'] == again[1]['at_minimum_pct'],
      f"the same seed gives the same placements: ratio {again[0]['leaves_ratio']:.6f}")

r = bench('--gpus', '98304', '--decisions', '40000', '--peer')
first_fit = next(b for b in r['beside'] if b['name'] == 'first-fit')
check(first_fit['leaves_ratio'] > r['leaves_ratio'],
      f"first-fit on the same stream: {first_fit['leaves_ratio']:.3f} leaves over minimum, ours {r['leaves_ratio']:.3f}")

times(big, 50, '1,000,000 GPUs at load 0.97')
small = bench('--gpus', '10000', '--load', '0.97', '--decisions', '100000')
check(big['p99_us'] <= 12 * small['p99_us'],
      f"a cluster 100 times as large: p99 {small['p99_us']:.2f} to {big['p99_us']:.2f} us, not 100 times as long")
finish()
