#!/usr/bin/env python3
"""muster report month: one page about a month, from ten weeks of the twin's journal, from a demo and from records of a small
site; its sums, what it costs and charges, parts that are missing, and what is wrong to ask for."""
import csv
import io
import json
import os
import re
import subprocess
import time

from checks import MUSTER, STATE, check, environment, finish, run
from page import Page

JOURNAL = STATE + '/months.db'
GPUS, DAYS = 16, 70
US_OF_HOUR = 3_600_000_000
CLASSES = ['down', 'drained', 'idle_no_demand', 'idle_fragmented', 'held_idle', 'starting', 'checkpoint', 'lost_restart',
           'stalled', 'unseen', 'unsettled', 'useful']


def month(*args, timeout=110):
    return run('report', 'month', *args, timeout=timeout)


def sums_hold(m, what):
    whole = m['all']
    check(list(whole['classes_gpu_us']) == CLASSES and whole['installed_gpu_us'] == sum(whole['classes_gpu_us'].values()) > 0,
          f'{what}: the twelve classes sum to what is installed, to the GPU-microsecond', whole)
    check(all(sum(d['classes_gpu_us'][c] for d in m['days']) == whole['classes_gpu_us'][c] for c in CLASSES),
          f'{what}: the days sum to the month, class by class')
    for table in m['tables']:
        rows = table['rows'] + [table['nobody']]
        check(all(sum(r['classes_gpu_us'][c] for r in rows) == whole['classes_gpu_us'][c] for c in CLASSES),
              f"{what}: by {table['by']} too", [r['classes_gpu_us'] for r in rows][:3])
    if m['cost']:
        money = m['cost']['money']
        check(abs(sum(m['class_money'].values()) - money) < 1e-6 * money,
              f'{what}: money of the classes sums to what everything cost')
        shares = sum(r['share_of_cost_money'] for r in m['tables'][0]['rows'])
        check(abs(shares - money) < 1e-6 * money, f'{what}: shares of the accounts bear all of it', (shares, money))
        rates = m['money_per_gpu_hour']
        known = [rates[level] for level in ('owned', 'delivered', 'allocated', 'useful') if rates[level] is not None]
        check(abs(rates['owned'] * whole['owned_gpu_hours'] - money) < 1e-6 * money and known == sorted(known)
              and len(known) >= 3,
              f'{what}: the rates, each above the one before', rates)


def same_on_the_page(m, text, what):
    page = Page(text)
    check(not page.asks and 'http://' not in text and 'https://' not in text and '@import' not in text
          and 'url(' not in text and
          'script' not in page.tags, f'{what}: it asks for nothing from outside, and has no script', page.asks)
    check(not page.wrong and not page.open and len(page.ids) == len(set(page.ids)), f'{what}: it is well formed',
          page.wrong or page.open)
    check({'headline', 'classes', 'days', 'rates', 'by_account', 'by_partition', 'by_user', 'by_gpu_type', 'unseen', 'gaps',
          'commands',
           'definitions'} <= set(page.ids), f'{what}: with every part', page.ids)
    plain = text.replace('&gt;', '>').replace('&lt;', '<').replace('&amp;', '&').replace('&quot;', '"')
    check(all(line in plain for line in m['headline']) and len(m['headline']) == 3,
          f'{what}: three sentences, as in the JSON', m['headline'])
    check('prefers-color-scheme: dark' in text and '@media print' in text and len(text) < 1_000_000,
          f'{what}: for screen and paper')
    check(all(gap['how'].split()[0] in plain for gap in m['missing']), f'{what}: what is missing says how to bring it in',
          m['missing'])
    if m['cost']:
        for level, rate in m['money_per_gpu_hour'].items():
            check(rate is None or f'{rate:,.2f} {m["currency"]}' in plain, f'{what}: the rate {level} is on the page', rate)


def table_of(m, by):
    return next(t for t in m['tables'] if t['by'] == by)


