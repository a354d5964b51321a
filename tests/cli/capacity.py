#!/usr/bin/env python3
"""Capacity: forecasts with tested bands that claim no skill they have not, dates at which things end, the chance that waits keep
their targets by nodes added, purchases as sheets. With MUSTER_DATA, the promised figures on the Philly trace."""
import csv
import datetime
import io
import json
import math
import os
import random

from checks import STATE, check, finish, run

MONDAY = datetime.datetime(2026, 1, 5)


def write(name, text):
    with open(f'{STATE}/{name}', 'w') as f:
        f.write(text)
    return f'{STATE}/{name}'


def trace(name, rows):
    lines = ['timestamp,duration,num_gpus']
    for at_h, run_s, gpus in sorted(rows):
        lines.append(f'{MONDAY + datetime.timedelta(hours=at_h):%Y-%m-%d %H:%M:%S},{run_s:.0f},{gpus}')
    return write(name, '\n'.join(lines) + '\n')


def busy(weeks, per_hour, seed=1):
    """Jobs by day more than by night and on five days more than on two, some larger than a node."""
    r, rows = random.Random(seed), []
    for hour in range(24 * 7 * weeks):
        rate = per_hour * (1.5 if hour % 24 < 12 else 0.5) * (1 if hour // 24 % 7 < 5 else 0.4)
        for _ in range(int(rate) + (r.random() < rate % 1)):
            rows.append((hour + r.random(), min(3600 * math.exp(r.gauss(0, 1.2)), 200_000), r.choice([1, 1, 1, 1, 2, 4, 8, 16])))
    return rows


def ask(*args, code=0):
    ran = run('capacity', *args)
    check(code is None or ran.code == code, f'muster capacity {" ".join(args)[:60].replace(STATE, "")}: exit {code}', ran)
    return json.loads(ran.out) if ran.code == code and 'json' in args else ran


# ---- forecast
jobs = trace('jobs.csv', busy(14, 6))
f = ask('forecast', jobs, '-o', 'json', '--gpus', '60', '--racks-free', '2', '--kw-free', '25', '--quota-gpu-hours', '9000')
check(f['kind'] == 'CapacityForecast' and len(f['forecast']) == 28 and f['forecast'][0]['date'] == '2026-04-12',
      'a day for each of four weeks, from the first that is not whole', f['forecast'][:1])
check(all(d['gpu_hours_p10'] <= d['gpu_hours'] <= d['gpu_hours_p90'] for d in f['forecast']), 'low, point and high in order')
check([h['days'] for h in f['horizons']] == [7, 14, 28] and
      all(h['wape_holt_winters'] < 1 and h['wape_seasonal_naive'] < 1 for h in f['horizons']),
      'errors at three horizons', f['horizons'])
check(f['skill_claimed'] == (f['skill'] > 0) and ('Holt' in f['method']) == f['skill_claimed'],
      'what is shown is what won on the history', (f['skill'], f['method']))
check([e['what'] for e in f['ends']] == ['GPUs', 'racks', 'power', 'quota'], 'GPUs, racks, power and a quota end', f['ends'])
ends = {e['what']: e for e in f['ends']}
check(ends['quota']['p10_date'] <= ends['quota']['p50_date'] <= (ends['quota']['p90_date'] or '9999'),
      'earlier with a chance of one in ten than by even odds', ends['quota'])
days_to_empty = 9000 / (sum(d['gpu_hours'] for d in f['forecast']) / 28)
at = (datetime.date.fromisoformat(ends['quota']['p50_date']) - datetime.date(2026, 4, 11)).days
check(abs(at - days_to_empty) <= 3, 'the quota ends when the days have used it', (at, days_to_empty))
said = ask('forecast', jobs, '--gpus', '100000')
check('not within 28 days' in said.out and 'GPU-hours a day' in said.out and not said.err, 'what does not end is said so', said)
grown = ask('forecast', jobs, '-o', 'json', '--growth', '100', '--horizon', '200')
check(grown['forecast'][-1]['gpu_hours'] > 1.2 * f['forecast'][-1]['gpu_hours'] and not grown['forecast'][-1]['checked'] and
      grown['forecast'][0]['checked'], 'growth is assumed, and bands beyond the history are marked')
rows = list(csv.DictReader(io.StringIO(ask('forecast', jobs, '-o', 'csv').out)))
check(len(rows) == 28 and float(rows[3]['gpu_hours_p10']) <= float(rows[3]['gpu_hours_p90']), 'the days as CSV')
jumps = trace('jumps.csv', [(24 * d + h, 3000, 8 if d // 21 % 2 else 2) for d in range(126) for h in range(12)])
f = ask('forecast', jumps, '-o', 'json')
check(f['skill'] < 0 and not f['skill_claimed'] and f['method'] == 'as a week ago' and 'no skill is claimed' in f['verdict'],
      'where Holt-Winters loses, no skill is claimed and the naive forecast is shown', f['verdict'])
short = ask('forecast', trace('short.csv', busy(4, 2)), '-o', 'json')
check(short['skill'] is None and 'too short' in short['verdict'], 'a short history claims nothing', short['verdict'])

# ---- what sacct printed
head = 'JobID|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|ElapsedRaw|NNodes|NodeList|AllocTRES|ReqTRES\n'
lines = []
for i, (at_h, run_s, gpus) in enumerate(sorted(busy(14, 6))):
    t = [MONDAY + datetime.timedelta(hours=at_h, seconds=s) for s in (0, 60, 60 + run_s)]
    s = [f'{x:%Y-%m-%dT%H:%M:%S}' for x in t]
    lines.append(f'{i + 1}|u|a|p|q|COMPLETED|{s[0]}|{s[0]}|{s[1]}|{s[2]}|{run_s:.0f}|1|n1|gres/gpu={gpus}|gres/gpu={gpus}\n')
sacct = write('sacct.txt', head + ''.join(lines))
s = ask('forecast', sacct, '-o', 'json')
check(abs(s['forecast'][5]['gpu_hours'] / ask('forecast', jobs, '-o', 'json')['forecast'][5]['gpu_hours'] - 1) < 0.01,
      'the same jobs from sacct give the same forecast')

# ---- records that would mislead
def with_lines(name, *more):
    return write(name, open(jobs).read() + ''.join(line + '\n' for line in more))


plain = ask('forecast', jobs, '-o', 'json')
for name, line in (('future.csv', '2096-01-01 00:00:00,100,8'), ('past.csv', '1970-01-01 00:00:00,100,8')):
    ran = run('capacity', 'forecast', with_lines(name, line), '-o', 'json')
    check(ran.code == 0 and json.loads(ran.out)['days'] == plain['days'] and 'left out: 1 job from ' + line[:10] in ran.err,
          f'one row of {line[:4]} is left out by name, and nothing waits for it', ran)
twice = ask('forecast', write('twice.txt', head + ''.join(lines) + ''.join(lines[:500])), '-o', 'json')
check(twice['forecast'] == s['forecast'], 'where two exports of sacct overlap, a run counts once', twice['jobs'])
said = run('capacity', 'forecast', write('twice2.txt', head + ''.join(lines) + ''.join(lines[:500])))
check('left out: 500 jobs that came twice' in said.err, 'and that is said', said)
said = run('capacity', 'forecast', write('doubled.csv', open(jobs).read() + open(jobs).read().split('\n', 1)[1]))
check(said.code == 0 and 'two exports' in said.err, 'a trace has no job ids: rows that are there twice are pointed at', said)
said = run('capacity', 'forecast', write('notres.txt', head.replace('|AllocTRES|ReqTRES', '') + '1|u|a|p|q|COMPLETED|'
           '2026-01-05T00:00:00|2026-01-05T00:00:00|2026-01-05T00:01:00|2026-01-05T01:00:00|3540|1|n1\n'))
check(said.code == 2 and 'no column says how many GPUs' in said.err and 'AllocTRES' in said.err,
      'sacct without its TRES is not "jobs without GPUs"', said)
said = run('capacity', 'forecast', write('back.txt', head + ''.join(lines) + lines[7].replace(lines[7].split('|')[9],
                                                                                        '2026-01-04T00:00:00')
                                        .replace(lines[7].split('|')[0] + '|', '99999|', 1)))
check('left out: 1 job that ended before the start' in said.err, 'an end before the start is called that', said)


def rewritten(name, row_of):
    rows = open(jobs).read().strip().split('\n')
    return write(name, '\n'.join(rows[:1] + [row_of(*row.split(',')) for row in rows[1:]]) + '\n')


zoned = ask('forecast', rewritten('zoned.csv', lambda at, run_s, gpus: f'{at}+00:00,{run_s},{gpus}'), '-o', 'json')
check(zoned['forecast'] == plain['forecast'], 'dates with an offset behind them')
milli = run('capacity', 'forecast', rewritten('milli.csv', lambda at, run_s, gpus: f'{at},{run_s}000,{gpus}'), '--gpus', '64')
check(milli.code == 0 and 'times what 64 GPUs' in milli.err and 'seconds' in milli.err,
      'durations in milliseconds ask for more than any site would', milli)

# ---- replay
few = trace('few.csv', busy(10, 4))
args = ('replay', few, '--gpus', '32', '--draws', '6', '--weeks', '2', '--nodes-max', '16', '--node-usd-year', '100000',
        '--progress', 'never', '-o', 'json')
r = ask(*args)
points = r['growths'][0]['points']
least = r['growths'][0]['nodes_least']
check(points[0]['nodes_added'] == 0 and least is not None and least > 0, 'the fewest nodes are found', (least, points))
check(all(0 <= p['all']['low'] <= p['all']['p'] <= p['all']['high'] <= 1 for p in points), 'each chance with its interval')
hit = next(p for p in points if p['nodes_added'] == least)
check(hit['all']['p'] >= 0.9 and points[0]['all']['p'] < 0.9, 'there every target is kept in nine weeks of ten', hit)
gained = 100 * (hit['all']['p'] - points[0]['all']['p'])
check(abs(hit['usd_year_per_point'] - 100000 * least / gained) < 1, 'cost of a point of chance', hit)
again = ask(*args)
check(again['growths'] == r['growths'], 'the same seed, the same answer')
other = ask(*args, '--seed', '9')
check(other['growths'] != r['growths'], 'and another seed, another')
easy = ask('replay', few, '--gpus', '32', '--draws', '4', '--weeks', '2', '--target', 'any:7d:50', '--progress', 'never',
           '-o', 'json')
check(easy['growths'][0]['nodes_least'] == 0, 'targets that are met need no nodes', easy)
drift = ask('replay', few, '--gpus', '32', '--draws', '6', '--weeks', '2', '--nodes-max', '2', '--growth', '0.5,drift',
            '--progress', 'never', '-o', 'json')['growths']
check([g['demand'] for g in drift] == ['x0.5', 'drift'] and
      drift[1]['points'][0]['all']['p'] <= drift[0]['points'][0]['all']['p'],
      'half the demand waits less than one whose level drifts', drift)
words = ask('replay', few, '--gpus', '64', '--draws', '4', '--weeks', '2', '--progress', 'never')
check('to 8: 90 % of a week\'s jobs begin within 1h' in words.out and 'a second' in words.out and 'chance in %' in words.out,
      'words, a picture and the speed', words)
held = ask('replay', few, '--gpus', '64', '--held-out', '--weeks', '3', '--draws', '4', '--progress', 'never', '-o', 'json')
check(held['kind'] == 'CapacityHeldOut' and held['classes'][0]['jobs'] > 100 and held['classes'][0]['in_time_recorded'] is None,
      'weeks held out, and no recorded waits in a plain trace', held)
held = ask('replay', sacct, '--gpus', '64', '--held-out', '--draws', '2', '--progress', 'never', '-o', 'json')
check(held['classes'][0]['in_time_recorded'] == 1, 'sacct knows the waits that were: a minute each', held['classes'][0])

# ---- replay on a site's own cluster
cluster = write('ours.yaml', 'name: ours\ngpu: H200\nnodes: 8\ngpus_per_node: 4\nnodes_per_leaf: 4\nnodes_per_rack: 4\n')
args = ('--draws', '4', '--weeks', '2', '--progress', 'never')
site = ask('replay', few, '--cluster', cluster, *args, '--nodes-max', '8', '-o', 'json')
check(site['gpus'] == 32 and site['node_usd_year'] == 4 * 39000 / 4 + 4 * 1.275 * 200 * 12,
      'a node of four GPUs costs half of one of eight, and draws half', site['node_usd_year'])
check(len({p['nodes_added'] for p in site['growths'][0]['points']}) > 1 and
      site['growths'][0]['points'][-1]['offered'] < site['growths'][0]['points'][0]['offered'], 'nodes are added to it',
      site['growths'][0]['points'])
text = ask('replay', few, '--cluster', cluster, *args, '--nodes-add', '0,4', '--nodes-max', '4')
check('32 GPUs now, placed on nodes and leaves' in text.out and '+4' in text.out, 'and so it says', text)
counted = ask('replay', few, '--gpus', '32', *args, '--counts', '--nodes-max', '1', '-o', 'json')
own = ask('replay', few, '--cluster', cluster, *args, '--nodes-max', '1', '-o', 'json')
plain8 = ask('replay', few, '--gpus', '32', *args, '--nodes-max', '1', '-o', 'json')
first = [r['growths'][0]['points'][0] for r in (counted, own, plain8)]
check(first[0]['offered'] == first[1]['offered'] == first[2]['offered'], 'the same draws on every cluster', first)
held = ask('replay', few, '--cluster', cluster, '--held-out', '--weeks', '3', '--draws', '3', '--progress', 'never', '-o', 'json')
check(held['gpus'] == 32 and held['classes'][0]['jobs'] > 100, 'weeks held out on it', held)
rack = ask('replay', few, '--cluster', 'gb200-nvl72-1152', '--draws', '2', '--weeks', '1', '--progress', 'never', '-o', 'json')
check(rack['node_usd_year'] == 4 * 60000 / 4 + 4 * 1.275 * 200 * 12, 'a cluster of GB200 is not priced as H200',
      rack['node_usd_year'])
old = write('old.yaml', 'name: old\ngpu: L4\nnodes: 8\ngpus_per_node: 4\n')
unknown = run('capacity', 'replay', few, '--cluster', old, *args, '--nodes-add', '0,2', '--nodes-max', '2')
check(unknown.code == 0 and 'not known' in unknown.out and '--node-usd-year' in unknown.out,
      'a GPU without a price: chances without money', unknown)

# ---- targets in a file
promised = write('promised.yaml', 'name: promised\ntargets:\n  - {gpus: 4, wait: 30m, percent: 80}\n  - {gpus: any, wait: 2h}\n')
by_file = ask('replay', few, '--gpus', '64', *args, '--targets', promised, '-o', 'json')
by_flags = ask('replay', few, '--gpus', '64', *args, '--target', '4:30m:80', '--target', 'any:2h:90', '-o', 'json')
check(by_file['targets'] == by_flags['targets'] and by_file['growths'] == by_flags['growths'] and
      [t['class'] for t in by_file['targets']] == ['le_4', 'any'], 'a file of targets is the same as its flags',
      by_file['targets'])
bounded = ask('replay', few, '--gpus', '64', *args, '--target', '4:1h')
check('to 4: 90 %' in bounded.out and 'larger than 4: no target' in bounded.out and 'TO 4' in bounded.out,
      'a class that ends is not for all sizes', bounded)
for text, why in (('targets:\n  - {gpus: 8, wait: 1h}\n  - {gpus: 4, wait: 1h}\n', 'bad.yaml:3'), ('targets: []\n', 'empty'),
                  ('targets:\n  - {gpus: 8, wait: soon}\n', 'wait')):
    ran = run('capacity', 'replay', few, '--gpus', '64', '--targets', write('bad.yaml', text))
    check(ran.code == 2 and why in ran.err, 'targets that cannot be are refused with their line', ran)

# ---- jobs that no size holds
giant = trace('giant.csv', busy(10, 4) + [(24.0 * d + 5, 3600, 256) for d in range(70)])
ran = ask('replay', giant, '--gpus', '64', *args, '--nodes-max', '4')
check('ask for more GPUs than the largest size' in ran.out and '256' in ran.out, 'jobs that never fit are named', ran)

# ---- procure
p = ask('procure', '--nodes-add', '16', '--need-by', '2027-06-01', '--today', '2026-01-01', '-o', 'json')
item = {i['item'].split(',')[0].split(' of ')[0]: i for i in p['items']}
check(item['server']['needed'] == 16 and item['server']['order_by_p50'] == '2026-08-25',
      'forty weeks before, at the latest', item['server'])
check(p['usd_low'] < p['usd'] < p['usd_high'] and abs(sum(i['usd'] for i in p['items']) - p['usd']) < 1, 'sums and their range')
mean = 128 * 0.033 * 20 * 7 / 365.25
chance = 1 - sum(math.exp(-mean) * mean ** k / math.factorial(k) for k in range(item['GPU']['spares'] + 1))
check(chance <= 0.05 < chance + math.exp(-mean) * mean ** item['GPU']['spares'] / math.factorial(item['GPU']['spares']),
      'the fewest spares that last through the lead time', (item['GPU'], chance))
rows = list(csv.DictReader(io.StringIO(ask('procure', '--nodes-add', '16', '-o', 'csv').out)))
check(len(rows) == 6 and all(r['source'] for r in rows), 'the sheet as CSV, a source in each row', rows)
late = ask('procure', '--nodes-add', '4', '--need-by', '2026-06-01', '--today', '2026-05-01', code=6)
check('Too late' in late.out, 'an order that is too late is a finding', late)
full = ask('procure', '--nodes-add', '4', '--kw-free', '20', '--racks-free', '0', code=6)
check('kW needed: 40.8, free: 20' in full.err and 'racks needed: 1, free: 0' in full.err, 'so is power that is not there', full)
terms = write('terms.csv', 'item,weeks_low,weeks_high,price_low,price_high,per_year,source\nserver,2,6,1,1,0,our supplier\n')
dated = write('dated.csv', 'item,weeks_low,weeks_high,weeks_from,price_low,price_high,price_from,per_year,per_year_from,source\n'
              'switch,6,12,2026-11-02,1,1.1,2026-11-02,0.02,assumed,our supplier\n')
sheet = ask('procure', '--nodes-add', '16', '--need-by', '2027-06-01', '-o', 'json')['items']
ours = ask('procure', '--nodes-add', '16', '--need-by', '2027-06-01', '--terms', dated, '-o', 'json')['items']
check(sheet[2]['lead_weeks_from'] == 'assumed' and sheet[0]['lead_weeks_from'] == '2024-04' and
      all(i['price_source'] and i['failures_from'] and i['price_spread_from'] for i in sheet),
      'each figure says from when it is, or that it is assumed', sheet[2])
check(ours[2]['lead_weeks_from'] == '2026-11-02' and ours[2]['order_by_p50'] == '2027-02-09' and
      ours[2]['source'] == 'our supplier',
      'and one\'s own say so', ours[2])
said = ask('procure', '--nodes-add', '16').out
check('Assumed, and to be replaced by what suppliers say' in said and 'weeks of gpu, switch, cable, transceiver' in said,
      'what is assumed is named', said)
rows = list(csv.DictReader(io.StringIO(ask('procure', '--nodes-add', '16', '-o', 'csv').out)))
check(rows[0]['order_by_p50'] == '' and rows[0]['lead_weeks_from'] == '2024-04', 'a day that is not known is empty in CSV',
      rows[0])
half = ask('procure', '--nodes-add', '16', '--gpus-per-node', '4', '-o', 'json')
check(abs(half['power_kw'] - 16 * 5.1) < 1e-9, 'servers of four GPUs draw half', half['power_kw'])
by_hand = [(0, 16, 312000, 0.0, 36), (1, 0, 39000, 928 * 0.033, 20), (2, 6, 36000, 6 * 0.02, 26), (3, 128, 600, 928 * 0.0144, 16),
           (4, 128, 60, 128 * 0.0144, 16), (5, 256, 750, 256 * 0.0144, 20)]
sheet = ask('procure', '--nodes-add', '16', '--gpus', '800', '-o', 'json')['items']
for at, needed, each, failures, lead in by_hand:
    mean, spares, below = failures * lead * 7 / 365.25, 0, 0.0
    while failures > 0:
        below += math.exp(-mean) * mean ** spares / math.factorial(spares)
        if 1 - below <= 0.05:
            break
        spares += 1
    check((sheet[at]['needed'], sheet[at]['spares'], sheet[at]['usd']) == (needed, spares, each * (needed + spares)),
          f"by hand: {sheet[at]['item']}", (sheet[at], spares))
ends = ask('procure', '--nodes-add', '2', '--trace', jobs, '--gpus', '60', '--racks-free', '1', '--kw-free', '30',
           '--quota-gpu-hours', '9000', '--horizon', '90', '-o', 'json', code=None)
there = json.loads(ends.out)['ends']
forecast = ask('forecast', jobs, '--gpus', '60', '--racks-free', '1', '--kw-free', '30', '--quota-gpu-hours', '9000',
               '--horizon', '90', '-o', 'json')['ends']


def dates(ends):
    return [(e['what'], e['p10_date'], e['p50_date'], e['p90_date']) for e in ends]


check(dates(there) == dates(forecast) and
      [e['what'] for e in there] == ['GPUs', 'racks', 'power', 'quota'] and there[3]['p50_date'],
      'the days on which GPUs, racks, power and a quota end, as the forecast has them', there)
p = ask('procure', '--nodes-add', '16', '--need-by', '2027-06-01', '--terms', terms, '-o', 'json')
check(p['items'][0]['order_by_p50'] == '2027-03-23' and p['items'][0]['source'] == 'our supplier', 'one\'s own terms',
      p['items'][0])
# A site that is assumed to double in a year is full before servers come: its day is the trace's.
p = ask('procure', '--nodes-add', '4', '--trace', jobs, '--gpus', '60', '--growth', '100', '-o', 'json', code=6)
check('2026-04-13' < p['need_by_p50'] < '2027-04-13' and p['items'][0]['order_by_p50'] < '2026-04-12' and
      'even odds ' + p['need_by_p50'] in p['dates_from'], 'the day the cluster is full comes from the trace', p)

# ---- refusals
for args, code, words in [
        (('forecast', STATE + '/none.csv'), 3, 'none.csv'),
        (('forecast', write('bad.csv', 'a,b\n1,2\n')), 2, 'no column timestamp'),
        (('forecast', trace('tiny.csv', busy(1, 1))), 2, 'whole days'),
        (('forecast', jobs, '--racks-free', '2'), 2, '--gpus'),
        (('forecast', jobs, '--horizon', '0'), 2, '--horizon'),
        (('replay', jobs), 2, '--gpus'),
        (('replay', jobs, '--gpus', '64', '--target', '8:x'), 2, 'the wait is a time'),
        (('replay', jobs, '--gpus', '64', '--target', '64:1h', '--target', '8:1h'), 2, 'must grow'),
        (('replay', jobs, '--gpus', '64', '--held-out', '--growth', '2'), 2, 'cannot be used together'),
        (('replay', jobs, '--gpus', '64', '--held-out', '--nodes-add', '2'), 2, 'cannot be used together'),
        (('replay', jobs, '--gpus', '64', '--target', '8:1h', '--targets', 'x.yaml'), 2, 'cannot be used together'),
        (('replay', jobs, '--gpus', '64', '--targets', STATE + '/none.yaml'), 3, 'none.yaml'),
        (('replay', jobs, '--cluster', STATE + '/none.yaml'), 3, 'none.yaml'),
        (('forecast', write('dmy.csv', 'timestamp,duration,num_gpus\n05/01/2026 00:01,60,1\n')), 2, '2026-10-09 07:01:55'),
        (('replay', trace('two.csv', busy(2, 1)), '--gpus', '64'), 2, 'whole week'),
        (('replay', few, '--gpus', '64', '--gpu', 'abacus'), 2, 'no price of a abacus'),
        (('procure',), 2, '--nodes-add'),
        (('procure', '--nodes-add', '4', '--terms', write('t.csv', 'item\nserver\n')), 2, 't.csv:1'),
        (('procure', '--nodes-add', '4', '--trace', jobs), 2, '--gpus')]:
    ran = run('capacity', *args)
    check(ran.code == code and words in ran.err and not ran.out,
          f'{" ".join(args)[:50].replace(STATE, "")}: exit {code}, and why', ran)

# ---- the promised figures
data = os.environ.get('MUSTER_DATA', '')
philly = data + '/jobs/philly/philly.csv.gz'
if data and os.path.exists(philly):
    ran = run('bench', 'capacity', '--trace', philly, '--gpus', '800', '--draws', '10', '--progress', 'never', '-o', 'json',
              timeout=300)
    out = json.loads(ran.out) if ran.out else {'promises': [], 'shown': []}
    for promise in out['promises']:
        check(promise['kept'], f'Philly: {promise["what"]}: {promise["value"]:.1f} {promise["unit"]} '
              f'({promise["low"]:g} to {promise["high"]:g})')
    check(ran.code == 0 and len(out['promises']) >= 10, 'Philly: every bound is kept', ran)
    for line in out['shown']:
        print('    ' + line)
else:
    print('skip - the promised figures: jobs/philly of $MUSTER_DATA is not there')
finish()
