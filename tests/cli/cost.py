#!/usr/bin/env python3
"""What owning costs, what if, checked prices, owning against renting, a peak of work; the page of the field's figures."""
import csv
import io
import json
import os
import re

from checks import STATE, check, finish, run

HERE = os.path.dirname(os.path.abspath(__file__))


def answer(*args):
    ran = run('cost', *args, '-o', 'json')
    check(ran.code == 0, 'muster cost ' + ' '.join(args[:2]) + ' answers in JSON', ran)
    return json.loads(ran.out) if ran.code == 0 else {}


def write(name, text):
    path = os.path.join(STATE, name)
    with open(path, 'w') as f:
        f.write(text)
    return path


# The worked example.
base = answer('--site', 'h200-1024-colo')
year, rates = base['base']['usd_a_year'], base['base']['rates']
check(abs(year - 19.0e6) < 0.19e6, '1,024 H200 cost 19.0 million USD a year', year)
check(abs(rates['allocated']['usd_per_gpu_hour'] - 2.50) < 0.025, 'and 2.50 USD for each GPU-hour that is used', rates)
shares = {k: round(100 * v) for k, v in base['base']['shares'].items()}
check(shares == {'gpus': 51, 'facility': 11, 'people': 11, 'network': 9, 'energy': 5, 'software': 5, 'repairs': 5, 'storage': 4},
      'with the shares that were published', shares)
order = [rates[k]['usd_per_gpu_hour'] for k in ('owned', 'delivered', 'allocated', 'useful')]
check(order == sorted(order), 'each of the four hours is dearer than the one before', order)
ran = run('cost', '--site', 'h200-1024-colo')
check(ran.code == 0 and all(w in ran.out for w in ('GPUs', '51 %', 'useful', 'assumed:')), 'as text', ran)
rows = list(csv.DictReader(io.StringIO(run('cost', '--site', 'h200-1024-colo', '-o', 'csv').out)))
check(abs(sum(float(r['usd']) for r in rows if r['part'] == 'item') - year) < 1, 'items sum to the total in CSV')

# What if.
whatif = answer('--site', 'h200-1024-colo', '--set', 'gpu_price=30000,years=4,utilisation=0.6', '--set', 'cooling=liquid,pue=1.2')
power = whatif['changed']['power']
check(whatif['base']['usd_a_year'] == year and power['pue'] == 1.2, 'changed beside the base', power)
check(abs(whatif['difference']['usd_a_year'] - (whatif['changed']['usd_a_year'] - year)) < 1e-6, 'with the difference')
ranged = answer('--site', 'h200-1024-colo', '--set', 'gpu_price=32000/39000/45000', '--seed', '7')
band = ranged['changed']['rates']['useful']['usd_per_gpu_hour_band']
check(band['p10'] < band['p50'] < band['p90'], 'ranges give bands', band)
again = answer('--site', 'h200-1024-colo', '--set', 'gpu_price=32000/39000/45000', '--seed', '7')
check(again == ranged, 'and the same seed the same ones')

page = open(os.path.join(HERE, '..', '..', 'docs', 'cost.md')).read()
example = write('page.yaml', re.search(r'```yaml cost\n(.*?)```', page, re.S)[1])
of_page = answer('--site', example)
check(of_page['base']['draws'] == 10000, 'the file of the page is read', of_page.get('site'))