def of_a_journal():
    ran = month('--journal', JOURNAL, '-o', 'json')
    check(ran.code == 0, 'of a journal, as JSON', ran)
    m = json.loads(ran.out)
    check(m['whole'] and not ran.err, f"without --month it is of the last whole one, {m['month']}", ran.err)
    sums_hold(m, 'journal')
    days = len(m['days'])
    hours = GPUS * days * 24
    check(days in (28, 30, 31) and m['all']['installed_gpu_us'] == hours * US_OF_HOUR,
          f'{days} days of {GPUS} GPUs, to the GPU-microsecond', (m['all']['installed_gpu_us'], hours * US_OF_HOUR))
    check(all(sum(d['classes_gpu_us'].values()) == GPUS * 24 * US_OF_HOUR for d in m['days']), 'and so each day')
    check(m['days_complete'] == days and m['streak_days'] <= m['days_at_target'] <= days and m['target'] == 0.94,
          'against the target', m['headline'])
    known = m['all']['allocated_gpu_hours'] - sum(m['all']['classes_gpu_us'][c] for c in ('unseen', 'unsettled')) / US_OF_HOUR
    check(abs(m['all']['efficiency'] - m['all']['useful_gpu_hours'] / known) < 1e-9, 'efficiency is of what is known',
          m['all'])
    check(m['before'] and m['before']['to_utc'] == m['from_utc'] and
          ('than in' in m['headline'][0] or 'as in' in m['headline'][0]), 'against the month before', m['headline'])
    check(m['failures'] and all(f['gpu_hours'] >= 0 for f in m['failures']) and m['cost'] is None and 'money' in [g['part']
          for g in m['missing']],
          'failures by class; without a price no money, and how to have it', m['missing'])
    ran = run('account', '--journal', JOURNAL, '--from', m['from_utc'], '--to', m['to_utc'], '--by', 'user', '-o', 'json')
    told = json.loads(ran.out)
    check(told['classes_milli_gpu_ms'] == m['all']['classes_gpu_us'], '`muster account` says the same',
          told.get('classes_milli_gpu_ms'))
    users = {r['name']: r for r in table_of(m, 'user')['rows']}
    check(all(abs(users[r['name']]['allocated_gpu_hours'] - r['gpu_hours']) < 1e-6 for r in told['rows']
          if not r['no_job']), 'by user too')
    return m


def money_and_grants(m):
    grants = STATE + '/grants.csv'
    account = table_of(m, 'account')['rows'][0]['name']
    begin, end = m['from_utc'], m['to_utc']
    with open(grants, 'w') as f:
        f.write(f'account,from,to,gpu_hours\n{account},{begin[:10]},{end[:10]},5000\n')
    args = ('--journal', JOURNAL, '--month', m['month'], '--price', '2.5', '--currency', 'EUR', '--allocations', grants,
          '--target', '50')
    ran = month(*args, '-o', 'json')
    check(ran.code == 0, 'with a price and grants', ran)
    priced = json.loads(ran.out)
    sums_hold(priced, 'priced')
    check(priced['currency'] == 'EUR' and abs(priced['money_per_gpu_hour']['owned'] - 2.5) < 1e-9 and
          abs(priced['money_per_gpu_hour_before']['owned'] - 2.5) < 1e-9, 'an hour owned costs what was said',
                priced['money_per_gpu_hour'])
    quota = priced['quotas'][0]
    used = table_of(m, 'account')['rows'][0]['allocated_gpu_hours']
    check(quota['account'] == account and quota['granted'] == 5000 and abs(quota['used'] - used) < 0.01 * used + 1 and
          quota['period_gone'] == 1, 'what was used of a grant', quota)
    check(priced['target'] == 0.5 and priced['days_at_target'] >= m['days_at_target'], 'with another target',
          priced['headline'])
    page = month(*args, '-')
    check(page.code == 0 and 'id="quotas"' in page.out, 'as a page', page)
    same_on_the_page(priced, page.out, 'priced')
    rows = list(csv.DictReader(io.StringIO(month(*args, '-o', 'csv').out)))
    check({'section', 'name', 'class', 'gpu_us', 'gpu_hours', 'money', 'currency', 'value', 'unit'} == set(rows[0]),
          'CSV is one tidy table', rows[0])
    whole = {r['class']: int(r['gpu_us']) for r in rows if r['section'] == 'month'}
    check(whole == priced['all']['classes_gpu_us'], 'with the same numbers', whole)
    by_user = sum(int(r['gpu_us']) for r in rows if r['section'] == 'user' and r['gpu_us'])
    check(by_user == priced['all']['installed_gpu_us'], 'rows of a section sum to what is installed', by_user)
    year = month('--journal', JOURNAL, '--month', m['month'], '--cost-per-year', '365000', '-o', 'json')
    cost = json.loads(year.out)['cost']['money']
    check(abs(cost - 1000 * len(m['days'])) < 1e-6, 'a cost of a year, by its days', cost)


