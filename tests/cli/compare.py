#!/usr/bin/env python3
"""Policies judged on the same seeds: nothing is claimed of a policy against itself, a worse one is found out, and the figures are
those that anyone can work out from the runs in the answer."""
import json
import math
import os

from checks import STATE, check, finish, run

T_975_9 = 2.2621571628  # Student's t, nine degrees of freedom


def policy(name, text):
    path = os.path.join(STATE, name + '.yaml')
    with open(path, 'w') as f:
        f.write(f'name: {name}\n{text}')
    return path


def compare(*args, code=0):
    ran = run('twin', 'compare', *args, '-o', 'json', '--progress', 'never', timeout=110)
    check(ran.code == code, 'twin compare ' + ' '.join(a.replace(STATE + '/', '') for a in args[:6]) + ' ...', ran)
    return json.loads(ran.out) if ran.code == code else None


def metric(report, name):
    return next(m for m in report['metrics'] if m['name'] == name)


os.makedirs(STATE, exist_ok=True)
renamed = policy('renamed', 'gpu_hour_price: 2\n')
blind = policy('blind', 'runbooks:\n  gpu_lost: {act: false}\n')

small = ('--gpus', '128', '--days', '1', '--weather', 'x200')
r = compare('--policy', 'default', '--policy', 'default', '--policy', renamed, *small, '--seeds', '3')
names = [p['name'] for p in r['policies']]
check(names == ['default', 'default #2', 'renamed'], 'policies are called by their names, a second one by a number', names)
differences = [d for m in r['metrics'] for d in m['differences']]
check(len(differences) >= 34 and all(d['outcome'] == 'same' and d['mean'] == d['low'] == d['high'] == 0 and d['p'] == 1
                                     for d in differences),
      'a policy against itself, or under another name, has no difference at all', differences[:2])
check(sum(x['report']['faults']['injected'] for x in r['runs']) > 20, 'in histories with faults')
digests = {(x['policy'], x['report']['seed']): x['report']['digest'] for x in r['runs']}
check(len(digests) == 9 and all(digests['default', s] == digests['default #2', s] for s in (1, 2, 3)) and
      len(set(digests.values())) == 6, 'each seed is one history a policy', digests)
lost = metric(r, 'gpu_hours_lost')['values'][0]['mean']
check(math.isclose(metric(r, 'money_lost')['values'][0]['mean'], 2 * lost), 'the price that one policy names counts for all')

r = compare('--policy', 'default', '--policy', blind, '--gpus', '256', '--days', '2', '--weather', 'x100', '--seeds', '10')
for name in ('goodput_pct', 'left_open', 'gpu_hours_lost'):
    d = metric(r, name)['differences'][0]
    check(d['outcome'] == 'worse' and d['p'] <= 0.05 and d['verdict'].startswith('blind is worse by '),
          f"a policy that lets lost GPUs be: {name}: {d['verdict']}", d)
check(not any(m['name'] == 'money_lost' for m in r['metrics']), 'without a price nothing is said of money')
of = {p: [x['report']['goodput'] * 100 for x in r['runs'] if x['policy'] == p] for p in ('default', 'blind')}
pairs = [b - a for a, b in zip(of['default'], of['blind'])]
mean = sum(pairs) / 10
half = T_975_9 * math.sqrt(sum((x - mean) ** 2 for x in pairs) / 9) / math.sqrt(10)
d = metric(r, 'goodput_pct')['differences'][0]
check(math.isclose(d['mean'], mean, rel_tol=1e-9) and math.isclose(d['low'], mean - half, rel_tol=1e-6) and
      math.isclose(d['high'], mean + half, rel_tol=1e-6), 'the interval is the one that the runs in the answer give', (d, pairs))

ran = run('twin', 'compare', '--policy', 'default', '--policy', blind, *small, '--seeds', '2', '--price', '3')
check(ran.code == 0 and 'goodput, %' in ran.out and 'blind against default, seed by seed' in ran.out and
      'seeds would be needed to see' in ran.out and 'money: 3 for a GPU-hour' in ran.out and '2 seeds cannot tell' in ran.err and
      'comparing: ' in ran.err, 'as a table, with what few seeds cannot show; progress on stderr', ran)

dear = policy('dear', 'gpu_hour_price: 9\n')
ran = run('twin', 'compare', '--policy', renamed, '--policy', dear, *small)
check(ran.code == 2 and 'different prices' in ran.err and '--price' in ran.err, 'two prices of a GPU-hour are refused', ran)
check(run('twin', 'compare', '--policy', 'default', '--policy', STATE + '/none.yaml', *small).code == 3,
      'a file that is not there')

journal = os.path.join(STATE, 'day.db')
ran = run('twin', 'run', '--gpus', '128', '--days', '1', '--weather', 'x200', '--seed', '4', '--journal', journal)
check(ran.code == 0, 'a recorded day', ran)
r = compare('--policy', 'default', '--policy', 'default', '--policy', blind, '--journal', journal, '--days', '0.5',
            '--weather', 'x200', '--seeds', '2')
check(r['gpus'] == 128 and all(abs(x['report']['gpu_hours']['installed'] - 128 * 12) < 8 for x in r['runs']),
      'every run goes on from the end of a journal, on its cluster, and counts its own time', r['runs'][0])
check(metric(r, 'goodput_pct')['differences'][0]['outcome'] == 'same', 'and a policy against itself is the same there too')
check(run('twin', 'compare', '--policy', 'default', '--policy', blind, '--journal', STATE + '/none.db').code == 3,
      'a journal that is not there')
finish()