wrong = write('wrong.yaml', open(example).read().replace('interest:', 'intrest:'))
for args, code, words in (
        (('--site', wrong), 2, 'wrong.yaml:7: unknown key "intrest"; did you mean interest?'),
        (('--site', 'h200-1024-colon'), 3, 'did you mean h200-1024-colo'),
        ((), 2, 'muster cost needs a site'),
        (('--site', 'h200-1024-colo', '--set', 'utilization=0.5'), 2, 'did you mean utilisation'),
        (('--site', 'h200-1024-colo', '--set', 'pue'), 2, '--set must be KEY=VALUE'),
        (('--site', 'h200-1024-colo', '--set', 'pue=0.9'), 2, 'must be 1 to 4'),
        (('compare', '--site', 'h200-1024-colo'), 2, 'nothing to compare with'),
        (('compare', '--site', 'h200-1024-colo', '--price', '0'), 2, '--price'),
        (('compare', '--site', 'h200-1024-colo', '--price', '3', '--term', 'sport'), 2, 'did you mean spot'),
        (('compare', '--site', 'h200-1024-colo', '--price', '3', '--term', 'spot=50'), 2, 'sum to 100'),
        (('burst', '--gpu-hours', '10', '--gpus', '8', '--price', '3', '--data', '1TB'), 2, 'there is no link'),
        (('burst', '--gpu-hours', '10', '--gpus', '8', '--price', '3', '--link', 'fast'), 2, '--link must be a rate'),
        (('burst', '--gpu-hours', '10', '--gpus', '8', '--price', '3', '--data', '20', '--link', '10Gbit/s'), 2, '--data 20TB'),
        (('burst', '--gpu-hours', '10', '--gpus', '8', '--price', '3', '--queue', '5d'), 2, '--own-gpus N'),
        (('burst', '--gpu-hours', '10', '--gpus', '8', '--price', '3', '--lead-days', '5'), 2, '--site FILE'),
        (('burst', '--gpu-hours', '10', '--gpus', '8', '--price', '3', '--egress-usd-per-gb', '0.1'), 2, '--results 1TB'),
        (('compare', '--site', 'h200-1024-colo', '--price', '3', '--term', 'spot'), 2, 'there are none'),
        (('compare', '--site', 'h200-1024-colo', '--price', '3', '--no-drift'), 2, 'there are none'),
        (('compare', '--site', 'h200-1024-colo', '--price', '3', '--discount', 'spot=10'), 2, '--price has no term'),
        (('compare', '--site', 'h200-1024-colo', '--price', '3', '--discount', '120'), 2, '--discount must be'),
        (('compare', '--site', 'h200-1024-colo', '--price', '3', '--discount', 'spot'), 2, '--discount must be'),
        (('compare', '--site', 'h200-1024-colo', '--prices', 'x', '--term', 'spot=50,spot=50'), 2, 'spot is there twice'),
        (('import', '--from', 'x.csv', '--rate', 'EUR=1.1'), 2, '--rate EUR=1.08@2026-10-30'),
        (('import', '--from', 'x.csv', '--rate', 'EUR=1.1@yesterday'), 2, '--rate must be a day'),
        (('--site', 'h200-1024-colo', '--set', 'idle_kw=9'), 2, 'below power.idle_kw'),
        (('import', '--from', write('other.csv', 'a,b\n1,2\n')), 2, 'other.csv:1: no list of prices'),
        (('import', '--from', os.path.join(STATE, 'none.csv')), 3, 'none.csv')):
    ran = run('cost', *args)
    check(ran.code == code and words in ran.err and not ran.out, f'refused: {" ".join(args)}', ran)

# A list of prices with the traps that such lists have, made by hand.
head = 'date,cloud,accelerator,instance_type,zones,ondemand_median_usd_gpu_h,spot_median_usd_gpu_h,source\n'
months = [f'{2024 + m // 12}-{m % 12 + 1:02}-15' for m in range(31)]
up_and_down = [6.0, 6.0, 5.5, 5.5, 5.5, 5.0, 5.0, 5.2, 5.2, 5.2]
history = write('history.csv', head + ''.join(
    f'{day},north,H200,n8,3,{up_and_down[m % 10]},{2 + 0.1 * (m % 7):.1f},made\n'
    f'{day},south,H200,s8,3,{3.2 + 0.05 * (m % 5):.2f},,made\n'
    for m, day in enumerate(months)) + '2024-01-15,gone,H200,g8,3,4,,made\n')
snapshot = write('snapshot.csv', 'as_of,cloud,accelerator,gpus_per_instance,instance_type,regions,'
                 'ondemand_usd_per_gpu_hour_median,spot_usd_per_gpu_hour_median,source\n'
                 '2026-08-22,azure,H100,12,Standard_ND96isr_H100_v5,9,8,2,x\n2026-08-22,mithril,H200,8,h200.8x,1,1,1,x\n'
                 '2025-09-11,oci,H100,8,BM.GPU.H100.8,9,10,,x\n')
