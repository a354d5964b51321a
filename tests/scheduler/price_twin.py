#!/usr/bin/env python3
"""Work that may wait, in the twin: with `--prices` it runs in the cheap hours, with carbon in the policy in the clean ones, and
no later than its deadline allows. Needs no data."""
import datetime
import gzip
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from held import check, finish  # noqa: E402

MUSTER = os.path.abspath(sys.argv[1])
JOBS = """jobs:
  - {name: now, nodes: 1, steps: 300, step_s: 10}
  - {name: nightly, nodes: 1, steps: 300, step_s: 10, deadline_in: 20h, deferrable: true}
  - {name: soon, nodes: 1, steps: 300, step_s: 10, deadline_in: 6h, deferrable: true}
"""


def write(name, text):
    with open(name, 'w') as f:
        f.write(text)


def cheap(hour):
    return 20 if hour in (10, 11, 12, 13) else 100


def clean(hour):
    return 50 if hour in (3, 4, 5) else 400


def rows(head, *columns, hours=72):
    """Hourly rows from a day long past: only their hour of the day matters."""
    out = head + '\n'
    for h in range(hours):
        day = datetime.date(2019, 5, 1) + datetime.timedelta(days=h // 24)
        out += ','.join([f'{day} {h % 24:02}:00:00'] + [str(c(h % 24)) for c in columns]) + '\n'
    return out


def run(*args):
    return subprocess.run([MUSTER, *args], capture_output=True, text=True, timeout=120)


def events(journal, kind):
    done = run('journal', 'export', journal, '--type', kind)
    return [json.loads(line) for line in done.stdout.splitlines()]


def starts(prices, *more):
    """Hour at which each job began, and what was said on stderr."""
    if os.path.exists('run.db'):
        os.remove('run.db')
    done = run('twin', 'run', '--gpus', '64', '--days', '1', '--no-weather', '--jobs', 'jobs.yaml', '--prices', prices,
               '--journal', 'run.db', '--progress', 'never', *more)
    if done.returncode != 0:
        check(False, f'twin run --prices {prices}', done.stderr)
        sys.exit(1)
    names = {e['body']['job']: e['body']['spec']['name'] for e in events('run.db', 'job_submitted')}
    began = {names[e['body']['job']]: e['utc'] // 10**9 % 86400 / 3600 for e in events('run.db', 'job_started')}
    return began, done.stderr


def in_the_twin():
    began, said = starts('price.csv')
    check(10 <= began['nightly'] < 10.1,
          f"a job with 20 h to spare waits for the cheap hours from 10:00: {began['nightly']:.2f} h")
    check(began['now'] < 0.1 and began['soon'] < 0.1,
          'who may not wait, and whose deadline comes before them, start at once', began)
    check(said == '', 'nothing to say about a whole series', said)
    packed, _ = starts('price.csv.gz')
    check(packed == began, 'the same from a .gz', packed)

    began, said = starts('both.csv')
    check(10 <= began['nightly'] < 10.1 and 'carbon_per_tonne is 0' in said,
          'carbon counts for nothing until the policy gives it a price, and that is said', said)
    began, said = starts('both.csv', '--policy', 'clean.yaml')
    check(3 <= began['nightly'] < 3.1 and 3 <= began['soon'] < 3.1 and said == '',
          f"with carbon_per_tonne both wait for the clean hours from 03:00: {began['nightly']:.2f}, {began['soon']:.2f} h", said)
    alone, _ = starts('carbon.csv', '--policy', 'clean.yaml')
    check(3 <= alone['nightly'] < 3.1, 'a file with carbon and no prices will do', alone)

    began, said = starts('gap.csv')
    check('4 of 120 hours are missing' in said and 'day before' in said, 'hours that are missing are told: ' + said.strip())
    bad = run('twin', 'run', '--gpus', '64', '--prices', 'hole.csv')
    check(bad.returncode == 2 and not bad.stdout and '100 hours are missing' in bad.stderr, 'a hole of days is refused',
          bad.stderr)


def in_the_bench():
    plain, packed = run('bench', 'price', '--prices', 'price.csv'), run('bench', 'price', '--prices', 'price.csv.gz')
    check(plain.returncode == 0 and plain.stdout == packed.stdout, 'bench price reads a .gz', packed.stderr)
    gap = run('bench', 'price', '--prices', 'gap.csv', '--progress', 'never')
    check(gap.returncode == 0 and '4 of 120 hours are missing' in gap.stderr, 'bench price tells what was missing', gap.stderr)
    hole = run('bench', 'price', '--prices', 'hole.csv')
    check(hole.returncode == 2 and '100 hours are missing' in hole.stderr, 'and refuses a hole of days', hole.stderr)


def in_the_demo():
    done = run('demo', '--gpus', '64', '--no-weather', '--jobs', 'jobs.yaml', '--prices', 'price.csv', '--speed', '20000',
               '--days', '0.01', '--port', '0', '--state', 'state')
    told = []
    for folder, _, files in os.walk('state'):
        for name in files:
            if name.endswith('.db'):
                told += events(os.path.join(folder, name), 'price_announced')
    hours = told and [(told[0]['body']['from'] // 10**9 // 3600 + i) % 24 for i in range(len(told[0]['body']['price_per_mwh']))]
    check(done.returncode == 0 and hours and told[0]['body']['price_per_mwh'] == [cheap(h) for h in hours],
          'a demo, begun at any minute, is told the prices of these hours of the day', (done.stderr[-500:], told[:1]))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    write('jobs.yaml', JOBS)
    write('clean.yaml', 'scheduling:\n  carbon_per_tonne: 2000\n')
    price = rows('timestamp,price_per_mwh,forecast_per_mwh', cheap, cheap)
    write('price.csv', price)
    with gzip.open('price.csv.gz', 'wt') as f:
        f.write(price)
    write('both.csv', rows('timestamp,price_per_mwh,forecast_per_mwh,carbon_g_per_kwh,carbon_forecast_g_per_kwh', cheap, cheap,
                           clean, clean))
    write('carbon.csv', rows('timestamp_utc,actual_g_per_kwh,forecast_24h_g_per_kwh', clean, clean))
    long = rows('timestamp,price_per_mwh,forecast_per_mwh', cheap, cheap, hours=120).splitlines(keepends=True)
    write('gap.csv', ''.join(long[:61] + long[65:]))
    long = rows('timestamp,price_per_mwh,forecast_per_mwh', cheap, cheap, hours=240).splitlines(keepends=True)
    write('hole.csv', ''.join(long[:61] + long[161:]))
    in_the_twin()
    in_the_bench()
    in_the_demo()
    os.chdir('/')
finish()