def the_file(m):
    folder = STATE + '/here'
    os.mkdir(folder)

    def make():
        return subprocess.run([MUSTER, 'report', 'month', '--journal', JOURNAL, '--month', m['month']], capture_output=True,
              cwd=folder,
                              env=environment(), timeout=110)

    done = make()
    made = os.listdir(folder)
    check(done.returncode == 0 and len(made) == 1 and re.fullmatch(rf'muster-report-[\w.-]+-{m["month"]}\.html', made[0]) and
          b'wrote ' + made[0].encode() in done.stderr and not done.stdout,
                'one file, named after the cluster and the month', (made, done.stderr))
    text = open(f'{folder}/{made[0]}', encoding='utf-8').read()
    same_on_the_page(m, text, 'file')
    check('SIMULATED' in text, 'that it is a simulation')
    again = make()
    check(again.returncode == 0 and b'replaced ' in again.stderr,
          'a file that is there already is replaced, and that is said', again.stderr)


# Two nodes of four GPUs, known by sacct alone: one job holds one node for ten days of October, one ends and one begins beyond
# its ends.
HEAD = 'JobID|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|ElapsedRaw|NNodes|NodeList|AllocTRES|ReqTRES'


def record(job, user, account, submitted, began, ended, node, gpus):
    return (f'{job}|{user}|{account}|gpu|normal|COMPLETED|{submitted}|{submitted}|{began}|{ended}||1|{node}|'
            f'gres/gpu={gpus},gres/gpu:h200={gpus}|gres/gpu={gpus}')


SACCT = '\n'.join([
    HEAD,
    record(1, 'ada', 'vision', '2026-09-01T00:00:00', '2026-09-01T00:00:00', '2026-10-02T00:00:00', 'n2', 1),
    record(2, 'bob', 'nlp', '2026-10-10T00:00:00', '2026-10-10T00:00:00', '2026-10-20T00:00:00', 'n1', 4),
    record(3, 'bob', 'nlp', '2026-10-31T00:00:00', '2026-10-31T12:00:00', '2026-11-01T12:00:00', 'n1', 4)]) + '\n'
NODES = 'NodeName=n1 Gres=gpu:h200:4 State=IDLE\nNodeName=n2 Gres=gpu:h200:4 State=IDLE\n'
RATES = 'id,valid_from,price_per_gpu_hour,currency\nr1,2026-01-01,2.00,USD\n'


def of_files():
    names = {}
    for name, text in (('jobs.txt', SACCT), ('nodes.txt', NODES), ('rates.csv', RATES)):
        names[name] = f'{STATE}/{name}'
        with open(names[name], 'w') as f:
            f.write(text)
    args = ('--sacct', names['jobs.txt'], '--nodes', names['nodes.txt'], '--month', '2026-10', '--price', '1.5', '--rates',
          names['rates.csv'])
    ran = month(*args, '-o', 'json')
    check(ran.code == 0, 'of files of a site', ran)
    m = json.loads(ran.out)
    sums_hold(m, 'files')
    check(m['all']['owned_gpu_hours'] == 8 * 744 and abs(m['all']['allocated_gpu_hours'] - (24 + 960 + 48)) < 1e-9,
          'eight GPUs for a month, and what jobs had of it', m['all'])
    accounts = {r['name']: r for r in table_of(m, 'account')['rows']}
    check(abs(accounts['nlp']['allocated_gpu_hours'] - 1008) < 1e-9
          and abs(accounts['vision']['allocated_gpu_hours'] - 24) < 1e-9,
          'by account; only what lies in the month', accounts.keys())
    check(accounts['nlp']['charged_money'] == 2016 and accounts['vision']['charged_money'] == 48,
          'charged at the rates, for the month alone',
          [r['charged_money'] for r in accounts.values()])
    check(m['all']['efficiency'] is None and m['all']['classes_gpu_us']['unseen'] == 1032 * US_OF_HOUR
          and m['failures'] is None and
          'not known' in m['headline'][2], 'nothing says what the GPUs did: that is not called useful, nor waste',
                m['headline'])
    check(m['before'] and abs(m['before']['allocated_gpu_hours'] - 720) < 1e-9, 'against September', m['before'])
    page = month(*args, '-')
    same_on_the_page(m, page.out, 'files')
    check('id="failures"' not in page.out and '--journal' in page.out, 'what files cannot tell says what can')


def write(name, text):
    with open(f'{STATE}/{name}', 'w') as f:
        f.write(text)
    return f'{STATE}/{name}'