ran = run('cost', 'import', '--from', snapshot, '--out', os.path.join(STATE, 'kept.csv'))
check(ran.code == 0 and all(w in ran.out for w in ('12 x H100', 'impossible_count', 'bid_floor', 'stale', 'left out')),
      'each trap is named, with its row and what was done', ran)
kept = list(csv.DictReader(open(os.path.join(STATE, 'kept.csv'))))
check(len(kept) == 1 and float(kept[0]['ondemand_usd_per_gpu_hour']) == 12 and kept[0]['gpus_per_instance'] == '8',
      'what is kept has the true number of GPUs', kept)
listed = answer('import', '--from', snapshot)
check(listed['rows_read'] == 3 and listed['rows_left_out'] == 2, 'and is counted', listed)

# Owning against renting: the claim of 18 months, worked out by hand.
node = write('node.yaml', 'name: a node\ngpu: h100\nas_of: 2026-11-01\ngpus: 8\ngpu_price: 35000\nyears: 5\n'
             'power: {nameplate_kw: 14.4}\nfacility: {usd_per_kw_month: 130, includes_power: true}\n'
             'capital:\n  - {name: network, for: network, usd: 42000}\n')
for price, month in ((5.646, 18), (6.88, 14.5), (4, 26.5), (2.5, 46.8)):
    got = answer('compare', '--site', node, '--price', str(price), '--gpu-hours', '3500')['items'][0]['break_even_months']
    check(abs(got - month) <= 0.5, f'a node of 280,000 USD against {price} USD: {month} months', got)
one = answer('compare', '--site', 'h200-1024-colo', '--prices', history, '--cloud', 'north', '--draws', '500')
case = one['items'][0]
check(len(one['items']) == 1 and case['usd_per_gpu_hour'] == 6.0 and one['price_months'] >= 50,
      'the newest price, and what moved', one['price_months'])
band = case['break_even_months_band']
check(band['p10'] <= band['p50'] <= band['p90'] and 0 <= case['never_share'] <= 1, 'with a band', band)
ran = run('cost', 'compare', '--site', 'h200-1024-colo', '--prices', history, '--draws', '200')
check(ran.code == 0 and 'north' in ran.out and 'south' in ran.out and '(stale)' in ran.out, 'each cloud has a row', ran)
ran = run('cost', 'compare', '--site', 'h200-1024-colo', '--prices', history, '--cloud', 'north', '--draws', '200',
          '--svg', STATE + '/c.svg')
check(ran.code == 0 and 'rented, P90' in ran.out and open(STATE + '/c.svg').read().startswith('<svg'), 'one has its course', ran)
for args, words in ((('--cloud', 'west'), 'there are gone, north, south'), (('--gpu', 'b200'), 'there are H200')):
    ran = run('cost', 'compare', '--site', 'h200-1024-colo', '--prices', history, *args)
    check(ran.code == 3 and words in ran.err, 'what is not there is told with what is', ran)

# List prices are not what is paid.
def even(*args):
    return answer('compare', '--site', node, '--gpu-hours', '3500', *args)['items'][0]


check(even('--price', '5', '--discount', '20')['break_even_months'] == even('--price', '4')['break_even_months'],
      'a fifth off 5 USD is 4 USD')
# Eight GPUs at 35,000 and 42,000 of network are 322,000, with an eighth off 281,750; and 3,500 hours at 4 USD less the hall's
# 1,872 are saved a month.
got = even('--price', '4', '--own-discount', '12.5')
check(abs(got['break_even_months'] - 281750 / (14000 - 1872)) < 1e-6 and got['capital_usd'] == 281750,
      'and what is bought has its own', got)
two = answer('compare', '--site', 'h200-1024-colo', '--prices', history, '--cloud', 'NORTH', '--draws', '100', '--term',
             'ondemand=50,spot=50', '--discount', 'ondemand=10')
spot = float(f'{2 + 0.1 * (30 % 7):.1f}')
check(abs(two['items'][0]['usd_per_gpu_hour'] - (0.5 * 0.9 * 6.0 + 0.5 * spot)) < 1e-9, 'each term has its own', two['items'][0])
ran = run('cost', 'compare', '--site', node, '--price', '5', '--discount', '20', '--own-discount', '12.5')
check('Off list prices, in every figure here: 20 % of renting, 12.5 % of what is bought.' in ran.out, 'and both are told', ran)
got = even('--price', '1', '--resale', 'straight')
check(got['break_even_months'] is None or got['break_even_months'] > 60, 'what can be sold at once has not paid off at once', got)

# Euros: by a rate that somebody gave, or not at all.
euros = write('euros.csv', 'date,cloud,gpu,gpus_per_instance,instance,ondemand_eur_per_gpu_hour\n2026-08-01,ovh,H100,1,a,2.5\n')
ran = run('cost', 'compare', '--site', node, '--prices', euros)
check(ran.code == 2 and 'euros.csv:2: prices in EUR' in ran.err and '--rate EUR=USD@DAY' in ran.err, 'no rate is invented', ran)
got = answer('compare', '--site', node, '--prices', euros, '--rate', 'EUR=1.2@2026-07-31')['items'][0]
check(got['usd_per_gpu_hour'] == 3, 'that of the user converts', got)
here = write('here.yaml', open(node).read().replace('usd', 'eur').replace(
    'gpus:', 'currency: EUR\nexchange: {usd: 1.25, as_of: 2026-10-30}\ngpus:'))
ratio = answer('--site', here)['base']['usd_a_year'] / answer('--site', node)['base']['usd_a_year']
check(abs(ratio - 1.25) < 1e-12, 'a site in euros costs as much in dollars', ratio)

# A peak.
peak = ('burst', '--gpu-hours', '10000', '--gpus', '100', '--price', '3', '--data', '20TB', '--results', '2TB',
        '--link', '10Gbit/s', '--egress-usd-per-gb', '0.09', '--own-gpus', '50', '--queue', '100h', '--own-price', '0.1')
check(answer(*peak)['best'] == 'wait', 'who has time waits')
soon = answer(*peak, '--by', '150h')
rent = next(o for o in soon['items'] if o['way'] == 'rent')
check(soon['best'] == 'rent' and abs(rent['usd'] - 30180) < 0.01 and abs(rent['hours'] - 105.7) < 0.1, 'who has not rents', rent)
check(any(t['what'] == 'data_tb' and t['by_time'] for t in soon['turns']), 'until its data are too many', soon['turns'])
ran = run('cost', *peak, '--by', '150h', '--from', '2026-11-20', '--site', 'h200-1024-colo')
check(ran.code == 0 and all(w in ran.out for w in ('Renting wins', '2026-11-2', 'buy')),
      'with days, and what buying would cost', ran)
ran = run('cost', 'burst', '--gpu-hours', '10', '--gpus', '8', '--price', '3', '--own-gpus', '8')
check(ran.code == 0 and 'taken to cost nothing' in ran.out and 'below 0.00' not in ran.out,
      'waiting is free only as a note says', ran)

# The figures of the field: every claim in exactly two sentences, with the verdict that is computed.
page = open(os.path.join(HERE, '..', '..', 'docs', 'figures-of-the-field.md')).read()
told = {m[1]: (m[2], m[3]) for m in re.finditer(r'^\| (O\d+) \| ([a-z ]+) \| (.*) \|$', page, re.M)}
claims = list(csv.DictReader(io.StringIO(run('bench', 'claims', '-o', 'csv').out)))
check(len(claims) == 23 and set(told) == {c['id'] for c in claims}, 'every claim is on the page', sorted(told))
for c in claims:
    verdict, text = told.get(c['id'], ('', ''))
    sentences = [s for s in re.split(r'(?<=[.!?])\s+', text) if s]
    check(verdict == c['verdict'] and len(sentences) == 2 and text.endswith('.'), f"{c['id']} has its verdict and two sentences",
          (verdict, c['verdict'], len(sentences)))
finish()