def of_a_zone():
    """October in Berlin begins at 22:00 UTC, ends at 23:00 and has an hour more."""
    args = ('--sacct', STATE + '/jobs.txt', '--nodes', STATE + '/nodes.txt', '--month', '2026-10', '--tz', 'Europe/Berlin',
            '--price', '1.5')
    m = json.loads(month(*args, '-o', 'json').out)
    sums_hold(m, 'Berlin')
    check((m['from_utc'], m['to_utc'], m['zone'], m['month']) == ('2026-09-30T22:00:00Z', '2026-10-31T23:00:00Z', 'Europe/Berlin',
                                                                  '2026-10'), 'a month of Berlin', (m['from_utc'], m['to_utc']))
    check(m['all']['owned_gpu_hours'] == 8 * 745 and abs(m['all']['allocated_gpu_hours'] - (26 + 960 + 44)) < 1e-9,
          'with the hour that comes twice', m['all'])
    days = {d['date']: d for d in m['days']}
    check(len(days) == 31 and days['2026-10-25']['owned_gpu_hours'] == 200 and days['2026-10-24']['owned_gpu_hours'] == 192,
          'which is in the 25th', days['2026-10-25'])
    page = month(*args, '-').out
    check('2026-10-25 has 25 hours' in page and 'Days are of the calendar in Europe/Berlin' in page and
          '2026-10-01 to 2026-11-01 Europe/Berlin' in page and '2026-09-30' not in page.split('id="commands"')[0],
          'and so the page says', page[:300])
    check('In October 2026' in page and '--tz Europe/Berlin' in page, 'its name, and how to have it again')
    rows = list(csv.DictReader(io.StringIO(month(*args, '-o', 'csv').out)))
    hours = sum(float(r['gpu_hours']) for r in rows if r['section'] == 'day' and r['name'] == '2026-10-25')
    check(abs(hours - 200) < 1e-9, 'in CSV too', hours)
    before = json.loads(month(*args[:4], '--month', '2026-09', '--tz', 'America/New_York', '-o', 'json').out)
    check(before['from_utc'] == '2026-09-01T04:00:00Z' and before['to_utc'] == '2026-10-01T04:00:00Z', 'west of Greenwich too',
          before['from_utc'])
    ran = month(*args[:6], '--tz', 'Mars/Olympus')
    check(ran.code == 2 and 'Mars/Olympus' in ran.err, 'a zone that is not', ran)


def of_a_zone_from_a_journal():
    ran = month('--journal', JOURNAL, '--month', '2026-02', '--tz', 'Europe/Berlin', '-o', 'json')
    check(ran.code == 0, 'a journal in another zone', ran)
    m = json.loads(ran.out)
    sums_hold(m, 'journal in Berlin')
    check(m['from_utc'] == '2026-01-31T23:00:00Z' and m['to_utc'] == '2026-02-28T23:00:00Z' and len(m['days']) == 28 and
          m['days'][0]['from_utc'] == m['from_utc'] and m['days_complete'] == 28, 'its days begin at 23:00 UTC', m['days'][0])
    told = json.loads(run('account', '--journal', JOURNAL, '--from', m['from_utc'], '--to', m['to_utc'], '-o', 'json').out)
    check(told['classes_milli_gpu_ms'] == m['all']['classes_gpu_us'], '`muster account` of that stretch says the same')


def of_a_cost_file_in_euros():
    site = 'name: s\nas_of: 2026-10-01\ngpus: 8\ngpu_price: 40000\nyears: 4\n'
    euros = 'currency: EUR\nexchange: {usd: 1.08, as_of: 2026-10-30}\n'
    args = ('--sacct', STATE + '/jobs.txt', '--nodes', STATE + '/nodes.txt', '--month', '2026-10', '-o', 'json', '--site')
    dollars, own = (json.loads(month(*args, write(f'site{i}.yaml', text)).out) for i, text in enumerate((site, site + euros)))
    check(dollars['currency'] == 'USD' and own['currency'] == 'EUR' and own['cost']['money'] > 0 and
          abs(own['cost']['money'] / dollars['cost']['money'] - 1) < 1e-9 and 'EUR a year' in own['cost']['basis'],
          'a cost file in euros is told in euros', own['cost'])


def readings(step_s, watts):
    begin, end = 1790812800 - 3600, 1793491200 + 3600  # October 2026 and an hour about it
    series = [{'metric': {'__name__': 'DCGM_FI_DEV_POWER_USAGE', 'Hostname': node, 'gpu': str(i), 'UUID': f'GPU-{node}-{i}',
                          'modelName': 'NVIDIA H200'},
               'values': [[t, str(watts)] for t in range(begin, end + 1, step_s)]} for node in ('n1', 'n2') for i in range(4)]
    return write(f'power{step_s}.json', json.dumps({'status': 'success', 'data': {'resultType': 'matrix', 'result': series}}))


def of_everything():
    """Charges of a ledger in two currencies, readings of power, an outlook and grants, all on one page."""
    jobs, nodes, ledger = STATE + '/jobs.txt', STATE + '/nodes.txt', STATE + '/ledger.jsonl'
    rates = write('two.csv', 'id,valid_from,price_per_gpu_hour,currency\nr1,2026-01-01,2.00,EUR\nr2,2026-10-15,3.00,USD\n')
    begin, end = '2026-10-03T00:00:00', '2026-10-03T05:00:00'
    bio = write('bio.txt', HEAD + '\n' + record(9, 'eve', 'bio', begin, begin, end, 'n2', 1) + '\n')
    for sacct in (jobs, bio):
        ran = run('account', 'charge', '--sacct', sacct, '--rates', rates, '--ledger', ledger)
        check(ran.code == 0, 'a ledger', ran)
    trace = write('trace.csv', 'timestamp,duration,num_gpus\n' + ''.join(
        f'2026-0{7 + d // 31}-{d % 31 + 1:02d} {h:02d}:00:00,{3000 + 400 * (d % 7)},{1 + h % 4}\n' for d in range(90)
        if not (d // 31 == 2 and d % 31 == 30) for h in range(24)))
    ran = run('capacity', 'forecast', trace, '--gpus', '8', '--quota-gpu-hours', '900', '-o', 'json')
    outlook = write('outlook.json', ran.out)
    grants = write('all_grants.csv', 'account,from,to,gpu_hours\nnlp,2026-10-01,2027-01-01,2000\n')
    args = ('--sacct', jobs, '--nodes', nodes, '--month', '2026-10', '--cost-per-year', '87600', '--currency', 'EUR',
            '--ledger', ledger, '--allocations', grants, '--capacity', outlook, '--tariff', 'example', '--carbon', '400',
            '--pue', '1.25')
    ran = month(*args, '--power', readings(600, 300), '-o', 'json')
    check(ran.code == 0, 'ledger, power, capacity and grants at once', ran)
    m = json.loads(ran.out)
    sums_hold(m, 'everything')
    accounts = {r['name']: r for r in table_of(m, 'account')['rows']}
    charged = {name: row['charged'] for name, row in accounts.items()}
    check(charged == {'nlp': {'EUR': 960, 'USD': 1584}, 'vision': {'EUR': 48}, 'bio': {'EUR': 10}},
          'two currencies stay two, a piece over the end of the month counts by its part, and nobody who was charged is dropped',
          charged)
    check(accounts['nlp']['charged_money'] is None and accounts['bio']['allocated_gpu_hours'] == 0, 'no sum of euros and dollars')
    check(any('1,037' in line and '1,032' in line for line in m['unseen']),
          'that the ledger has more hours than the records is said', m['unseen'])
    energy = m['energy']
    kwh, measured = 8 * 744 * 0.65, "100.0 % of the GPUs' energy was measured"
    check(abs(energy['it_kwh'] / kwh - 1) < 0.001 and abs(energy['facility_kwh'] / (1.25 * kwh) - 1) < 0.001 and
          abs(energy['co2_kg'] / (0.4 * 1.25 * kwh) - 1) < 0.001 and energy['basis'].startswith(measured),
          'eight GPUs at 300 W and 350 W of host for 744 hours', energy)
    check('MADE UP' in energy['basis'], 'a made-up tariff is called that', energy['basis'])
    check([e['what'] for e in m['capacity']['ends']] == ['GPUs', 'quota'], 'an outlook', m['capacity'])
    check(m['quotas'][0]['granted'] == 2000, 'a grant', m['quotas'])
    check({g['part'] for g in m['missing']} == {'what failures cost'}, 'nothing else is missing', m['missing'])
    page = month(*args, '--power', STATE + '/power600.json', '-')
    same_on_the_page(m, page.out, 'everything')
    check(all(f'id="{part}"' in page.out for part in ('energy', 'capacity', 'quotas')) and 'charged, EUR' in page.out and
          'charged, USD' in page.out and '<p class="note">, ' not in page.out, 'all on the page')
    again = [c['command'] for c in m['commands'] if c['part'] == 'this report'][0]
    check(all(word in again for word in ('--ledger', '--power', '--capacity', '--allocations', '--cost-per-year 87600',
                                         '--carbon 400')),
          'the command that makes it again is whole', again)
    rows = list(csv.DictReader(io.StringIO(month(*args, '--power', STATE + '/power600.json', '-o', 'csv').out)))
    charged = {(r['name'], r['currency']): float(r['money']) for r in rows
               if r['section'] == 'account' and r['class'] == 'charged'}
    check(charged == {('nlp', 'EUR'): 960, ('nlp', 'USD'): 1584, ('vision', 'EUR'): 48, ('bio', 'EUR'): 10},
          'each charge with its own currency in CSV', charged)
    check(any(r['section'] == 'capacity' and r['unit'] == 'date' for r in rows), 'and the outlook')
    wide = json.loads(month(*args, '--power', readings(1800, 300), '-o', 'json').out)['energy']
    check('straight line between readings' in wide['basis'] and 'no energy was measured' not in wide['basis'] and
          abs(wide['it_kwh'] / energy['it_kwh'] - 1) < 0.01,
          'readings half an hour apart are not called a guess by the model', wide)
    near = json.loads(month(*args, '--power', STATE + '/power1800.json', '--gap', '1h', '-o', 'json').out)['energy']
    check(near['basis'].startswith(measured), 'unless they are said to be near enough', near['basis'])


def refusals():
    for args, code, part in ((('--month', 'october'), 2, 'such as 2026-10'), (('--month', '2026-13'), 2, '--month'),
                             (('-o', 'md'), 2, 'html, json, csv'), (('--target', '200'), 2, '--target'),
                             (('--month', '1999-01'), 3, 'the record reaches'), (('--price', '1', '--site', 'x.yaml'), 2,
                                   '--site'),
                             (('--site', 'x.yaml', '--currency', 'EUR'), 2, '--currency'),
                             (('--sacct', 'x'), 2, '--sacct'), ((STATE,), 2, 'directory'),
                             (('--site', STATE + '/none.yaml'), 3, 'none.yaml'), (('--allocations', STATE + '/none.csv'), 3,
                                   'none.csv'),
                             (('--capacity', JOURNAL), 2, 'capacity')):
        ran = month('--journal', JOURNAL, *args)
        check(ran.code == code and part.lower() in ran.err.lower() and not ran.out, f'{args} is refused with the reason', ran)
    ran = run('report', '--journal', JOURNAL, 'month')
    check(ran.code == 2 and 'behind' in ran.err, 'flags of the month stand behind the word', ran)
    ran = month('--journal', STATE + '/absent.db')
    check(ran.code == 3 and 'absent.db' in ran.err, 'a journal that is not there', ran)
    ran = month()
    check(ran.code == 5 and 'no Muster is running' in ran.err, 'nobody answers', ran)


def of_a_demo():
    env = environment()
    log = open(STATE + '/demo.log', 'w')
    demo = subprocess.Popen([MUSTER, 'demo', '--gpus', '64', '--port', '0', '--speed', '3600', '--state', STATE + '/state'],
          stdout=log,
                            stderr=log, env=env)
    try:
        until = time.time() + 40
        m = None
        while time.time() < until and demo.poll() is None:
            ran = run('report', 'month', '-o', 'json', env=env)
            m = json.loads(ran.out) if ran.code == 0 else None
            if m and m['all']['useful_gpu_hours'] > 0:
                break
            time.sleep(0.5)
        check(m and not m['whole'] and m['simulation'] and 'not the whole of' in ran.err,
              'of a running demo: as far as it is known, and so it says', ran)
        check(m['all']['installed_gpu_us'] == sum(m['all']['classes_gpu_us'].values()), 'its sums hold while time passes')
        check(m['cost'] and 'assumed' in m['cost']['basis'], 'at the assumed price', m['cost'])
    finally:
        demo.terminate()
        demo.wait(timeout=20)


RAN = run('twin', 'run', '--gpus', str(GPUS), '--days', str(DAYS), '--weather', 'x50', '--seed', '3', '--journal', JOURNAL,
      timeout=250)
check(RAN.code == 0, f'{DAYS} days of the twin', RAN)
MONTH = of_a_journal()
money_and_grants(MONTH)
the_file(MONTH)
of_files()
of_a_zone()
of_a_zone_from_a_journal()
of_a_cost_file_in_euros()
of_everything()
refusals()
of_a_demo()
finish()
